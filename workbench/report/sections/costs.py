"""Costs of configurations, and quality against cost."""

import numpy as np

from workbench.analysis.findings import Findings
from workbench.analysis.frontier import COSTS, Cost
from workbench.core.formatting import listed, shortened
from workbench.report.cells import amount_cell, count_cell, described, key_of, value_cell, words
from workbench.report.figures import plots
from workbench.report.figures.canvas import MOST_NAMES, NAME_LENGTH
from workbench.report.model import Beside, Cell, Column, Figure, Row, Section, Table

_MOST_COSTS = 2
# The first of these that differ between configurations are drawn.
_DRAWN: tuple[Cost, ...] = ("delivered", "p50", "encoded", "index")


def costs(found: Findings) -> Section | None:
    """The primary metric against up to two costs that differ, then all costs; None without a finished configuration."""
    if not found.priced:
        return None
    values = {cost: np.array([priced.costs[cost] for priced in found.priced]).round(6) for cost in _DRAWN}
    differ = [cost for cost, known in values.items() if len(np.unique(known[~np.isnan(known)])) > 1]
    drawn = [figure for cost in differ[:_MOST_COSTS] if (figure := frontier_figure(found, cost))]
    return Section("Quality and cost", "costs-section", [*([Beside(drawn)] if drawn else []), costs_table(found)], "Cost")


def costs_table(found: Findings) -> Table:
    """Tabulate all costs of all configurations."""
    columns = [words("configuration"), Column("chunks"), *(Column(f"{kind.label}, {kind.unit}") for kind in COSTS.values())]
    rows = [
        Row([Cell(priced.name), count_cell(found.run.facts[priced.name]["chunks"]), *(amount_cell(priced.costs[cost]) for cost in COSTS)])
        for priced in found.priced
    ]
    note = " ".join(f"{kind.label[0].upper()}{kind.label[1:]}: {kind.unit} {kind.definition}." for kind in COSTS.values())
    return Table("What each configuration costs", columns, rows, note)


def frontier_figure(found: Findings, cost: Cost) -> Figure | None:
    """Plot the primary metric against a cost; None if fewer than two configurations have both."""
    kind, metric = COSTS[cost], str(found.primary)
    points = [
        plots.Point(priced.name, priced.costs[cost], priced.quality.value, priced.ranked, cost in priced.frontier)
        for priced in found.priced
    ]
    known = [point for point in points if not np.isnan(point.cost + point.quality)]
    if len(known) < 2:
        return None
    short = shortened([point.label for point in known if point.best or len(known) <= MOST_NAMES], NAME_LENGTH)
    drawing = plots.frontier([point._replace(label=short.get(point.label, "")) for point in known], metric, f"{kind.label}, {kind.unit}")
    columns = [words("configuration"), Column(f"{kind.label}, {kind.unit}"), Column(metric), words("on the frontier")]
    rows = [
        Row([Cell(point.label), amount_cell(point.cost), value_cell(point.quality), Cell("yes" if point.best else "no")]) for point in known
    ]
    data = Table(f"{metric} against {kind.label}", columns, rows)
    caption = f"Solid points: no other configuration has as much for less ({listed([point.label for point in known if point.best], 6)})."
    caption += " Only these are named; the table has the numbers of all." if len(known) > MOST_NAMES else ""
    caption += "" if all(point.ranked for point in known) else " Crosses are not ranked."
    caption += " The frontier orders means; it does not say that they differ."
    return Figure(f"frontier-{cost}", described(data), caption, drawing, data, key_of(short))
