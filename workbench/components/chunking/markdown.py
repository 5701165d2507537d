"""Cut Markdown along its structure."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from workbench.components.chunking.base import Cut, CuttingChunker, Size
from workbench.components.chunking.headers import NEWLINE, Headers, TokenBudget, is_heading, markdown_parts
from workbench.components.chunking.headers import VERSION as HEADINGS_VERSION
from workbench.components.chunking.packing import Slice, pieces, slices, trimmed
from workbench.components.chunking.sentences import VERSION as SENTENCES_VERSION
from workbench.components.chunking.sentences import cut_long, partition, sentences
from workbench.core.records import Document
from workbench.llm.models.tokenizers import Tokens

# How to cut a block that is too long: text between sentences, the others (tables, code, list items, quotations) between lines.
Kind = Literal["heading", "text", "lines"]


class Block(NamedTuple):
    """A block [start, end) of a document, without surrounding blanks. Each item of a list is a block."""

    start: int
    end: int
    kind: Kind


def blocks(text: str) -> list[Block]:
    """Return the blocks of a text in order. They cover every character that is not blank."""
    trimmed_blocks = (Block(*trimmed(text, block.start, block.end), block.kind) for block in _untrimmed_blocks(text))
    return [block for block in trimmed_blocks if block.start < block.end]


def _untrimmed_blocks(text: str) -> Iterator[Block]:
    done = 0
    for tokens, lines in markdown_parts(text):
        for index, token in enumerate(tokens):
            item = token.type == "list_item_open" and token.level == 1
            if token.map and (item or (token.level == 0 and token.type not in ("bullet_list_open", "ordered_list_open"))):
                start, end = max(done, lines[token.map[0]]), max(done, lines[min(token.map[1], len(lines) - 1)])
                # Text without a Markdown token (link definitions, the marker of an empty item) is a block too.
                yield Block(done, start, "text")
                text_type: Kind = "text" if token.type in ("paragraph_open", "heading_open") else "lines"
                yield Block(start, end, "heading" if is_heading(tokens, index) else text_type)
                done = end
    yield Block(done, len(text), "text")


def parts_of(text: str, block: Block) -> list[Slice]:
    """Return the sentences or lines of a block, each without surrounding blanks."""
    content = text[block.start : block.end]
    parts = sentences(content) if block.kind == "text" else partition(content, [match.end() for match in NEWLINE.finditer(content)])
    return [(start + block.start, end + block.start) for start, end in parts]


class MarkdownChunker(CuttingChunker):
    """Sections: a heading begins a chunk and stays with the text below it, and blocks are packed up to `size`.

    A table, code block, list item or quotation is cut only if it is longer than a chunk, and then between lines; a paragraph between
    sentences; a line or sentence between words. A heading that does not fit together with the table below it is a separate chunk.
    """

    examples: ClassVar = ({"size": 32}, {"size": 96})

    version: ClassVar[int] = HEADINGS_VERSION + SENTENCES_VERSION

    kind: Literal["markdown"] = "markdown"
    size: Size

    @property
    def sizes(self) -> tuple[int | None, int | None]:
        return self.size, 0

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.size}"

    def cuts(self, document: Document, headers: Headers) -> Iterable[Cut]:
        cutter = _MarkdownCutter(document.text, self._tokens(document), self._room(self.size, headers))
        for section in _sections(blocks(document.text)):
            for start, end in slices(pieces(cutter.tokens, cutter.atoms(section)), cutter.room):
                yield start, end, None


@dataclass(frozen=True)
class _MarkdownCutter:
    text: str
    tokens: Tokens
    room: TokenBudget

    def atoms(self, section: Sequence[Block]) -> list[Slice]:
        """Return the slices that are not cut any further, with the section's headings joined to the first slice below them."""
        headings = list(itertools.takewhile(lambda block: block.kind == "heading", section))
        body = section[len(headings) :]
        below = [atom for block in body[1:] for atom in self._cut(block, self.room)]
        if not headings:
            return [*self._cut(body[0], self.room), *below]
        group = Block(headings[0].start, headings[-1].end, "text")
        return [*(self._joined(group, body[0]) if body else self._cut(group, self.room)), *below]

    def _joined(self, headings: Block, block: Block) -> list[Slice]:
        """Return the headings joined to the beginning of the block below them, if that can be cut or fits."""
        room = self.room.at(headings.start) - self._length(headings)
        length = self._length(block)
        keeps = block.kind == "lines" and room < length <= self.room.at(block.start)
        if room < 1 or keeps:
            return [*self._cut(headings, self.room), *self._cut(block, self.room)]
        first, *others = self._cut(block, TokenBudget(min(room, self.room.at(block.start))))
        return [(headings.start, first[1]), *others]

    def _cut(self, block: Block, room: TokenBudget) -> list[Slice]:
        if self._length(block) <= room.at(block.start):
            return [(block.start, block.end)]
        fitting = cut_long(self.text, self.tokens, parts_of(self.text, block), room)
        return list(zip(fitting.starts.tolist(), fitting.ends.tolist(), strict=True))

    def _length(self, block: Block) -> int:
        piece = pieces(self.tokens, [(block.start, block.end)])
        return int(piece.last[0] - piece.first[0])


def _sections(text_blocks: Sequence[Block]) -> list[list[Block]]:
    """Group blocks into sections. A heading begins a section unless it follows another heading."""
    sections: list[list[Block]] = []
    above = None
    for block in text_blocks:
        if not sections or (block.kind == "heading" and above != "heading"):
            sections.append([])
        sections[-1].append(block)
        above = block.kind
    return sections
