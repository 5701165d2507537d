"""Recall of evidence as more text is delivered, and the primary metric by size and overlap."""

from workbench.analysis.findings import Findings
from workbench.analysis.frontier import CURVE, recall_curves
from workbench.analysis.size_grid import Grid, size_grids
from workbench.core.formatting import count, listed, number, shortened
from workbench.report.cells import digits_for, key_of, shade_cells, shade_range, value_cell, words
from workbench.report.figures import plots
from workbench.report.figures.canvas import NAME_LENGTH
from workbench.report.model import Beside, Cell, Column, Figure, Prose, Row, Section, Table

_UNKNOWN = float("nan")


def curves(found: Findings) -> Section | None:
    """Recall of evidence against tokens; None without evidence."""
    recalls = recall_curves(found.standings.ranked)
    if not found.run.dataset["needs"] or not recalls:
        return None
    digits = digits_for(value for values in recalls.values() for value in values)
    told = "; ".join(f"{name} {', '.join(number(value, digits) for value in values)}" for name, values in recalls.items())
    alt = f"Share of the evidence delivered within {listed([count(one) for one in CURVE])} tokens: {told}"
    emphasis = f"The first {plots.STRONG} in the order are drawn strongly. " if len(recalls) > plots.STRONG else ""
    caption = (
        f"{emphasis}Every configuration delivers its chunks by rank until so many tokens are there. Where lines cross, the budget decides."
    )
    columns = [words("configuration"), *(Column(f"{count(tokens)} tokens") for tokens in CURVE)]
    rows = [Row([Cell(name), *(value_cell(value) for value in values)]) for name, values in recalls.items()]
    short = shortened(recalls, NAME_LENGTH)
    drawing = plots.curves(CURVE, {short[name]: values for name, values in recalls.items()})
    data = Table("curves-data", "Share of the evidence delivered", columns, rows)
    figure = Figure("curves", alt, caption, drawing, data, key_of(short))
    return Section("Evidence against tokens", "budgets", [figure], "Tokens")


def sizes(found: Findings) -> Section | None:
    """A shaded table for each grid, all on one scale; None where size and overlap were not both varied."""
    grids = size_grids(found.run, found.standings.ranked, found.primary)
    if not grids:
        return None
    span = shade_range([value for grid in grids for value in grid.cells.values()])
    told = (
        f"{found.primary}, where both were varied and all else is the same; the stronger the colour, the higher. "
        "The colours span 0.2 at least, so that a small difference looks small."
    )
    tables = [_grid(number, grid, span) for number, grid in enumerate(grids, 1)]
    return Section("Size and overlap", "sizes", [Prose(told), Beside(tables)], "Sizes")


def _grid(number: int, grid: Grid, span: tuple[float, float]) -> Table:
    columns = [Column("overlap", "word", sorts=False), *(Column(f"size {size:,}", "shade", sorts=False) for size in grid.sizes)]
    rows = []
    for overlap in grid.overlaps:
        values = [grid.cells.get((size, overlap), _UNKNOWN) for size in grid.sizes]
        rows.append(Row([Cell(f"{overlap:,}"), *shade_cells(values, span, 3)]))
    return Table(f"grid-{number}", grid.title, columns, rows, classes="grid")
