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
    differ = [
        cost for cost in _DRAWN if len({round(costed.costs[cost], 6) for costed in found.priced if not np.isnan(costed.costs[cost])}) > 1
    ]
    drawn = [figure for cost in differ[:_MOST_COSTS] if (figure := frontier_figure(found, cost))]
    return Section("Quality and cost", "costs-section", [*([Beside(drawn)] if drawn else []), costs_table(found)], "Cost")


def costs_table(found: Findings) -> Table:
    """Tabulate all costs of all configurations."""
    columns = [words("configuration"), Column("chunks"), *(Column(f"{kind.label}, {kind.unit}") for kind in COSTS.values())]
    rows = [
        Row([Cell(costed.name), count_cell(found.run.facts[costed.name]["chunks"]), *(amount_cell(costed.costs[cost]) for cost in COSTS)])
        for costed in found.priced
    ]
    note = " ".join(f"{kind.label[0].upper()}{kind.label[1:]}: {kind.unit} {kind.definition}." for kind in COSTS.values())
    return Table("What each configuration costs", columns, rows, note)


def frontier_figure(found: Findings, cost: Cost) -> Figure | None:
    """Plot the primary metric against a cost; None if fewer than two configurations have both."""
    known = [costed for costed in found.priced if not np.isnan(costed.costs[cost] + costed.quality.value)]
    if len(known) < 2:
        return None
    kind, metric = COSTS[cost], str(found.primary)
    named = [costed.name for costed in known if cost in costed.frontier or len(known) <= MOST_NAMES]
    short = shortened(named, NAME_LENGTH)
    points = [
        plots.Point(short.get(costed.name, ""), costed.costs[cost], costed.quality.value, costed.ranked, cost in costed.frontier)
        for costed in known
    ]
    columns = [words("configuration"), Column(f"{kind.label}, {kind.unit}"), Column(metric), words("on the frontier")]
    rows = [
        Row(
            [
                Cell(costed.name),
                amount_cell(costed.costs[cost]),
                value_cell(costed.quality.value),
                Cell("yes" if cost in costed.frontier else "no"),
            ]
        )
        for costed in known
    ]
    on = listed([costed.name for costed in known if cost in costed.frontier], 6)
    unnamed = " Only these are named; the table has the numbers of all." if len(known) > MOST_NAMES else ""
    crosses = "" if all(costed.ranked for costed in known) else " Crosses are not ranked."
    caption = f"Solid points: no other configuration has as much for less ({on}).{unnamed}{crosses} The frontier orders means; it does not say that they differ."
    drawing = plots.frontier(points, metric, f"{kind.label}, {kind.unit}")
    data = Table(f"{metric} against {kind.label}", columns, rows)
    return Figure(f"frontier-{cost}", f"{data.caption}: {described(data)}", caption, drawing, data, key_of(short))
