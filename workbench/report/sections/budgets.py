"""Recall of evidence by delivered tokens, and the primary metric by size and overlap."""

import math

from workbench.analysis.findings import Findings
from workbench.analysis.frontier import CURVE, recall_curves
from workbench.analysis.size_grid import Grid, size_grids
from workbench.core.formatting import count, shortened
from workbench.report.cells import Scale, described, key_of, value_cell, words
from workbench.report.figures import plots
from workbench.report.figures.canvas import MOST_NAMES, NAME_LENGTH
from workbench.report.model import Beside, Cell, Column, Figure, Prose, Row, Section, Table


def curves(found: Findings) -> Section | None:
    """Plot recall of evidence against tokens; None without evidence."""
    recalls = recall_curves(found.standings.ranked)
    if not found.run.dataset["needs"] or not recalls:
        return None
    emphasis = f"The first {plots.STRONG} of the ranking are drawn in colour. " if len(recalls) > plots.STRONG else ""
    emphasis += "Only these are named; the table has the numbers of all. " if len(recalls) > MOST_NAMES else ""
    caption = f"{emphasis}Every configuration delivers its chunks by rank up to this many tokens. Where lines cross, the budget decides."
    columns = [words("configuration"), *(Column(f"{count(tokens)} tokens") for tokens in CURVE)]
    rows = [Row([Cell(name), *(value_cell(value) for value in values)]) for name, values in recalls.items()]
    short = shortened(list(recalls)[: plots.STRONG if len(recalls) > MOST_NAMES else None], NAME_LENGTH)
    drawing = plots.curves(CURVE, [(short.get(name, ""), values) for name, values in recalls.items()])
    data = Table("Share of the evidence delivered", columns, rows)
    figure = Figure("curves", described(data), caption, drawing, data, key_of(short))
    return Section("Evidence against tokens", "budgets", [figure], "Tokens")


def sizes(found: Findings) -> Section | None:
    """Tabulate each grid in shades of one scale; None unless size and overlap were both varied."""
    grids = size_grids(found.run, found.standings.ranked, found.primary)
    if not grids:
        return None
    scale = Scale.over(value for grid in grids for value in grid.cells.values())
    about = (
        f"{found.primary}, where both were varied and all else is the same; the stronger the colour, the higher. "
        "The colours span 0.2 at least, so that a small difference looks small."
    )
    tables = [_grid(grid, scale) for grid in grids]
    return Section("Size and overlap", "sizes", [Prose(about), Beside(tables)], "Sizes")


def _grid(grid: Grid, scale: Scale) -> Table:
    sizes, overlaps = (sorted({cell[axis] for cell in grid.cells}) for axis in (0, 1))
    columns = [Column("overlap", "word", sorts=False), *(Column(f"size {size:,}", "shade", sorts=False) for size in sizes)]
    rows = [
        Row([Cell(f"{overlap:,}"), *scale.shades([grid.cells.get((size, overlap), math.nan) for size in sizes], 3)]) for overlap in overlaps
    ]
    return Table(grid.title, columns, rows, classes="grid")
