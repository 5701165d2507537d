"""Pack a text's pieces greedily into chunks, in the one loop that all sliding chunkers share."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from workbench.chunking.text.headers import TokenBudget
from workbench.models.tokenizers import Ints, Tokens

# [start, end) in code points
Slice = tuple[int, int]


class Pieces(NamedTuple):
    """The n pieces of a text in order: slices [starts, ends) in code points, tokens [first, last); all int64 (n).

    Pieces i to j - 1 together have last[j - 1] - first[i] tokens.
    """

    starts: Ints
    ends: Ints
    first: Ints
    last: Ints


def pieces(tokens: Tokens, cuts: Iterable[Slice]) -> Pieces:
    """Convert slices to pieces. A token that crosses an edge (cl100k has one for ".\\n\\n") belongs to both pieces."""
    starts, ends = np.array(list(cuts), dtype=np.int64).reshape(-1, 2).T
    # Of a character's tokens, all but the first are empty and at its end.
    ended = np.searchsorted(tokens.ends, ends, side="right")
    first = np.searchsorted(tokens.ends, starts, side="right").astype(np.int64)
    return Pieces(starts, ends, first, np.maximum(tokens.before(ends), ended))


def alone(parts: Pieces) -> Pieces:
    """Return pieces whose joint length is the sum of their lengths, as if each were tokenised separately."""
    lengths = parts.last - parts.first
    last = np.cumsum(lengths)
    return parts._replace(first=last - lengths, last=last)


def pack(parts: Pieces, room: TokenBudget, overlap: int = 0) -> list[tuple[int, int]]:
    """Return the longest runs [i, j) of pieces that fit, each repeating at most `overlap` tokens. An overlong piece is a run alone."""
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
    """Return the packed runs as slices [start, end) of the text."""
    return [(int(parts.starts[i]), int(parts.ends[j - 1])) for i, j in pack(parts, room, overlap)]


def words(tokens: Tokens, start: int, end: int, room: TokenBudget) -> Pieces:
    """Return the words of [start, end) as pieces without gaps. A word longer than its room is cut into its tokens.

    Characters without a token (a model drops control characters) go with the word before them.
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
    """Strip blanks from the ends of a slice like `str.strip`. Returns (start, start) for a blank slice."""
    content = text[start:end]
    left = len(content) - len(content.lstrip())
    return (start, start) if left == len(content) else (start + left, start + len(content.rstrip()))


def shrunk(overlap: int, fits: int, room: TokenBudget) -> int:
    """Reduce the overlap when a long header leaves only `fits` tokens: steps of one token could make a thousand chunks of a page."""
    step = max(1, (room.most - overlap + 1) // 2)
    return max(0, min(overlap, fits - step))


def _next(parts: Pieces, room: TokenBudget, run: tuple[int, int], overlap: int) -> int:
    """Return the first piece of the run after [i, j), which repeats at most `overlap` tokens and has room for piece j."""
    i, j = run
    if not overlap:
        return j
    following = max(i + 1, int(np.searchsorted(parts.first, parts.last[j - 1] - overlap, side="left")))
    while following < j and parts.last[j] - parts.first[following] > room.at(int(parts.starts[following])):
        following += 1
    return min(following, j)
