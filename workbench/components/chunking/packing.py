"""Pack a text's pieces greedily into chunks, in the one loop that all sliding chunkers share."""

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from workbench.components.chunking.headers import TokenBudget
from workbench.llm.models.tokenizers import Places, Tokens

# [start, end) in code points
Slice = tuple[int, int]
# The most tokens whose words are packed at once, unless a run has more.
_TOKENS = 100_000


class Pieces(NamedTuple):
    """The n pieces of a text in order: slices [starts, ends) in code points, tokens [first, last); all int32 (n).

    Pieces i to j - 1 together have last[j - 1] - first[i] tokens.
    """

    starts: Places
    ends: Places
    first: Places
    last: Places


def pieces(tokens: Tokens, cuts: Iterable[Slice]) -> Pieces:
    """Convert slices to pieces. A token that crosses an edge (cl100k has one for ".\\n\\n") belongs to both pieces."""
    starts, ends = np.fromiter(itertools.chain.from_iterable(cuts), dtype=np.int32).reshape(-1, 2).T
    # Of a character's tokens, all but the first are empty and at its end.
    last = np.maximum(tokens.before(ends), tokens.ended(ends))
    return Pieces(starts, ends, tokens.ended(starts).astype(np.int32), last.astype(np.int32))


def alone(parts: Pieces) -> Pieces:
    """Return pieces whose joint length is the sum of their lengths, as if each were tokenised separately."""
    lengths = parts.last - parts.first
    last = np.cumsum(lengths, dtype=np.int32)
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
    low, high = _within(tokens, start, end)
    return _words(tokens, (low, high), (start, end), room) if low < high else pieces(tokens, [(start, end)])


def packed_words(tokens: Tokens, start: int, end: int, room: TokenBudget, overlap: int = 0) -> Iterator[tuple[int, int, int]]:
    """Pack the words of [start, end) into runs. Yields the start and end of each run, and the number of the token after it.

    Blocks of words are packed one after the other: all words of a long document would take more memory than its tokens.
    """
    low, high = _within(tokens, start, end)
    if low == high:
        yield start, end, int(pieces(tokens, [(start, end)]).last[0])
    token, most = low, _TOKENS
    while token < high:
        # Only whole words: whether a word is cut depends on all its tokens.
        first = max(low, _word_start(tokens, token))
        last = high if first + most >= high else _word_start(tokens, first + most)
        runs: list[tuple[int, int]] = []
        if first < last:
            edges = (start if first == low else int(tokens.starts[first]), end if last == high else int(tokens.starts[last]))
            parts = _words(tokens, (first, last), edges, room)
            parts = Pieces(*(column[np.searchsorted(parts.first, np.int32(token)) :] for column in parts))
            runs = pack(parts, room, overlap)
            token = high
            if last < high:
                # It could go on in the next block.
                token = int(parts.first[runs.pop()[0]])
        for i, j in runs:
            yield int(parts.starts[i]), int(parts.ends[j - 1]), int(parts.last[j - 1])
        if not runs:
            most *= 2


def _within(tokens: Tokens, start: int, end: int) -> tuple[int, int]:
    low, high = tokens.before(np.array([start, end])).tolist()
    return low, high


def _word_start(tokens: Tokens, token: int) -> int:
    """Return the first token of a token's word."""
    return int(np.searchsorted(tokens.words, tokens.words[token]))


def _words(tokens: Tokens, numbers: Slice, edges: Slice, room: TokenBudget) -> Pieces:
    """Return the words of the tokens [low, high) that `numbers` gives, between the edges of the text."""
    low, high = numbers
    word = tokens.words[low:high]
    begins = np.concatenate([[True], word[1:] != word[:-1]])
    of_word = np.flatnonzero(begins)
    lengths = np.diff(np.append(of_word, high - low))
    for long in np.flatnonzero(lengths > room.least):
        if lengths[long] > room.at(int(tokens.starts[low + of_word[long]])):
            begins[of_word[long] : of_word[long] + lengths[long]] = True
    first: Places = (np.flatnonzero(begins) + low).astype(np.int32)
    starts = tokens.starts[first]
    starts[0] = edges[0]
    ends, last = (np.append(column[1:], np.int32(after)) for column, after in ((starts, edges[1]), (first, high)))
    return Pieces(starts, ends, first, last)


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
