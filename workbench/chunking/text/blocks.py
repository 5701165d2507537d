"""A Markdown text as blocks, the units that a structure-aware cut keeps together."""

from typing import Literal, NamedTuple

from workbench.chunking.text.outline import NEWLINE, is_heading, markdown_tokens
from workbench.chunking.text.packing import Slice, trimmed
from workbench.chunking.text.sentences import partition, sentences

# How a block is cut where it must be: text at sentences, lines (tables, code, list items, quotations) at lines.
Kind = Literal["heading", "text", "lines"]


class Block(NamedTuple):
    """A block [start, end) of a document, without the blank around it; a list is as many blocks as it has items."""

    start: int
    end: int
    kind: Kind


def blocks(text: str) -> list[Block]:
    """The blocks of a text in order; they hold every character that is not blank."""
    tokens, lines = markdown_tokens(text)
    untrimmed: list[Block] = []
    done = 0
    for index, token in enumerate(tokens):
        if token.map and _is_block(token.type, token.level):
            start, end = max(done, lines[token.map[0]]), max(done, lines[min(token.map[1], len(lines) - 1)])
            # Text without a token (link definitions, the marker of an empty item) is a block too.
            untrimmed += [Block(done, start, "text"), Block(start, end, _kind(token.type, is_heading(tokens, index)))]
            done = end
    untrimmed.append(Block(done, len(text), "text"))
    trimmed_blocks = [Block(*trimmed(text, block.start, block.end), block.kind) for block in untrimmed]
    return [block for block in trimmed_blocks if block.start < block.end]


def parts_of(text: str, block: Block) -> list[Slice]:
    """The sentences or lines of a block, without the blank around each."""
    content = text[block.start : block.end]
    parts = sentences(content) if block.kind == "text" else partition(content, [match.end() for match in NEWLINE.finditer(content)])
    return [(start + block.start, end + block.start) for start, end in parts]


def _is_block(kind: str, level: int) -> bool:
    return kind not in ("bullet_list_open", "ordered_list_open") and (level == 0 or (kind == "list_item_open" and level == 1))


def _kind(kind: str, heading: bool) -> Kind:
    if heading:
        return "heading"
    return "text" if kind in ("paragraph_open", "heading_open") else "lines"
