"""The order of results: by score, then by a seeded hash of the id. Metrics only read the ranks.

Scores are rounded to six decimals first: matrix products of different shapes differ in smaller steps, so equal texts tie, and a
tie is broken in the same way in every run.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.models.tokenizers import Ints

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SEED = 20_260_101
_DECIMALS = 6
STEP = 10.0**-_DECIMALS
_ROOM = 1 << 32
# Below every key, and its negative still fits.
NO_KEY = np.iinfo(np.int64).min + 1


def tie_breakers(ids: Sequence[str], seed: int = SEED) -> Ints:
    """A number for each id, int64 (n), in the order of 64 bits of BLAKE2b keyed by the seed: fixed, and unrelated to the ids."""
    salt = seed.to_bytes(8, "little")
    hashes = (hashlib.blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8, key=salt).digest() for item in ids)
    numbers = np.frombuffer(b"".join(hashes), dtype=">u8").astype(np.uint64)
    breakers = np.empty(len(ids), dtype=np.int64)
    breakers[np.argsort(numbers, kind="stable")] = np.arange(len(ids))
    return breakers


def rounded(scores: Any) -> Floats:
    """Scores as float64 without arithmetic noise."""
    return np.asarray(scores, dtype=np.float64).round(_DECIMALS)


def order_keys(scores: Floats, breakers: Ints) -> Ints:
    """One int64 for each score, all different within a row: a greater key ranks earlier.

    The rounded score counts in steps of 1e-6, and the tie breaker decides below that; room for 4 billion ids.
    """
    steps = np.round(scores * 10**_DECIMALS).astype(np.int64)
    return np.asarray(steps * _ROOM + (_ROOM - 1 - breakers))


def scores_of(keys: Ints) -> Floats:
    """The rounded scores that keys were made of."""
    return np.asarray((keys >> 32) / 10**_DECIMALS)


def top(keys: Ints, depth: int) -> Ints:
    """Columns of the `depth` greatest keys of each row, best first: int64 (rows, min(depth, n))."""
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
    """Where each row's value occurs for the first time from the left: bool, the shape of `groups`."""
    order = np.argsort(groups, axis=1, kind="stable")
    ordered = np.take_along_axis(groups, order, axis=1)
    fresh = np.ones(groups.shape, dtype=bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    seen = np.empty_like(fresh)
    np.put_along_axis(seen, order, fresh, axis=1)
    return seen
