"""Sentences of a passage that can be quoted as an answer."""

import re

from workbench.components.chunking.text.packing import Slice
from workbench.components.chunking.text.sentences import partition, sentences

# A row of a table and an item of a list are units, and a heading ends the paragraph before it.
_UNIT = re.compile(r"^[^\S\n]*(?:\||[-*+•][^\S\n]|\d+[.)][^\S\n]|#+[^\S\n])", re.MULTILINE)
# The line after a heading or a table's last row begins another unit.
_LINE = re.compile(r"^[^\S\n]*(?:#+[^\S\n]|\|)[^\n]*\n", re.MULTILINE)
_HEADING = re.compile(r"#+\s")
_WORD = re.compile(r"\w")


def quotations(text: str) -> list[str]:
    """Return the sentences, list items and table rows of a text as they are written, without headings and texts without a word."""
    return [text[start:end] for start, end in quotable(text)]


def quotable(text: str) -> list[Slice]:
    """Return the slices of a text that `quotations` returns as texts."""
    starts = {start for start, _ in sentences(text)}
    starts |= {match.start() for match in _UNIT.finditer(text)} | {match.end() for match in _LINE.finditer(text)}
    return [(start, end) for start, end in partition(text, sorted(starts)) if _is_quotable(text[start:end])]


def _is_quotable(unit: str) -> bool:
    return bool(_WORD.search(unit)) and not _HEADING.match(unit)
