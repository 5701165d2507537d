"""The order in which a person reads the lines of a page, which need not be the order in which a program has written them."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.conversion.pdf.lines import PrintedLine

# Lines are in one column if they share this part of the shorter one.
_SHARED = 0.2
# A line is above another if its middle is higher by this part of a height.
_HIGHER = 0.5
# A line of at most this many heights is mostly the end of a paragraph, whose width is that of the line before it.
_SHORT = 5
_SAME_EDGE = 1.5
# A page with more lines, as no person reads, keeps the order of its content: the time grows with their square.
_MOST = 5_000
# From this many lines and this share on, a page is doubtful. A table has some lines with gaps, a form some text over others.
_FEW_DOUBTFUL, _DOUBTFUL = 4, 0.15
Flags = NDArray[np.bool_]


def in_reading_order(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Order the lines of a page from top to bottom, column by column.

    The order of the content holds, as programs write one column or cell after the other, except where a line would come before another that is above
    it in the same column: browsers write boxes with a background, such as code, behind all other text. Turned lines come last.
    """
    upright = [line for line in lines if not line.turned]
    order = _Order(upright) if 1 < len(upright) <= _MOST else None
    return [*(order.lines() if order else upright), *(line for line in lines if line.turned)]


def doubt_of(lines: Sequence[PrintedLine]) -> str:
    """Return why the order of a page's lines is not certain, or an empty text."""
    if any(line.turned for line in lines):
        return "has turned text"
    if _many(sum(line.across for line in lines), len(lines)):
        return "may have columns that were read across"
    if 1 < len(lines) <= _MOST and _many(int(_Order(lines).covered().sum()), len(lines)):
        return "has text over other text"
    return ""


def _many(doubtful: int, lines: int) -> bool:
    return doubtful > max(_FEW_DOUBTFUL, _DOUBTFUL * lines)


class _Order:
    """The lines of a page with arrays of their edges, (lines,)."""

    def __init__(self, lines: Sequence[PrintedLine]) -> None:
        self._lines = lines
        self._middles = np.array([line.middle for line in lines])
        self._heights = np.array([line.height for line in lines])
        self._lefts = np.array([min(line.left, line.right) for line in lines])
        self._rights = np.array([max(line.left, line.right) for line in lines])
        widths = np.array([self._width(number) for number in range(len(lines))])
        self._wide_lefts, self._wide_rights = widths[:, 0], widths[:, 1]

    def _width(self, number: int) -> tuple[float, float]:
        """Return the edges of a line. A short one below another of its paragraph is nearly as wide as a usual line."""
        left, right = float(self._lefts[number]), float(self._rights[number])
        before, widest = number - 1, left + _SHORT * float(self._heights[number])
        if (
            before >= 0
            and right < widest
            and self._middles[before] > self._middles[number]
            and self._lines[before].bold == self._lines[number].bold
            and abs(float(self._lefts[before]) - left) < _SAME_EDGE
        ):
            return left, max(right, min(widest, float(self._rights[before])))
        return left, right

    def lines(self) -> list[PrintedLine]:
        """Return the lines in the order of the content, each after those that are above it."""
        placed = np.zeros(len(self._lines), dtype=bool)
        ordered: list[int] = []
        for number in range(len(self._lines)):
            if not placed[number]:
                self._place_left_over(number, placed, ordered)
                self._place(number, placed, ordered)
        return [self._lines[number] for number in ordered]

    def _place(self, number: int, placed: Flags, ordered: list[int]) -> None:
        """Place a line behind those above it. Pages have more lines than Python recurses."""
        waiting = [number]
        while waiting:
            line = waiting[-1]
            above = next(self._above(line, placed), None)
            if above is not None:
                waiting.append(above)
                continue
            waiting.pop()
            if not placed[line]:
                placed[line] = True
                ordered.append(line)

    def _above(self, number: int, placed: Flags) -> Iterator[int]:
        """Yield the lines that are not placed and above a line, in the order of the content."""
        higher = self._middles > self._middles[number] + _HIGHER * np.minimum(self._heights, self._heights[number])
        yield from (int(line) for line in np.flatnonzero(higher & ~placed & self._in_column(number)))

    def _in_column(self, number: int) -> Flags:
        shared = np.minimum(self._wide_rights, self._wide_rights[number]) - np.maximum(self._wide_lefts, self._wide_lefts[number])
        shorter = np.minimum(self._wide_rights - self._wide_lefts, self._wide_rights[number] - self._wide_lefts[number])
        return np.asarray(shared > np.maximum(_SHARED * shorter, 0.01))

    def _place_left_over(self, number: int, placed: Flags, ordered: list[int]) -> None:
        """Before the first line of a new column, place the rest of the column beside it: code at its end that was written later."""
        if not ordered or self._middles[number] <= self._middles[ordered[-1]]:
            return
        beside_it, last, lowest = self._in_column(ordered[-1]), number, None
        while (after := last + 1) < len(self._lines) and self._middles[after] < self._middles[last]:
            if beside_it[after]:
                # Below both columns, or the next row of a table.
                lowest = self._middles[after]
            if beside_it[after] or not self._in_column(last)[after]:
                break
            last = after
        run = slice(number, last + 1)
        free = (
            ~placed
            & beside_it
            & (self._middles < self._middles[ordered[-1]])
            & (self._rights <= self._lefts[run].min())
            & (self._middles > (self._middles[last] - _HIGHER * self._heights[last] if lowest is None else lowest))
        )
        for line in np.flatnonzero(free):
            if not placed[line]:
                self._place(int(line), placed, ordered)

    def covered(self) -> Flags:
        """Mark the lines that have another in the same place."""
        found = np.zeros(len(self._lines), dtype=bool)
        for number in range(len(self._lines)):
            near = np.abs(self._middles - self._middles[number]) < 0.4 * np.minimum(self._heights, self._heights[number])
            shared = np.minimum(self._rights, self._rights[number]) - np.maximum(self._lefts, self._lefts[number])
            near &= shared > 0.5 * np.minimum(self._rights - self._lefts, self._rights[number] - self._lefts[number])
            near[number] = False
            found[number] = near.any()
        return found
