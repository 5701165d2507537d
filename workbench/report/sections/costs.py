"""Quality against text and cost: recall by delivered tokens, and the primary metric by size, overlap and cost."""

import math

import numpy as np

from workbench.analysis.findings import Findings
from workbench.analysis.frontier import COSTS, CURVE, Cost, recall_curves
from workbench.analysis.size_grid import Grid, size_grids
from workbench.core.formatting import count, listed, shortened
from workbench.report.cells import Scale, amount_cell, count_cell, described, key_of, value_cell, words
from workbench.report.figures import plots
from workbench.report.figures.canvas import MOST_NAMES, NAME_LENGTH
from workbench.report.model import Beside, Cell, Column, Figure, Prose, Row, Section, Table

_MOST_COSTS = 2
# The first two of these that differ between configurations are plotted.
_DRAWN: tuple[Cost, ...] = ("delivered", "p50", "encoded", "index")


def curves(findings: Findings) -> Section | None:
    """Plot recall of evidence against tokens. Returns None if the data have no evidence."""
    recalls = recall_curves(findings.standings.ranked)
    if not findings.run.dataset["needs"] or not recalls:
        return None
    emphasis = f"The first {plots.STRONG} of the ranking are drawn in colour. " if len(recalls) > plots.STRONG else ""
    emphasis += "Only these are named; the table has the numbers of all. " if len(recalls) > MOST_NAMES else ""
    caption = f"{emphasis}The chunks of every configuration are read by rank up to this many tokens. Where lines cross, the budget decides."
    columns = [words("configuration"), *(Column(f"{count(tokens)} tokens") for tokens in CURVE)]
    rows = [Row([Cell(name), *(value_cell(value) for value in values)]) for name, values in recalls.items()]
    short = shortened(list(recalls)[: plots.STRONG if len(recalls) > MOST_NAMES else None], NAME_LENGTH)
    drawing = plots.curves(CURVE, [(short.get(name, ""), values) for name, values in recalls.items()])
    data = Table("Share of the evidence delivered", columns, rows)
    figure = Figure("curves", described(data), caption, drawing, data, key_of(short))
    return Section("Evidence against tokens", "budgets", [figure], "Tokens")


def sizes(findings: Findings) -> Section | None:
    """Tabulate each grid in shades of one scale. Returns None unless both size and overlap vary."""
    grids = size_grids(findings.run, findings.standings.ranked, findings.primary)
    if not grids:
        return None
    scale = Scale.over(value for grid in grids for value in grid.cells.values())
    introduction = (
        f"{findings.primary}, for each size and overlap with all other settings equal; stronger colours are higher. "
        "The colours span at least 0.2, so that a small difference looks small."
    )
    tables = [_grid(grid, scale) for grid in grids]
    return Section("Size and overlap", "sizes", [Prose(introduction), Beside(tables)], "Sizes")


def _grid(grid: Grid, scale: Scale) -> Table:
    sizes, overlaps = (sorted({cell[axis] for cell in grid.cells}) for axis in (0, 1))
    columns = [Column("overlap", "word", sorts=False), *(Column(f"size {size:,}", "shade", sorts=False) for size in sizes)]
    rows = [
        Row([Cell(f"{overlap:,}"), *scale.shades([grid.cells.get((size, overlap), math.nan) for size in sizes], 3)]) for overlap in overlaps
    ]
    return Table(grid.title, columns, rows, classes="grid")


def costs(findings: Findings) -> Section | None:
    """Plot the primary metric against up to two costs that differ, then tabulate all costs. Returns None if all configurations failed."""
    if not findings.priced:
        return None
    values = {cost: np.array([priced.costs[cost] for priced in findings.priced]).round(6) for cost in _DRAWN}
    differ = [cost for cost, known in values.items() if len(np.unique(known[~np.isnan(known)])) > 1]
    drawn = [figure for cost in differ[:_MOST_COSTS] if (figure := frontier_figure(findings, cost))]
    return Section("Quality and cost", "costs-section", [*([Beside(drawn)] if drawn else []), costs_table(findings)], "Cost")


def costs_table(findings: Findings) -> Table:
    """Tabulate all costs of all configurations."""
    columns = [words("configuration"), Column("chunks"), *(Column(f"{kind.label}, {kind.unit}") for kind in COSTS.values())]
    rows = [
        Row([Cell(each.name), count_cell(findings.run.facts[each.name]["chunks"]), *(amount_cell(each.costs[cost]) for cost in COSTS)])
        for each in findings.priced
    ]
    note = " ".join(f"{kind.label[0].upper()}{kind.label[1:]}: {kind.unit} {kind.definition}." for kind in COSTS.values())
    return Table("What each configuration costs", columns, rows, note)


def _place(point: plots.Point) -> str:
    return ("yes" if point.best else "no") if point.ranked else "not ranked"


def frontier_figure(findings: Findings, cost: Cost) -> Figure | None:
    """Plot the primary metric against a cost. Returns None if fewer than two configurations have both."""
    kind, metric = COSTS[cost], str(findings.primary)
    points = [
        plots.Point(priced.name, priced.costs[cost], priced.quality.value, priced.ranked, cost in priced.frontier)
        for priced in findings.priced
    ]
    known = [point for point in points if not np.isnan(point.cost + point.quality)]
    if len(known) < 2:
        return None
    short = shortened([point.label for point in known if point.best or len(known) <= MOST_NAMES], NAME_LENGTH)
    drawing = plots.frontier([point._replace(label=short.get(point.label, "")) for point in known], metric, f"{kind.label}, {kind.unit}")
    columns = [words("configuration"), Column(f"{kind.label}, {kind.unit}"), Column(metric), words("on the frontier")]
    rows = [Row([Cell(point.label), amount_cell(point.cost), value_cell(point.quality), Cell(_place(point))]) for point in known]
    data = Table(f"{metric} against {kind.label}", columns, rows)
    caption = f"Solid points: no cheaper configuration scores as high ({listed([point.label for point in known if point.best], 6)})."
    caption += " Only these are named; the table has the numbers of all." if len(known) > MOST_NAMES else ""
    caption += "" if all(point.ranked for point in known) else " Crosses are not ranked."
    caption += " The frontier orders means; it does not say that they differ."
    return Figure(f"frontier-{cost}", described(data), caption, drawing, data, key_of(short))
