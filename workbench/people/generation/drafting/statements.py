"""Statements of documents that a question can be asked about: sentences and list items with the headings above them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.components.chunking.markdown import Block, blocks, parts_of
from workbench.components.chunking.text.headers import front_matter_end, outline
from workbench.components.chunking.text.packing import trimmed
from workbench.core.records import Document
from workbench.people.generation.drafting.self_contained import is_prose, sentence_start

# Characters of a statement. Shorter ones say little, longer ones are several statements.
_SHORTEST, _LONGEST = 30, 320
# Characters of a document that are read, and of each part that is read if the document is longer.
_READ, _PART = 300_000, 30_000
_NOT_PROSE = re.compile(r"\s*(?:\||```|~~~|>|!\[|<|\$\$|\[[^\]\n]+\]:)")
_MARKER = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ x]\]\s+)?")
_ENDED = re.compile(r"[.!?](?:[)”\"'’»*_]*)$")
_MARKUP = (
    (re.compile(r"<!--.*?-->", re.DOTALL), ""),
    (re.compile(r"!?\[([^\]]*)\]\([^)]*\)"), r"\1"),
    # An asterisk between blanks, or in code, is one.
    (re.compile(r"`|(?<![\s`])\*+|\*+(?![\s`*])|(?<!\w)_+|_+(?!\w)"), ""),
    (re.compile(r"\s*\[\d+\]"), ""),
    # Manual pages divide words with a hyphen of their own.
    (re.compile(r"(?<=\w)[\u2010\u00ad]\s*\n\s*(?=[a-z])"), ""),
)


@dataclass(frozen=True)
class Statement:
    """A sentence [start, end) of a document: its `plain` text without markup, and the headings above it, the nearest last.

    `first` says that it is the first statement below its heading, whose text begins at `section`, `common` that its first word is written in lower case inside of a sentence.
    """

    doc_id: str
    start: int
    end: int
    plain: str
    headings: tuple[str, ...] = ()
    first: bool = False
    common: bool = True
    section: int = 0


def statements(document: Document) -> Iterator[Statement]:
    """Yield the statements of a document in order: of a long document, those of parts that are spread evenly over it."""
    for start, end in _parts(document.text):
        yield from _statements(document.doc_id, document.text[start:end], start)


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the slices of a text that are read, between blank lines."""
    if len(text) <= _READ:
        yield 0, len(text)
        return
    number = _READ // _PART
    for place in range(number):
        start = place * (len(text) - _PART) // (number - 1)
        start = text.find("\n\n", start, start + _PART) if place else 0
        if start >= 0:
            end = text.rfind("\n\n", start + 2, start + _PART)
            yield start, end if end > start else start + _PART


def _statements(doc_id: str, text: str, offset: int) -> Iterator[Statement]:
    above: list[tuple[int, str]] = []
    settings = front_matter_end(text)
    starts = {heading.start: heading for heading in outline(text)}
    first, section = False, 0
    for block in blocks(text):
        if block.kind == "heading":
            if heading := starts.get(block.start):
                above = [(level, title) for level, title in above if level < heading.level] + [
                    (heading.level, without_markup(heading.title))
                ]
            first, section = True, trimmed(text, block.end, block.end + _SHORTEST)[0]
        elif (
            block.start >= settings
            and not _NOT_PROSE.match(text, block.start, block.end)
            and not text[block.start : block.end].startswith("    ")
        ):
            for start, end in _sentences(text, block):
                plain = without_markup(text[start:end])
                titles = tuple(title for _, title in above)
                yield Statement(doc_id, start + offset, end + offset, plain, titles, first, section=section + offset)
                first = False


def _sentences(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Yield the slices of a block that are statements: complete sentences of text, or whole items of a list."""
    if block.kind == "text":
        parts: Sequence[tuple[int, int]] = parts_of(text, block)
    else:
        marker = _MARKER.match(text, block.start, block.end)
        item = Block(marker.end() if marker else block.start, block.end, "text")
        parts = parts_of(text, item) if "\n-" not in text[item.start : item.end] else []
    for start, end in parts:
        start, end = trimmed(text, start, end)
        start, end = trimmed(text, sentence_start(text, start, end), end)
        if _SHORTEST <= end - start <= _LONGEST and _ENDED.search(text[start:end]) and is_prose(text[start:end]):
            yield start, end


def without_markup(text: str) -> str:
    """Return a sentence on one line, without the marks of Markdown."""
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def documents_in_parts(documents: Sequence[Document]) -> list[tuple[str, str]]:
    """Return the id and the text of each part that is read, for measurements of documents that can be long."""
    return [(document.doc_id, document.text[start:end]) for document in documents for start, end in _parts(document.text)]
