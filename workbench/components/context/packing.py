"""The packing rule: which retrieved slices reach the context, how many of their tokens, and in which order.

Slices are taken by rank, identical ones once and at most k distinct ones, until the token budget is spent. The last one is cut at the
first token that does not fit, and nothing follows it. Only numpy is imported: an exported retriever includes a copy of this file.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Words = Callable[[str], Sequence[str]]

DELIVERED, REPEATED, BEYOND_K, OVER_BUDGET = "", "same slice delivered", "beyond k", "beyond the token budget"
NEAR_DUPLICATE = "near-duplicate"
_REASONS = np.array([DELIVERED, REPEATED, BEYOND_K, OVER_BUDGET], dtype=object)
# The consecutive words of a shingle.
_SHINGLE = 3


class BudgetCut(NamedTuple):
    """The outcome for each of n ranked rows.

    `position` (n): rank among the query's distinct slices, from 1; a repeat has the position of the last one before it. `delivered_tokens` (n): how
    many of the slice's tokens are delivered, fewer than all only for the last delivered slice. `reason` (n): empty if the slice is
    delivered, in whole or in part; a row after the cut has the reason of the cut, even if it repeats a slice.
    """

    position: Ints
    delivered_tokens: Ints
    reason: npt.NDArray[np.object_]

    @property
    def delivered(self) -> npt.NDArray[np.bool_]:
        """Mask of the rows that deliver their slice. Shape (n,)."""
        return np.asarray(self.reason == DELIVERED, dtype=np.bool_)


def pack(query: Ints, piece: Ints, tokens: Ints, k: int | None = None, budget: int | None = None) -> BudgetCut:
    """Pack the ranked rows of all queries.

    Parameters
    ----------
    query : int64 (n), sorted; the rows of one query by rank
    piece : int64 (n), 0 or more; equal for rows that deliver the same slice
    tokens : int64 (n), the cost of the slice
    k, budget : the most distinct slices and the most tokens for each query; None for no limit
    """
    first = np.zeros(len(query), dtype=np.bool_)
    first[np.unique(query * (piece.max(initial=0) + 1) + piece, return_index=True)[1]] = True
    position = spent_before(query, first) + first
    beyond = position > (len(query) if k is None else k)
    left = tokens if budget is None else budget - spent_before(query, np.where(first & ~beyond, tokens, 0))
    over = (left <= 0) & (budget is not None)
    reason = _REASONS[np.select([beyond, over, ~first], [2, 3, 1], default=0)]
    delivered_tokens = np.where(beyond | over | ~first, 0, np.minimum(tokens, left))
    return BudgetCut(position, delivered_tokens, reason)


def spent_before(query: Ints, cost: Ints | npt.NDArray[np.bool_]) -> Ints:
    """Sum the cost of all earlier rows of the same query for each row. Shape (n,)."""
    total = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(cost, dtype=np.int64)])
    return np.asarray(total[:-1] - total[np.searchsorted(query, query)], dtype=np.int64)


class Limits(NamedTuple):
    """The limits of a context: at most `k` distinct slices and `budget` tokens, None for no limit.

    `around` has the tokens that a prompt adds around each passage, by its number; passages after the last have none. `order` is `rank`,
    `reversed` or `ends`. A text is dropped if its Jaccard similarity with a better one reaches `drop_duplicates`.
    """

    k: int | None = None
    budget: int | None = None
    around: Sequence[int] = ()
    order: str = "rank"
    drop_duplicates: float | None = None


class PlacedContext(NamedTuple):
    """The context made of n candidates: `placed`, the numbers of the delivered ones in their order in the prompt.

    `characters`, `tokens` (n): how much of each text is delivered, tokens with those around it. `reason` (n): empty if any of it is.
    """

    placed: Ints
    characters: Ints
    tokens: Ints
    reason: npt.NDArray[np.object_]


def fit(piece: Ints, texts: Sequence[str], starts: Sequence[npt.NDArray[np.integer]], limits: Limits, words: Words) -> PlacedContext:
    """Make the context of one query from its n ranked candidates.

    Parameters
    ----------
    piece : int64 (n), 0 or more; equal for candidates that deliver the same slice
    texts : the n texts
    starts : the characters of each text at which its tokens start
    limits : the limits of the context
    words : splits a text into words, to compare texts
    """
    reason = np.full(len(piece), NEAR_DUPLICATE, dtype=object)
    characters, tokens = np.zeros(len(piece), dtype=np.int64), np.zeros(len(piece), dtype=np.int64)
    rows = np.flatnonzero(~near_duplicates(piece, texts, limits.drop_duplicates, words))
    query, whole = np.zeros_like(rows), np.array([len(starts[row]) for row in rows.tolist()], dtype=np.int64)
    around = np.zeros(len(rows) + 1, dtype=np.int64)
    around[1 : len(limits.around) + 1] = limits.around[: len(rows)]
    around = around[pack(query, piece[rows], query).position]
    packed = pack(query, piece[rows], whole + around, limits.k, limits.budget)
    text = packed.delivered_tokens - around
    # A passage is not announced if no token of it fits.
    announced = packed.delivered & ((text > 0) | (text == whole))
    reason[rows] = np.where(packed.delivered & ~announced, OVER_BUDGET, packed.reason)
    for row, delivered_tokens, length in zip(rows[announced].tolist(), text[announced].tolist(), whole[announced].tolist(), strict=True):
        characters[row] = starts[row][delivered_tokens] if delivered_tokens < length else len(texts[row])
    tokens[rows] = np.where(announced, packed.delivered_tokens, 0)
    return PlacedContext(ordered(rows[announced], limits.order), characters, tokens, reason)


def ordered(ranked: Ints, order: str) -> Ints:
    """Order ranked items as `rank` (best first), `reversed` (best last) or `ends` (best first, second last, third second, and so on)."""
    if order == "ends":
        return np.concatenate([ranked[::2], ranked[1::2][::-1]])
    return ranked[::-1] if order == "reversed" else ranked


def near_duplicates(piece: Ints, texts: Sequence[str], least: float | None, words: Words) -> npt.NDArray[np.bool_]:
    """Mask of the texts that nearly repeat a better one of another slice that does not, by shared shingles of three words. Shape (n,)."""
    found: dict[int, bool] = {}
    kept: list[frozenset[tuple[str, ...]]] = []
    for index, number in enumerate(piece.tolist() if least is not None else ()):
        if number not in found:
            own = shingles(words(texts[index]))
            found[number] = any(jaccard(own, other) >= (least or 0) for other in kept)
            kept += [] if found[number] else [own]
    return np.array([found.get(number, False) for number in piece.tolist()], dtype=np.bool_)


def shingles(words: Sequence[str]) -> frozenset[tuple[str, ...]]:
    """Return all sequences of three consecutive words, or of all of fewer words."""
    return frozenset(tuple(words[index : index + _SHINGLE]) for index in range(max(len(words) - _SHINGLE + 1, min(len(words), 1))))


def jaccard(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> float:
    """Return the share of common elements in all elements, 0 without any."""
    return len(one & other) / len(one | other) if one and other else 0.0
