"""The primary metric against the costs of each configuration."""

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.text.formatting import amount, count, listed, plural, shortened
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import COSTS, DRIFT, TIMES, Cost, CostedConfiguration, separated, timings_of
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
from workbench.report.cells import amount_cell, count_cell, described, key_of, value_cell, words
from workbench.report.model import Block, Cell, Column, Columns, Figure, Row, Table
from workbench.report.sentences import defined, time_text
from workbench.report.topics.topic import COMPARED, Topic, question

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


_MOST_COSTS = 2
# The first two of these that differ between configurations are plotted.
_DRAWN: tuple[Cost, ...] = ("encoded", "delivered", "index", "p50")
OVERLAP = f"where two ranges overlap or are at most {DRIFT} times apart, no difference is shown."
_TIME: Cost = "p50"
_LEAST: dict[Cost, str] = {
    "p50": "takes the least time per question",
    "delivered": "delivers the least text",
    "index": "has the smallest index",
    "encoded": "has the fewest tokens to encode",
}
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
    """Plot the primary metric against up to two costs that differ, then tabulate all costs."""
    differ = [cost for cost in _DRAWN if _differs(findings, cost)]
    drawn = [figure for cost in differ[:_MOST_COSTS] if (figure := frontier_figure(findings, cost))]
    return [*([Columns(drawn)] if drawn else []), costs_table(findings)]


def _differs(findings: Findings, cost: Cost) -> bool:
    """Check that two configurations are shown to differ in a cost."""
    ranges = {priced.ranges[cost] for priced in findings.priced if not math.isnan(priced.costs[cost])}
    return any(separated(cost, one, other) for one, other in itertools.combinations(ranges, 2))


def costs_table(findings: Findings) -> Table:
    """Tabulate all costs of all configurations."""
    columns = [words("configuration"), Column("chunks"), *(Column(f"{kind.label}, {kind.unit}") for kind in COSTS.values())]
    columns.append(Column("encoding, s", note="one measurement"))
    rows = []
    for costed in findings.priced:
        timed = timings_of(findings, costed.name)
        # This run encoded nothing.
        cached = costed.costs["encoded"] > 0 and not timed.get("tokens_encoded")
        seconds = Cell("from the cache", sort=math.nan) if cached else amount_cell(timed.get("seconds_vectors", math.nan))
        chunks = count_cell(findings.facts[costed.name]["chunks"])
        rows.append(Row([Cell(costed.name), chunks, *(_cost_cell(costed, cost) for cost in COSTS), seconds]))
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


def frontier_figure(findings: Findings, cost: Cost) -> Figure | None:
    """Plot the primary metric against a cost. Returns None if fewer than two configurations have both."""
    kind, metric = COSTS[cost], str(findings.primary)
    points = [
        Point(priced.name, priced.costs[cost], priced.quality.value, priced.ranked, cost in priced.frontier, *priced.ranges[cost])
        for priced in findings.priced
    ]
    known = [point for point in points if not np.isnan(point.cost + point.quality)]
    if len(known) < 2:
        return None
    short = shortened([point.label for point in known if point.best or len(known) <= MOST_NAMES], NAME_LENGTH)
    drawing = frontier_drawing([point._replace(label=short.get(point.label, "")) for point in known], metric, f"{kind.label}, {kind.unit}")
    columns = [words("configuration"), Column(f"{kind.label}, {kind.unit}"), Column(metric), words("on the frontier")]
    cells = {priced.name: _cost_cell(priced, cost) for priced in findings.priced}
    marks = [("yes" if point.best else "no") if point.ranked else "not ranked" for point in known]
    rows = [
        Row([Cell(point.label), cells[point.label], value_cell(point.quality), Cell(mark)])
        for point, mark in zip(known, marks, strict=True)
    ]
    data = Table(f"{metric} against {kind.label}", columns, rows)
    dearer = "are shown to take longer" if cost in TIMES else "cost more"
    caption = f"Solid points: only configurations that {dearer} score higher ({listed([point.label for point in known if point.best])})."
    caption += f" Lines are the ranges of the times: {OVERLAP}" if cost in TIMES else ""
    caption += " Only these are named; the table has the numbers of all." if len(known) > MOST_NAMES else ""
    caption += "" if all(point.ranked for point in known) else " Crosses are not ranked."
    caption += " The frontier orders means; it does not say that they differ."
    return Figure(f"frontier-{cost}", described(data), caption, drawing, data, key_of(short))


def cost(findings: Findings) -> tuple[str, str]:
    """State the costs of the leader, and of the members of the tie set that cost less."""
    first = findings.price(findings.first.name) if findings.first else None
    if first is None or findings.verdict is None:
        return "No configuration can be ranked, so no cost is given.", ""
    meaning = " ".join(defined(COSTS[cost]) for cost in COSTS if cost != "p95")
    sentence = f"{first.name} costs {_priced(findings, first)}"
    if findings.cheaper:
        priced = {costed.name: _priced(findings, costed) for costed in findings.priced}
        members = [f"{name} {listed([_LEAST[cost] for cost in costs])}: {priced[name]}" for name, costs in findings.cheaper.items()]
        return f"{sentence}. Statistically indistinguishable from it, {'; '.join(members)}.", meaning
    least = findings.conclusive and len(findings.verdict.best) > 1
    shown = "; no other configuration of the tie set is shown to cost less, per question, to store or to encode" if least else ""
    return f"{sentence}{shown}.", meaning


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
    if not np.isnan(costed.costs[_TIME]):
        prices.append(time_text(costed.costs[_TIME], costed.ranges[_TIME], " ms per question"))
    return listed(prices)


costs = Topic(
    "costs",
    "Quality and cost",
    "Cost",
    compute,
    render,
    anchor="costs-section",
    views=COMPARED,
    questions=(question(4, "What does it cost?", cost),),
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
