"""The packing rule: which retrieved slices reach the context, and how many of their tokens.

Slices are taken by rank, identical ones once and at most k distinct ones, until the token budget is spent. The last one is cut at the
first token that does not fit, and nothing follows it. Only numpy is imported: an exported retriever includes a copy of this file.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

DELIVERED, REPEATED, BEYOND_K, OVER_BUDGET = "", "same slice delivered", "beyond k", "beyond the token budget"
_REASONS = np.array([DELIVERED, REPEATED, BEYOND_K, OVER_BUDGET], dtype=object)


class Packed(NamedTuple):
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
        """Return whether each row delivers its slice. Shape (n,)."""
        return np.asarray(self.reason == DELIVERED, dtype=np.bool_)


def pack(query: Ints, piece: Ints, tokens: Ints, k: int | None = None, budget: int | None = None) -> Packed:
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
    return Packed(position, delivered_tokens, reason)


def spent_before(query: Ints, cost: Ints | npt.NDArray[np.bool_]) -> Ints:
    """Sum the cost of all earlier rows of the same query for each row. Shape (n,)."""
    total = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(cost, dtype=np.int64)])
    return np.asarray(total[:-1] - total[np.searchsorted(query, query)], dtype=np.int64)
