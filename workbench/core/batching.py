"""How much is worked on at once: what is held in memory follows from this number, not from the size of the corpus."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

# A step holds a few blocks of about this size: scores, vectors, texts with their tokens.
BYTES = 32_000_000


def rows(bytes_a_row: int) -> int:
    """How many rows of this size are worked on at once, at least one."""
    return max(1, BYTES // max(1, bytes_a_row))


def blocks(n: int, at_once: int) -> Iterator[slice]:
    """0 to n in slices of at most `at_once`."""
    for first in range(0, n, at_once):
        yield slice(first, min(first + at_once, n))


def groups(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Items in their order, in lists of at most so much size together; one that is larger stands alone."""
    group: list[T] = []
    held = 0
    for item in items:
        more = size(item)
        if group and held + more > most:
            yield group
            group, held = [], 0
        group.append(item)
        held += more
    if group:
        yield group


def padded_batches(lengths: NDArray[np.int64], tokens: int, most: int) -> Iterator[NDArray[np.int64]]:
    """Places of texts by their lengths, longest first, in runs of at most `tokens` tokens with padding and `most` texts: int64 each."""
    order = np.argsort(-lengths, kind="stable")
    first = 0
    while first < len(order):
        last = first + max(1, min(most, tokens // max(1, int(lengths[order[first]]))))
        yield order[first:last]
        first = last
