"""Compute the lengths of unions and intersections of many intervals at once.

Intervals are half-open int64 [start, end) on one line of non-negative positions. On a line with one copy of the corpus
for each query, the queries stay separate, so a single sort is enough.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Union:
    """A union of intervals as m disjoint sorted ones: `starts`, `ends` (m). `before[i]` (m + 1) is the length of the first i."""

    starts: Ints
    ends: Ints
    before: Ints

    @classmethod
    def of(cls, starts: Ints, ends: Ints) -> "Union":
        """The union of n intervals in any order. Empty ones are ignored."""
        nonempty = ends > starts
        starts, ends = starts[nonempty], ends[nonempty]
        order = np.argsort(starts, kind="stable")
        starts, furthest = starts[order], np.maximum.accumulate(ends[order])
        opens = np.append(True, starts[1:] > furthest[:-1])[: len(starts)]
        closes = np.append(opens[1:], True)[: len(starts)]
        firsts, lasts = starts[opens], furthest[closes]
        return cls(firsts, lasts, np.concatenate([[0], np.cumsum(lasts - firsts)]).astype(np.int64))

    def below(self, positions: Ints) -> Ints:
        """The length of the union before each position."""
        started = np.searchsorted(self.starts, positions, side="right")
        last_end = np.concatenate([np.zeros(1, dtype=np.int64), self.ends])[started]
        return self.before[started] - np.maximum(last_end - positions, 0)

    def covered(self, starts: Ints, ends: Ints) -> Ints:
        """The length of each interval [start, end) that the union covers."""
        return self.below(ends) - self.below(starts)

    def by_group(self, width: int, groups: int) -> Floats:
        """The union's length in each of `groups` stretches of `width` positions. No interval may cross their borders."""
        return totals(self.starts // width, self.ends - self.starts, groups)

    def shared_by_group(self, other: "Union", width: int, groups: int) -> Floats:
        """The length of the intersection with another union in each of `groups` stretches of `width` positions."""
        return totals(other.starts // width, self.covered(other.starts, other.ends), groups)


def meeting(starts: Ints, ends: Ints, lows: Ints, highs: Ints, *, touching: bool = False) -> tuple[Ints, Ints]:
    """Find all pairs (i, j) where interval i of [low, high) shares at least one position with interval j of [start, end).

    With `touching`, a shared border is enough. Pairs are sorted by i, then by the start of j.
    """
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], ends[order]
    furthest = np.maximum.accumulate(ends)
    first = np.searchsorted(furthest, lows, side="left" if touching else "right")
    last = np.searchsorted(starts, highs, side="right" if touching else "left")
    counts = np.maximum(last - first, 0)
    left = np.repeat(np.arange(len(lows)), counts)
    right = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    # The running maximum only bounds the range: an interval in it can still end before `low`.
    overlapping = ends[right] >= lows[left] if touching else np.minimum(ends[right], highs[left]) > np.maximum(starts[right], lows[left])
    return left[overlapping].astype(np.int64), order[right[overlapping]].astype(np.int64)


def sharing_half(starts: Ints, ends: Ints, lows: Ints, highs: Ints) -> tuple[Ints, Ints]:
    """The pairs of `meeting` that share at least half of the shorter interval."""
    left, right = meeting(starts, ends, lows, highs)
    shared = np.minimum(ends[right], highs[left]) - np.maximum(starts[right], lows[left])
    enough = 2 * shared >= np.minimum((ends - starts)[right], (highs - lows)[left])
    return left[enough], right[enough]


def totals(groups: Ints, amounts: Ints | Bools, count: int) -> Floats:
    """The sum of the amounts in each group, exact because all are integers below 2**53. Shape (count,)."""
    return np.bincount(groups, weights=amounts, minlength=count).astype(np.float64)


def ratio(part: Floats, whole: Floats) -> Floats:
    """part / whole for each element, 0 if the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole != 0)
