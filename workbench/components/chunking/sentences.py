"""Find sentences as exact slices, and cut those that are too long for a chunk."""

import functools
import itertools
import re
from collections.abc import Iterator, Sequence

import sentencex

from workbench.components.chunking.headers import TokenBudget
from workbench.components.chunking.packing import Pieces, Slice, packed_words, pieces, trimmed
from workbench.llm.models.tokenizers import Tokens

# Increased when the same text begins to have other sentences.
VERSION = 3
_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")
# Between the paragraphs of sentencex, which looks for sentences in each alone.
_SENTENCEX_BREAK = re.compile(r"\n\r*\n")
# Ends of sentences, and marks that sentencex may compare with each of them: it takes 0.3 s for this many pairs.
_ENDS = re.compile(r"[.!?…。！？｡．]")
_MARKS = re.compile(r"[^\w\s.!?,;:'\"-]|\n")
_MOST_PAIRS = 100_000_000
# sentencex panics at such a blank between a letter and a stop, as in "A\u00a0. Bob".
_WIDE_BLANK = re.compile(r"[^\S\x00-\x7f]")
# The characters that are read at once of a paragraph with more pairs, for at most 0.1 s.
_WINDOW = 10_000


def sentences(text: str) -> list[Slice]:
    """Return the sentences of a text without the blanks between them. A paragraph's end also ends a sentence."""
    starts = {match.end() for match in _PARAGRAPH_BREAK.finditer(text)}
    edges = [0, *(match.end() for match in _SENTENCEX_BREAK.finditer(text)), len(text)]
    for start, end in itertools.pairwise(edges):
        starts.update(_sentence_starts(text, start, end))
    return partition(text, sorted(starts))


def _sentence_starts(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the starts of a paragraph's sentences.

    A paragraph with too many pairs is read in windows. A window begins with a sentence, and the next one begins behind the last sentence
    in its first three quarters, so that quotations and brackets that are shorter than a quarter of it stay whole.
    """
    whole = end - start <= _WINDOW or _pairs(text[start:end]) <= _MOST_PAIRS
    size, goes_on = end - start if whole else _WINDOW, False
    while start < end:
        stop = min(end, start + size)
        found = list(_placed(text, start, stop))
        kept = found if stop == end else [span for span in found if span[1] <= start + size * 3 // 4] or found[:1]
        yield from (begin for begin, _ in kept[goes_on:])
        # A sentence can be longer than a window.
        goes_on = stop < end and kept == found
        start = kept[-1][1] if kept and stop < end else stop


def _pairs(paragraph: str) -> int:
    return sum(1 for _ in _MARKS.finditer(paragraph)) * sum(1 for _ in _ENDS.finditer(paragraph))


def _placed(text: str, start: int, end: int) -> Iterator[Slice]:
    paragraph, cursor = _WIDE_BLANK.sub(" ", text[start:end]), 0
    for sentence in sentencex.segment("en", paragraph):
        if content := sentence.strip():
            # sentencex returns sentences in order but without their places, and may leave out blanks.
            index = paragraph.index(content, cursor)
            cursor = index + len(content)
            yield start + index, start + cursor


def partition(text: str, starts: Sequence[int]) -> list[Slice]:
    """Return the slices between ordered positions without surrounding blanks. Blank slices are left out."""
    edges = [0, *(start for start in starts if start > 0), len(text)]
    parts = (trimmed(text, start, end) for start, end in itertools.pairwise(edges))
    return [(start, end) for start, end in parts if start < end]


def cut_long(text: str, tokens: Tokens, cuts: Sequence[Slice], room: TokenBudget) -> Pieces:
    """Convert slices to pieces, cutting each that is longer than its room between words into fragments that fit."""
    uncut = pieces(tokens, cuts)
    fitting: list[Slice] = []
    for (start, end), length in zip(cuts, (uncut.last - uncut.first).tolist(), strict=True):
        if length <= room.at(start):
            fitting.append((start, end))
        else:
            fragments = (trimmed(text, *run) for *run, _ in packed_words(tokens, start, end, room))
            fitting += [part for part in fragments if part[0] < part[1]]
    return pieces(tokens, fitting)


# A row of a table and an item of a list are units, and a heading ends the paragraph before it.
_QUOTABLE_UNIT = re.compile(r"^[^\S\n]*(?:\||[-*+•][^\S\n]|\d+[.)][^\S\n]|#+[^\S\n])", re.MULTILINE)
# The line after a heading or a table's last row begins another unit.
_QUOTABLE_LINE = re.compile(r"^[^\S\n]*(?:#+[^\S\n]|\|)[^\n]*\n", re.MULTILINE)
_HEADING = re.compile(r"#+\s")
_WORD = re.compile(r"\w")
# Passages, which several conditions and configurations share.
_REMEMBERED = 8_192


def quotations(text: str) -> list[str]:
    """Return the sentences, list items and table rows of a text as they are written, without headings and texts without a word."""
    return [text[start:end] for start, end in quotable(text)]


@functools.lru_cache(maxsize=_REMEMBERED)
def quotable(text: str) -> Sequence[Slice]:
    """Return the slices of a text that `quotations` returns as texts."""
    starts = {start for start, _ in sentences(text)}
    starts |= {match.start() for match in _QUOTABLE_UNIT.finditer(text)} | {match.end() for match in _QUOTABLE_LINE.finditer(text)}
    units = partition(text, sorted(starts))
    return tuple((start, end) for start, end in units if _WORD.search(text, start, end) and not _HEADING.match(text, start, end))
