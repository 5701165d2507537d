"""Quality against text and cost: recall by delivered tokens, and the primary metric by size, overlap and cost."""

import itertools
import math

import numpy as np

from workbench.analysis.findings import Findings
from workbench.analysis.frontier import COSTS, CURVE, DRIFT, TIMES, Cost, CostedConfiguration, recall_curves, separated, timings_of
from workbench.analysis.size_grid import Grid, size_grids
from workbench.core.formatting import count, listed, shortened
from workbench.report.cells import Scale, amount_cell, count_cell, described, key_of, value_cell, words
from workbench.report.figures import plots
from workbench.report.figures.canvas import MOST_NAMES, NAME_LENGTH
from workbench.report.model import Cell, Column, Columns, Figure, Prose, Row, Section, Table
from workbench.report.text.sentences import defined, time_text

_MOST_COSTS = 2
# The first two of these that differ between configurations are plotted.
_DRAWN: tuple[Cost, ...] = ("encoded", "delivered", "index", "p50")
OVERLAP = f"where two ranges overlap or are at most {DRIFT} times apart, no difference is shown."


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
    return Section("Size and overlap", "sizes", [Prose(introduction), Columns(tables)], "Sizes")


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
    differ = [cost for cost in _DRAWN if _differs(findings, cost)]
    drawn = [figure for cost in differ[:_MOST_COSTS] if (figure := frontier_figure(findings, cost))]
    return Section("Quality and cost", "costs-section", [*([Columns(drawn)] if drawn else []), costs_table(findings)], "Cost")


def _differs(findings: Findings, cost: Cost) -> bool:
    """Whether any two configurations are shown to differ in a cost."""
    ranges = {priced.ranges[cost] for priced in findings.priced if not math.isnan(priced.costs[cost])}
    return any(separated(cost, one, other) for one, other in itertools.combinations(ranges, 2))


def costs_table(findings: Findings) -> Table:
    """Tabulate all costs of all configurations."""
    columns = [words("configuration"), Column("chunks"), *(Column(f"{kind.label}, {kind.unit}") for kind in COSTS.values())]
    columns.append(Column("encoding, s", note="one measurement"))
    rows = [
        Row([Cell(each.name), count_cell(findings.run.facts[each.name]["chunks"]), *(_cost_cell(each, cost) for cost in COSTS), seconds])
        for each in findings.priced
        for seconds in [_encoding_cell(findings, each)]
    ]
    note = " ".join(defined(kind) for kind in COSTS.values())
    times = f"Times: {OVERLAP} Encoding, s: the texts that were not in the cache, measured once, on the machine and in the run that encoded them."
    return Table("What each configuration costs", columns, rows, f"{note} {times}")


def _cost_cell(costed: CostedConfiguration, cost: Cost) -> Cell:
    return time_cell(costed, cost) if cost in TIMES else amount_cell(costed.costs[cost])


def time_cell(costed: CostedConfiguration | None, cost: Cost) -> Cell:
    """The range of a time, sorted by its median. A time without a range has a note."""
    if costed is None:
        return value_cell(math.nan)
    text, once, _ = time_text(costed.costs[cost], costed.ranges[cost]).partition(" (one measurement)")
    return Cell(text, sort=costed.costs[cost], note=once.strip(" ()"))


def _encoding_cell(findings: Findings, costed: CostedConfiguration) -> Cell:
    """The seconds of encoding, unless this run encoded nothing."""
    timed = timings_of(findings.run, costed.name)
    if costed.costs["encoded"] > 0 and not timed.get("tokens_encoded"):
        return Cell("from the cache", sort=math.nan)
    return amount_cell(timed.get("seconds_vectors", math.nan))


def _place(point: plots.Point) -> str:
    return ("yes" if point.best else "no") if point.ranked else "not ranked"


def frontier_figure(findings: Findings, cost: Cost) -> Figure | None:
    """Plot the primary metric against a cost. Returns None if fewer than two configurations have both."""
    kind, metric = COSTS[cost], str(findings.primary)
    points = [
        plots.Point(priced.name, priced.costs[cost], priced.quality.value, priced.ranked, cost in priced.frontier, *priced.ranges[cost])
        for priced in findings.priced
    ]
    known = [point for point in points if not np.isnan(point.cost + point.quality)]
    if len(known) < 2:
        return None
    short = shortened([point.label for point in known if point.best or len(known) <= MOST_NAMES], NAME_LENGTH)
    drawing = plots.frontier([point._replace(label=short.get(point.label, "")) for point in known], metric, f"{kind.label}, {kind.unit}")
    columns = [words("configuration"), Column(f"{kind.label}, {kind.unit}"), Column(metric), words("on the frontier")]
    cells = {priced.name: _cost_cell(priced, cost) for priced in findings.priced}
    rows = [Row([Cell(point.label), cells[point.label], value_cell(point.quality), Cell(_place(point))]) for point in known]
    data = Table(f"{metric} against {kind.label}", columns, rows)
    dearer = "are shown to take longer" if cost in TIMES else "cost more"
    caption = f"Solid points: only configurations that {dearer} score higher ({listed([point.label for point in known if point.best])})."
    caption += f" Lines are the ranges of the times: {OVERLAP}" if cost in TIMES else ""
    caption += " Only these are named; the table has the numbers of all." if len(known) > MOST_NAMES else ""
    caption += "" if all(point.ranked for point in known) else " Crosses are not ranked."
    caption += " The frontier orders means; it does not say that they differ."
    return Figure(f"frontier-{cost}", described(data), caption, drawing, data, key_of(short))
