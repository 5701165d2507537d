"""Find sentences as exact slices, and cut those that are too long for a chunk."""

import itertools
import re
from collections.abc import Sequence

import sentencex

from workbench.chunking.text.headers import TokenBudget
from workbench.chunking.text.packing import Pieces, Slice, pieces, slices, trimmed, words
from workbench.models.tokenizers import Tokens

_PARAGRAPH_BREAK = re.compile(r"\n[^\S\n]*\n\s*")


def sentences(text: str) -> list[Slice]:
    """Return the sentences of a text without the blanks between them. A paragraph's end also ends a sentence."""
    starts = {match.end() for match in _PARAGRAPH_BREAK.finditer(text)}
    cursor = 0
    for sentence in sentencex.segment("en", text):
        if content := sentence.strip():
            # sentencex returns sentences in order but without their places, and may leave out blanks.
            start = text.index(content, cursor)
            starts.add(start)
            cursor = start + len(content)
    return partition(text, sorted(starts))


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
            fragments = (trimmed(text, *part) for part in slices(words(tokens, start, end, room), room))
            fitting += [part for part in fragments if part[0] < part[1]]
    return pieces(tokens, fitting)
