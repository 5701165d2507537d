"""Order results by score; a seeded hash of the id breaks ties. Metrics only read the ranks.

Scores are first rounded to six decimals: products of matrices of different shapes differ by less, so equal texts tie.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.tokenizers import Ints

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
SEED = 20_260_101
_DECIMALS = 6
STEP = 10.0**-_DECIMALS
_ROOM = 1 << 32
# Smaller than every key, and its negative still fits.
NO_KEY = np.iinfo(np.int64).min + 1


def tie_breakers(ids: Sequence[str], seed: int = SEED) -> Ints:
    """Number ids, int64 (n), in the order of 64 bits of BLAKE2b keyed by the seed, a fixed order unrelated to the ids."""
    salt = seed.to_bytes(8, "little")
    hashes = (hashlib.blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).digest() for item in ids)
    numbers = np.frombuffer(b"".join(hashes), dtype=">u8").astype(np.uint64)
    breakers = np.empty(len(ids), dtype=np.int64)
    breakers[np.argsort(numbers, kind="stable")] = np.arange(len(ids))
    return breakers


def rounded(scores: Any) -> Floats:
    """Round scores as float64 to remove arithmetic noise."""
    return np.asarray(scores, dtype=np.float64).round(_DECIMALS)


def order_keys(scores: Floats, breakers: Ints) -> Ints:
    """Combine score and tie breaker in one int64, unique in its row. A greater key ranks earlier. Allows 4 billion ids."""
    steps = np.round(scores * 10**_DECIMALS).astype(np.int64)
    return np.asarray(steps * _ROOM + (_ROOM - 1 - breakers))


def scores_of(keys: Ints) -> Floats:
    """Return the rounded scores from which the keys were made."""
    return np.asarray((keys >> 32) / 10**_DECIMALS)


def top(keys: Ints, depth: int) -> Ints:
    """Return the columns of the `depth` greatest keys of each row, best first: int64 (rows, min(depth, n))."""
    depth = min(depth, keys.shape[1])
    if depth == 0:
        return np.zeros((len(keys), 0), dtype=np.int64)
    if depth < keys.shape[1]:
        best = np.argpartition(keys, keys.shape[1] - depth, axis=1)[:, keys.shape[1] - depth :]
    else:
        best = np.broadcast_to(np.arange(depth), keys.shape)
    order = np.argsort(-np.take_along_axis(keys, best, axis=1), axis=1)
    return np.take_along_axis(best, order, axis=1)


def first_seen(groups: Ints) -> Bools:
    """Mark where each row's value first occurs from the left: bool, the shape of `groups`."""
    order = np.argsort(groups, axis=1, kind="stable")
    ordered = np.take_along_axis(groups, order, axis=1)
    fresh = np.ones(groups.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.empty_like(fresh)
    np.put_along_axis(first, order, fresh, axis=1)
    return first


class TopK:
    """The best items of q queries so far: `keys` and `items`, int64 (q, depth), best first, padded with NO_KEY and -1."""

    def __init__(self, queries: int, depth: int) -> None:
        self.keys: Ints = np.full((queries, depth), NO_KEY, dtype=np.int64)
        self.items: Ints = np.full((queries, depth), -1, dtype=np.int64)

    @property
    def depth(self) -> int:
        return int(self.keys.shape[1])

    @property
    def scores(self) -> Floats:
        """Return the items' rounded scores, float64 (q, depth)."""
        return scores_of(self.keys)

    def floor(self, rows: slice, error: Floats, products: Callable[[], Vectors]) -> Floats:
        """Return the least product that can still enter the best, float64 (q), from the items so far or else from the next products."""
        last = self.keys[rows, -1] if self.depth else np.full(len(error), np.iinfo(np.int64).max)
        known = np.where(last > NO_KEY, scores_of(last) - STEP / 2 - error, -np.inf)
        if np.isfinite(known).all():
            return known
        candidates = products()
        below = candidates.shape[1] - self.depth
        if below < 0:
            return known
        # `depth` products reach the last of the best up to its error and a rounding, so all products ranked with them do so up to theirs.
        last_product = np.partition(candidates, below, axis=1)[:, below].astype(np.float64)
        return np.maximum(known, last_product - 2 * error - STEP)

    def add(self, rows: slice, query: Ints, items: Ints, keys: Ints) -> None:
        """Add items with their keys, one per row, ordered by query. No item is added twice for a query."""
        queries = len(self.keys[rows])
        counts = np.bincount(query, minlength=queries)
        place = np.arange(len(query)) - np.repeat(np.cumsum(counts) - counts, counts)
        shape = (queries, self.depth + int(counts.max(initial=0)))
        all_keys, all_items = np.full(shape, NO_KEY, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
        all_keys[:, : self.depth], all_items[:, : self.depth] = self.keys[rows], self.items[rows]
        all_keys[query, self.depth + place], all_items[query, self.depth + place] = keys, items
        best = top(all_keys, self.depth)
        self.keys[rows], self.items[rows] = np.take_along_axis(all_keys, best, axis=1), np.take_along_axis(all_items, best, axis=1)

    def remove(self, rows: slice, query: Ints, item: int) -> Ints:
        """Remove one item for these queries and return its keys, int64 (queries), or NO_KEY if it was not among the best."""
        keys, items = self.keys[rows], self.items[rows]
        present = items[query] == item
        removed: Ints = np.where(present, keys[query], NO_KEY).max(axis=1, initial=NO_KEY)
        keys[query] = np.where(present, NO_KEY, keys[query])
        return removed


class Spread:
    """The standard deviation of each query's rounded products, from sums of their distances to the first product in rounding steps."""

    def __init__(self, queries: int) -> None:
        self._first: Floats = np.zeros((queries, 1))
        self._sums, self._squares, self._n = np.zeros(queries), np.zeros(queries), 0

    def add(self, rows: slice, products: Vectors) -> None:
        steps = np.multiply(products, 1 / STEP, dtype=np.float64)
        np.rint(steps, out=steps)
        if not self._n:
            self._first[rows] = steps[:, :1]
        distances = np.subtract(steps, self._first[rows], out=steps)
        self._sums[rows] += distances.sum(axis=1)
        self._squares[rows] += np.square(distances, out=distances).sum(axis=1)

    def count(self, products: int) -> None:
        """Count products that were added for every query."""
        self._n += products

    @property
    def values(self) -> Floats:
        """Return the deviations, float64 (queries), 0 if rounded products differ by one step at most, as float32 of equal vectors can."""
        deviations: Floats = np.sqrt(np.maximum(self._squares / self._n - (self._sums / self._n) ** 2, 0))
        return np.where(deviations < 0.51, 0.0, STEP * deviations)
