"""The primary metric against the costs of each configuration."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.text.formatting import amount, count, listed, plural, shortened
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import COSTS, DRIFT, TIMES, Cost, CostedConfiguration, timings_of
from workbench.report.canvas import (
    ACCENT,
    FAINT,
    INK,
    MOST_NAMES,
    MUTED,
    NAME_LENGTH,
    PAPER,
    End,
    canvas,
    name_ends,
    named_height,
    own_style,
    plain,
    spanned,
)
from workbench.report.cells import UNKNOWN, amount_cell, count_cell, opened, value_cell, words
from workbench.report.model import Block, Cell, Column, Prose, Row, Table
from workbench.report.sentences import time_text
from workbench.report.topics.topic import COMPARED, Topic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


# How the table names the frontier of a cost.
_FRONTIERS: dict[Cost, str] = {"p50": "time", "index": "index", "encoded": "encoding", "delivered": "text"}
_FRONTIER = (
    "A configuration is on the frontier of a cost if no other one scores at least as high for less. The frontier orders means; it does not say that "
    "they differ."
)
OVERLAP = f"where two ranges overlap or are at most {DRIFT} times apart, no difference is shown."
# Costs are on a logarithmic axis if the largest is at least this many times the smallest.
_DECADES = 20
# From this ratio on, only the powers of ten are labelled.
_LONG = 500


class Point(NamedTuple):
    """A configuration by cost and quality: `best` if on the frontier, not `ranked` if beyond the embedder's window.

    `low` to `high` is the range of the cost, if it is known.
    """

    label: str
    cost: float
    quality: float
    ranked: bool
    best: bool
    low: float = math.nan
    high: float = math.nan


def compute(findings: Findings) -> Findings | None:
    """Return the findings, whose `priced` are the costs. None if all configurations failed."""
    return findings if findings.priced else None


def render(findings: Findings) -> list[Block]:
    """State what the configuration shown costs, and tabulate quality and costs of all configurations."""
    return [Prose(finding(findings)), *opened(costs_table(findings))]


def costs_table(findings: Findings) -> Table:
    """Tabulate the primary metric and the costs of all configurations. A cost that all have in common is in the note."""
    columns = [Column(kind.label, note=kind.unit) for kind in COSTS.values()]
    columns += [Column("chunks"), Column("encoding", note="s, one measurement")]
    rows = [_cost_cells(findings, costed) for costed in findings.priced]
    alike = [
        at for at, cells in enumerate(zip(*rows, strict=True)) if len(rows) > 1 and len({cell.text for cell in cells} - {UNKNOWN.text}) < 2
    ]
    first = [words("configuration"), Column(str(findings.primary)), words("on the frontier of")]
    table = []
    for costed, cells in zip(findings.priced, rows, strict=True):
        named = [Cell(costed.name), value_cell(costed.quality.value), Cell(_frontier(costed))]
        table.append(Row([*named, *(cell for at, cell in enumerate(cells) if at not in alike)]))
    known = {at: next((cells[at] for cells in rows if cells[at].text != UNKNOWN.text), UNKNOWN) for at in alike}
    same = [
        f"{columns[at].title} {cell.text} {columns[at].note}"
        for at, cell in known.items()
        if isinstance(cell.sort, float) and cell.sort > 0
    ]
    shown = [column for at, column in enumerate(columns) if at not in alike]
    equal = f" The same for all: {listed(same)}." if same else ""
    return Table("What each configuration costs", [*first, *shown], table, f"{_FRONTIER}{equal} Times: {OVERLAP}")


def _frontier(costed: CostedConfiguration) -> str:
    if not costed.ranked:
        return "not ranked"
    return ", ".join(title for cost, title in _FRONTIERS.items() if cost in costed.frontier) or "–"


def _cost_cells(findings: Findings, costed: CostedConfiguration) -> list[Cell]:
    timed = timings_of(findings, costed.name)
    # This run encoded nothing.
    cached = costed.costs["encoded"] > 0 and not timed.get("tokens_encoded")
    seconds = Cell("from the cache", sort=math.nan) if cached else amount_cell(timed.get("seconds_vectors", math.nan))
    return [*(_cost_cell(costed, cost) for cost in COSTS), count_cell(findings.facts[costed.name]["chunks"]), seconds]


def _cost_cell(costed: CostedConfiguration, cost: Cost) -> Cell:
    return time_cell(costed, cost) if cost in TIMES else amount_cell(costed.costs[cost])


def time_cell(costed: CostedConfiguration | None, cost: Cost) -> Cell:
    """The range of a time, sorted by its median. A time without a range has a note."""
    if costed is None:
        return value_cell(math.nan)
    text, once, _ = time_text(costed.costs[cost], costed.ranges[cost]).partition(" (one measurement)")
    return Cell(text, sort=costed.costs[cost], note=once.strip(" ()"))


def frontier_plot(findings: Findings, cost: Cost) -> "Drawing | None":
    """Plot the primary metric against a cost. Returns None if fewer than two configurations have both."""
    points = [
        Point(priced.name, priced.costs[cost], priced.quality.value, priced.ranked, cost in priced.frontier, *priced.ranges[cost])
        for priced in findings.priced
    ]
    known = [point for point in points if not np.isnan(point.cost + point.quality)]
    if len(known) < 2:
        return None
    short = shortened([point.label for point in known if point.best or len(known) <= MOST_NAMES], NAME_LENGTH)
    named = [point._replace(label=short.get(point.label, "")) for point in known]
    return frontier_drawing(named, str(findings.primary), f"{COSTS[cost].label}, {COSTS[cost].unit}")


def finding(findings: Findings) -> str:
    """State the costs of the configuration shown, and the configurations on the frontier of each cost if there are others."""
    shown = decide(findings).shown
    costed = findings.price(shown.name) if shown else None
    if costed is None:
        return "No configuration can be ranked, so no cost stands out."
    shared: dict[tuple[str, ...], list[str]] = {}
    for cost, title in _FRONTIERS.items():
        shared.setdefault(tuple(each.name for each in findings.priced if cost in each.frontier), []).append(title)
    on = "; ".join(f"{listed(titles)}: {listed(names, 3)}" for names, titles in shared.items() if names)
    return f"{costed.name} costs {_priced(findings, costed)}.{f' No other one scores as high for less {on}.' if on else ''}"


def _priced(findings: Findings, costed: CostedConfiguration) -> str:
    """List the costs that do not depend on the machine, then the time."""
    prices, encoded = [], costed.costs["encoded"]
    if not np.isnan(encoded):
        chunks = plural(findings.facts[costed.name]["chunks"], "chunk")
        prices.append(f"{count(encoded)} tokens to encode in {chunks}" if encoded else f"{chunks} without encoding")
    if encoded and not np.isnan(costed.costs["index"]):
        prices.append(f"{amount(costed.costs['index'])} MB of index")
    # At equal context all deliver the same amount.
    if findings.primary.tokens is None and not np.isnan(costed.costs["delivered"]):
        prices.append(f"{count(costed.costs['delivered'])} tokens of delivered text per question")
    if not np.isnan(costed.costs["p50"]):
        prices.append(time_text(costed.costs["p50"], costed.ranges["p50"], " ms per question"))
    return listed(prices)


costs = Topic(
    "costs",
    "Quality and cost",
    "Cost",
    compute,
    render,
    chapter="costs",
    views=COMPARED,
    missing="No configuration was finished.",
)


@own_style()
def frontier_drawing(points: Sequence[Point], quality: str, cost: str) -> "Drawing":
    """Plot quality against cost: solid points on the frontier, rings behind it, crosses if not ranked. Empty labels are not drawn."""
    from matplotlib.ticker import LogLocator  # heavy

    figure, (axes,) = canvas(named_height(point.label for point in points))
    best = sorted((point.cost, point.quality) for point in points if point.best)
    axes.plot([x for x, _ in best], [y for _, y in best], color=ACCENT, linewidth=1, linestyle=":")
    for point in points:
        look: dict[str, Any] = {"marker": "o", "markerfacecolor": ACCENT if point.best else PAPER} if point.ranked else {"marker": "x"}
        if math.isfinite(point.low):
            axes.plot([point.low, point.high], [point.quality] * 2, color=ACCENT if point.best else MUTED, linewidth=1)
        axes.plot([point.cost], [point.quality], color=ACCENT if point.best else MUTED, linestyle="", markersize=5, **look)
    costs = [point.cost for point in points]
    if min(costs) > 0 and max(costs) > _DECADES * min(costs):
        axes.set_xscale("log")
        # matplotlib labels all minor ticks of an axis of few decades, one over another.
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 3) if max(costs) < _LONG * min(costs) else (1,)))
        axes.minorticks_off()
    else:
        axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_ylim(*spanned(axes.get_ylim(), axes.dataLim.y1))
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_xlabel(plain(cost))
    axes.set_ylabel(plain(quality))
    name_ends(axes, [End(point.label, point.cost, point.quality, INK if point.best else MUTED) for point in points])
    return figure
