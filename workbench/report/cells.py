"""Table cells: sortable numbers, intervals as small bars, shades, links to questions; and long tables."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from workbench.core.text.formatting import aligned, count, fitting_digits, interval, number, p_value, signed
from workbench.measures.statistics.intervals import Interval
from workbench.report.model import Bar, Block, Cell, Collapsible, Column, Pairs, Row, Table

NAME_LENGTH = 28
# Of a value that is not known.
UNKNOWN = Cell("–", sort=math.nan)
# The strongest shade; 0 is the faintest.
_STRONGEST = 8
# The least width of a scale, so that a small difference does not look like a large one.
_LEAST_SPAN = 0.2
_MOST_IDS = 12
# The rows of a long table that are open, and the number of further rows that are not worth a fold.
_OPEN, _SPARE = 5, 2


@dataclass(frozen=True)
class Scale:
    """A scale from `low` to `high` over the width of a cell, or from the faintest to the strongest shade."""

    low: float
    high: float

    @classmethod
    def over(cls, numbers: Iterable[float], *, zero: bool = False) -> "Scale":
        """The scale of all finite numbers, optionally with zero, at least 0.2 wide. It does not pass 1 if no number does."""
        known = [value for value in numbers if math.isfinite(value)] + ([0.0] if zero else [])
        low, high = min(known, default=0.0), max(known, default=1.0)
        missing = max(0.0, _LEAST_SPAN - (high - low)) / 2
        above = min(missing, max(0.0, 1 - high)) if high <= 1 else missing
        return cls(low - (2 * missing - above), high + above)

    @classmethod
    def around(cls, estimates: Iterable[Interval], *, zero: bool = False) -> "Scale":
        """The scale of all values and bounds."""
        return cls.over((bound for each in estimates for bound in (each.low, each.value, each.high)), zero=zero)

    def bar(self, value: float, low: float, high: float, *, zero: bool = False) -> Bar | None:
        """The bar of a value, or None for NaN."""
        if not math.isfinite(value):
            return None
        bounds = (low, high) if math.isfinite(low) and math.isfinite(high) else (value, value)
        return Bar(self._at(bounds[0]), self._at(value), self._at(bounds[1]), self._at(0.0) if zero else None)

    def cell(self, estimate: Interval, *, zero: bool = False) -> Cell:
        """The bar of a mean or of a difference, as a cell."""
        return Cell("", bar=self.bar(estimate.value, estimate.low, estimate.high, zero=zero))

    def shades(self, values: Sequence[float], digits: int) -> list[Cell]:
        """Build cells whose background is stronger for higher numbers, and absent for NaN."""
        parts = [(value - self.low) / (self.high - self.low) for value in values]
        shades = [None if math.isnan(part) else min(_STRONGEST, int(part * (_STRONGEST + 1))) for part in parts]
        return [value_cell(value, digits, shade=shade) for value, shade in zip(values, shades, strict=True)]

    def column(self) -> Column:
        """The column of the bars, with both ends of the scale as its heading."""
        return Column("", "bar", sorts=False, note=f"{number(self.low, 2)} to {number(self.high, 2)}")

    def _at(self, value: float) -> float:
        # Leave half a marker's width free on both sides.
        return round(4 + 92 * (value - self.low) / (self.high - self.low), 1)


def words(title: str) -> Column:
    """A column of short words."""
    return Column(title, "word")


def text(title: str) -> Column:
    """A column of sentences, which cannot be sorted."""
    return Column(title, "text", sorts=False)


def value_cell(
    value: float,
    digits: int = 3,
    shown: str | None = None,
    note: str = "",
    shade: int | None = None,
    bounds: tuple[float, float] | None = None,
) -> Cell:
    """A cell that sorts numerically."""
    return Cell(number(value, digits) if shown is None else shown, sort=float(value), note=note, shade=shade, bounds=bounds)


def count_cell(value: float | None, note: str = "") -> Cell:
    """A whole number."""
    known = math.nan if value is None else float(value)
    return Cell(count(known), sort=known, note=note)


def amount_cell(value: float) -> Cell:
    """A measured amount, with fewer decimals for larger amounts."""
    return value_cell(value, 0 if value >= 100 or value == 0 else 1 if value >= 10 else 2)


def mean_cell(estimate: Interval | None) -> Cell:
    """A mean with its interval below it, or a dash for None."""
    return UNKNOWN if estimate is None else value_cell(estimate.value, note=estimate.bounds())


def gap_cell(estimate: Interval | None) -> Cell:
    """A difference with its interval below it, or a dash for None."""
    return UNKNOWN if estimate is None else value_cell(estimate.value, shown=signed(estimate.value), note=estimate.bounds())


def difference_cells(estimate: Interval | None) -> list[Cell]:
    """A difference, and its interval in a column beside it."""
    cell = gap_cell(estimate)
    return [replace(cell, note=""), Cell(cell.note or interval(None, None))]


def p_cell(value: float) -> Cell:
    """A p value without `p`, which is in the heading. A dash for NaN."""
    return Cell("–" if math.isnan(value) else p_value(value).removeprefix("p = ").removeprefix("p "), sort=float(value))


def question_row(query_id: str, values: Iterable[float], text_: str) -> Row:
    """A question's id, linked to its drill-down, with its values and text."""
    return Row([Cell("", query_id, queries=(query_id,)), *map(value_cell, values), Cell(text_)])


def queries_cell(title: str, ids: Sequence[str]) -> Cell:
    """A title above the ids of the first questions."""
    more = f"and {len(ids) - _MOST_IDS} more" if len(ids) > _MOST_IDS else ""
    return Cell(title, queries=tuple(ids[:_MOST_IDS]), note=more)


def key_of(short: dict[str, str]) -> Pairs:
    """The key of a table or figure, which maps shortened names to full ones."""
    return tuple((shown, name) for name, shown in short.items() if shown != name)


def described(table: Table) -> str:
    """A figure's table in words, for readers who cannot see the figure."""
    titles = [column.title for column in table.columns[1:]]
    rows = [(row.cells[0].text, zip(titles, row.cells[1:], strict=True)) for row in table.rows]
    return f"{table.caption}: " + "; ".join(f"{name}: {', '.join(f'{title} {cell.text}' for title, cell in cells)}" for name, cells in rows)


def digits_for(values: Iterable[float]) -> int:
    """Two digits, or three if with two different values, or a value and zero, look equal."""
    return fitting_digits([0.0, *values])


def opened(table: Table, rows: int = _OPEN) -> list[Block]:
    """Show the first rows of a long table, and fold the whole below it."""
    if len(table.rows) <= rows + _SPARE:
        return [table]
    first = replace(
        table,
        rows=table.rows[:rows],
        caption=f"{table.caption} ({'the first' if rows == 1 else f'the first {rows}'} of {count(len(table.rows))} rows)",
    )
    return [first, Collapsible(f"All {count(len(table.rows))} rows: {table.caption}", [replace(table, note="")])]


def table_lines(table: Table) -> list[str]:
    """Render a table as aligned columns of text between the titles and the note."""
    rows = [
        [column.title for column in table.columns],
        *([cell.text or ", ".join(cell.queries) for cell in row.cells] for row in table.rows),
    ]
    return [*aligned(rows), *([table.note] if table.note else [])]
