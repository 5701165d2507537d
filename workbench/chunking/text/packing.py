"""Greedy packing of a text's pieces into chunks, the one loop that all sliding cuts share."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from workbench.chunking.text.headers import TokenBudget
from workbench.models.tokenizers import Ints, Tokens

# [start, end) in code points
Slice = tuple[int, int]


class Pieces(NamedTuple):
    """n pieces of a text in their order: slices [starts, ends) in code points, tokens [first, last); all int64 (n).

    Pieces i to j - 1 together have last[j - 1] - first[i] tokens.
    """

    starts: Ints
    ends: Ints
    first: Ints
    last: Ints


def pieces(tokens: Tokens, cuts: Iterable[Slice]) -> Pieces:
    """Slices as pieces; a token that reaches over an edge (cl100k has one for ".\\n\\n") belongs to both of them."""
    starts, ends = np.array(list(cuts), dtype=np.int64).reshape(-1, 2).T
    # Of a character's tokens all but the first are empty and at its end.
    ended = np.searchsorted(tokens.ends, ends, side="right")
    first = np.searchsorted(tokens.ends, starts, side="right").astype(np.int64)
    return Pieces(starts, ends, first, np.maximum(tokens.before(ends), ended))


def alone(parts: Pieces) -> Pieces:
    """Pieces whose joint length is the sum of their lengths, as if each were tokenised by itself."""
    lengths = parts.last - parts.first
    last = np.cumsum(lengths)
    return parts._replace(first=last - lengths, last=last)


def pack(parts: Pieces, room: TokenBudget, overlap: int = 0) -> list[tuple[int, int]]:
    """Runs [i, j) of pieces, as long as they fit, each with at most `overlap` tokens of the one before; an overlong piece is a run alone."""
    # The merge of LangChain's text splitters, by binary search.
    runs = []
    i, n = 0, len(parts.starts)
    while i < n:
        fits = room.at(int(parts.starts[i]))
        j = max(i + 1, int(np.searchsorted(parts.last, parts.first[i] + fits, side="right")))
        runs.append((i, j))
        i = n if j >= n else _next(parts, room, (i, j), shrunk(overlap, fits, room))
    return runs


def slices(parts: Pieces, room: TokenBudget, overlap: int = 0) -> list[Slice]:
    """The packed runs as slices [start, end) of the text."""
    return [(int(parts.starts[i]), int(parts.ends[j - 1])) for i, j in pack(parts, room, overlap)]


def words(tokens: Tokens, start: int, end: int, room: TokenBudget) -> Pieces:
    """The words of [start, end) as pieces without gaps; a word longer than its room is cut into its tokens.

    Characters that are no token (a model drops control characters) go with the word before them.
    """
    low, high = (int(index) for index in tokens.before(np.array([start, end], dtype=np.int64)))
    if low == high:
        return pieces(tokens, [(start, end)])
    numbers = tokens.words[low:high]
    begins = np.concatenate([[True], numbers[1:] != numbers[:-1]])
    first = np.flatnonzero(begins)
    lengths = np.diff(np.append(first, high - low))
    for word in np.flatnonzero(lengths > room.least):
        if lengths[word] > room.at(int(tokens.starts[low + first[word]])):
            begins[first[word] : first[word] + lengths[word]] = True
    first = np.flatnonzero(begins).astype(np.int64) + low
    starts = tokens.starts[first]
    starts[0] = start
    return Pieces(starts, np.append(starts[1:], end), first, np.append(first[1:], high))


def trimmed(text: str, start: int, end: int) -> Slice:
    """A slice without the blank at its ends, as `str.strip` leaves it; (start, start) for a blank one."""
    content = text[start:end]
    left = len(content) - len(content.lstrip())
    return (start, start) if left == len(content) else (start + left, start + len(content.rstrip()))


def shrunk(overlap: int, fits: int, room: TokenBudget) -> int:
    """The overlap that a long header leaves to chunks of `fits` tokens; steps of one token could make a thousand chunks of a page."""
    step = max(1, (room.most - overlap + 1) // 2)
    return max(0, min(overlap, fits - step))


def _next(parts: Pieces, room: TokenBudget, run: tuple[int, int], overlap: int) -> int:
    """The first piece of the run after [i, j), which repeats at most `overlap` tokens and has room for piece j."""
    i, j = run
    if not overlap:
        return j
    following = max(i + 1, int(np.searchsorted(parts.first, parts.last[j - 1] - overlap, side="left")))
    while following < j and parts.last[j] - parts.first[following] > room.at(int(parts.starts[following])):
        following += 1
    return min(following, j)
