"""A table of the page: its cells may carry a bar, a shade and what they are sorted by."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from workbench.core.formatting import number, p_value
from workbench.report.page.bars import Bar

Kind = Literal["number", "word", "text", "bar", "shade"]
# From the lightest to the darkest.
_SHADES = 9


@dataclass(frozen=True)
class Column:
    """A column: what its cells are, whether the table can be sorted by it, and whether its name stands upright."""

    title: str
    kind: Kind = "number"
    sorts: bool = True
    upright: bool = False
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """What a cell shows; `sort` orders it where its text does not, `place` stands before the name of a ranked row."""

    text: str
    sort: float | str | None = None
    bar: Bar | None = None
    shade: int | None = None
    note: str = ""
    place: int | None = None

    @property
    def key(self) -> str:
        """What the script sorts by; empty puts the row at the end."""
        if isinstance(self.sort, float):
            return "" if math.isnan(self.sort) else f"{self.sort:.9g}"
        return self.text if self.sort is None else str(self.sort)


@dataclass(frozen=True)
class Row:
    """The first cell names the row; a row that is `level` cannot be told from the best."""

    cells: Sequence[Cell]
    level: bool = False


@dataclass(frozen=True)
class Table:
    """A table with its id and its caption; `note` says what a person has to know to read it."""

    name: str
    caption: str
    headings: Sequence[Column]
    rows: Sequence[Row]
    note: str = ""
    classes: str = field(default="")

    @property
    def sorts(self) -> bool:
        """Whether any column can be sorted by."""
        return len(self.rows) > 1 and any(heading.sorts for heading in self.headings)


def value_cell(value: float, digits: int = 3, text: str | None = None, note: str = "") -> Cell:
    """A number that is sorted as such."""
    return Cell(number(value, digits) if text is None else text, sort=float(value), note=note)


def p_cell(value: float) -> Cell:
    """A p value without its letter, which the heading has."""
    return Cell(p_value(value).removeprefix("p = ").removeprefix("p "), sort=float(value))


def shade_cell(value: float, low: float, high: float, digits: int = 2) -> Cell:
    """A number on a ground that is the darker the nearer it lies to `high`; plain where it is none."""
    if math.isnan(value):
        return Cell(number(value), sort=float("nan"))
    part = (value - low) / (high - low) if high > low else 0.5
    return Cell(number(value, digits), sort=float(value), shade=min(_SHADES - 1, max(0, int(part * _SHADES))))


def shade_range(values: Sequence[float]) -> tuple[float, float]:
    """The ends of the shades; 0.2 apart at least, since a small difference must not look like a large one."""
    known = [value for value in values if not math.isnan(value)] or [0.0]
    middle = (min(known) + max(known)) / 2
    half = max(0.1, max(known) - middle)
    return middle - half, middle + half
