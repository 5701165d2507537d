"""Split data into blocks of bounded size, so that memory does not grow with the corpus."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")

# A step needs memory for a few blocks of about this size: scores, vectors, texts with their tokens.
BYTES = 32_000_000


def rows(bytes_a_row: int) -> int:
    """Return how many rows of this size fit into a block, at least one."""
    return max(1, BYTES // max(1, bytes_a_row))


def blocks(n: int, at_once: int) -> Iterator[slice]:
    """Cut the range from 0 to n into slices of at most `at_once`."""
    for first in range(0, n, at_once):
        yield slice(first, min(first + at_once, n))


def groups(items: Iterable[T], size: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """Group items in order into lists whose sizes add up to at most `most`. An item larger than that gets its own list."""
    group: list[T] = []
    total = 0
    for item in items:
        added = size(item)
        if group and total + added > most:
            yield group
            group, total = [], 0
        group.append(item)
        total += added
    if group:
        yield group


def padded_batches(lengths: "NDArray[np.int64]", tokens: int, most: int) -> "Iterator[NDArray[np.int64]]":
    """Yield positions of texts, longest first, in int64 batches of at most `most` texts and `tokens` tokens, padding included."""
    order = (-lengths).argsort(kind="stable")
    first = 0
    while first < len(order):
        last = first + max(1, min(most, tokens // max(1, int(lengths[order[first]]))))
        yield order[first:last]
        first = last
