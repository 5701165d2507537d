"""The figures of the page: drawn as the notebooks' are, as SVG, each with its numbers as a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from workbench.analysis.findings import ALPHA, Findings
from workbench.analysis.frontier import COSTS, Cost, CostedConfiguration, frontier_told
from workbench.core.formatting import count, interval, listed, number, signed
from workbench.execution.local import CURVE
from workbench.report.figures import plots
from workbench.report.figures.plots import ACCENT, FAINT, INK, LINES, MUTED, canvas, name_ends, name_rows, spanned
from workbench.report.page.svg import inline_svg
from workbench.report.page.table import Cell, Column, Row, Table, p_cell, value_cell
from workbench.statistics.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POINTS = 8.5
_MARKERS = ("o", "s", "^", "D")
_DASHES = ("-", "--", "-.", ":")
_MOST_COSTS = 2
# The first of these that differ between configurations are drawn.
_DRAWN: tuple[Cost, ...] = ("delivered", "p50", "encoded", "index")


@dataclass(frozen=True)
class Drawing:
    """A figure with what it shows in words and its numbers."""

    svg: Markup
    told: str
    data: Table


def differences(found: Findings) -> Drawing | None:
    """Every other configuration minus the reference, on the same questions; None where there is no other."""
    base = found.reference
    pairs = [(one.name, found.against(one.name, base.name)) for one in found.standings.ranked if one is not base] if base else []
    rows = [(name, pair) for name, pair in pairs if pair is not None]
    if base is None or not rows:
        return None
    svg = inline_svg(_differences(rows, f"{found.primary} minus that of {base.name}"), "differences", _differences_told(rows, base.name))
    headings = [
        Column("configuration", "word"),
        Column("difference"),
        Column("95 % interval", sorts=False),
        Column("p"),
        Column("p, corrected"),
    ]
    data = [
        Row(
            [
                Cell(name),
                value_cell(one.difference.value, text=signed(one.difference.value)),
                Cell(interval(one.difference.low, one.difference.high)),
                p_cell(one.p),
                p_cell(one.p_adjusted),
            ]
        )
        for name, one in rows
    ]
    apart = sum(pair.p_adjusted < ALPHA for _, pair in rows)
    told = f"Filled points, {apart} of {len(rows)}, differ after correction for all comparisons; the others may not. Intervals are 95 % each, not corrected."
    return Drawing(svg, told, Table("differences-data", f"{found.primary} minus that of {base.name}", headings, data))


def curves(found: Findings) -> Drawing | None:
    """Recall of evidence as more text is delivered; None without evidence."""
    if not found.dataset.needs or not found.standings.ranked:
        return None
    recalls = {one.name: [one.means[f"span_recall@{tokens}t"].value for tokens in CURVE] for one in found.standings.ranked}
    alt = "; ".join(f"{name} {', '.join(number(value, 2) for value in values)}" for name, values in recalls.items())
    svg = inline_svg(
        _curves(CURVE, recalls), "curves", f"Share of the evidence within {listed([count(one) for one in CURVE])} tokens: {alt}"
    )
    headings = [Column("configuration", "word"), *(Column(f"{count(tokens)} tokens") for tokens in CURVE)]
    data = [Row([Cell(name), *(value_cell(value) for value in values)]) for name, values in recalls.items()]
    emphasis = f"The first {min(4, len(recalls))} in the order are drawn strongly. " if len(recalls) > 4 else ""
    told = (
        f"{emphasis}Every configuration delivers its chunks by rank until so many tokens are there. Where lines cross, the budget decides."
    )
    return Drawing(svg, told, Table("curves-data", "Share of the evidence delivered", headings, data))


def costs(found: Findings) -> list[Drawing]:
    """The primary metric against up to two costs in which configurations differ."""
    differ = [cost for cost in _DRAWN if len({round(one.costs[cost], 6) for one in found.priced if not np.isnan(one.costs[cost])}) > 1]
    return [drawing for cost in differ[:_MOST_COSTS] if (drawing := _frontier(found, cost))]


def costs_sheet(priced: Sequence[CostedConfiguration]) -> Table:
    """All costs of all configurations."""
    headings = [Column("configuration", "word"), *(Column(f"{kind.label}, {kind.unit}") for kind in COSTS.values())]
    rows = [Row([Cell(one.name), *(value_cell(one.costs[cost], text=_amount(one.costs[cost])) for cost in COSTS)]) for one in priced]
    note = " ".join(f"{kind.label[0].upper()}{kind.label[1:]}: {kind.unit} {kind.definition}." for kind in COSTS.values())
    return Table("costs", "What each configuration costs", headings, rows, note)


def _frontier(found: Findings, cost: Cost) -> Drawing | None:
    known = [one for one in found.priced if not np.isnan(one.costs[cost] + one.quality.value)]
    if len(known) < 2:
        return None
    kind = COSTS[cost]
    points = [plots.Point(one.name, one.costs[cost], one.quality.value, one.ranked, cost in one.frontier) for one in known]
    svg = inline_svg(
        plots.frontier(points, str(found.primary), f"{kind.label}, {kind.unit}"),
        f"frontier-{cost}",
        frontier_told(found.priced, found.primary, cost),
    )
    headings = [
        Column("configuration", "word"),
        Column(f"{kind.label}, {kind.unit}"),
        Column(str(found.primary)),
        Column("on the frontier", "word"),
    ]
    data = [
        Row(
            [
                Cell(one.name),
                value_cell(one.costs[cost], text=_amount(one.costs[cost])),
                value_cell(one.quality.value),
                Cell("yes" if cost in one.frontier else "no"),
            ]
        )
        for one in known
    ]
    on = listed([one.name for one in known if cost in one.frontier], 99)
    told = f"No other configuration has as much for less: {on}. The frontier orders means; it does not say that they differ."
    return Drawing(svg, told, Table(f"frontier-{cost}-data", f"{found.primary} against {kind.label}", headings, data))


def _differences(rows: Sequence[tuple[str, Comparison]], title: str) -> "Figure":
    figure, axes = canvas(0.75 + 0.24 * len(rows))
    axes.axvline(0, color=INK, linewidth=0.8)
    for place, (_, one) in enumerate(rows):
        apart, found = one.p_adjusted < ALPHA, one.difference
        colour = ACCENT if apart else MUTED
        axes.plot([found.low, found.high], [place, place], color=colour, linewidth=1.5, solid_capstyle="butt")
        axes.plot([found.value], [place], marker="o", markersize=5, color=colour, markerfacecolor=colour if apart else "white")
        note: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": INK, "fontsize": _POINTS}
        axes.annotate(
            f"{signed(found.value, 2)} {interval(found.low, found.high, 2)}", (1, place), (6, 0), ("axes fraction", "data"), **note
        )
    name_rows(axes, [name for name, _ in rows], title)
    return figure


def _differences_told(rows: Sequence[tuple[str, Comparison]], base: str) -> str:
    told = "; ".join(
        f"{name} {signed(one.difference.value, 2)} {interval(one.difference.low, one.difference.high, 2)}" for name, one in rows
    )
    return f"Differences from {base} with 95 % intervals: {told}"


def _curves(budgets: Sequence[int], recalls: Mapping[str, Sequence[float]]) -> "Figure":
    """The first four drawn strongly, every line named at its end."""
    figure, axes = canvas(max(2.9, 1.1 + 0.2 * len(recalls)))
    colours = {}
    for place, (name, values) in reversed(list(enumerate(recalls.items()))):
        strong = place < len(_MARKERS)
        look: dict[str, Any] = {"color": FAINT, "linewidth": 1, "zorder": 1}
        if strong:
            look = {"color": LINES[place], "linestyle": _DASHES[place], "marker": _MARKERS[place], "markersize": 4.5, "linewidth": 1.6}
        axes.plot(budgets, values, **look)
        colours[name] = INK if strong else MUTED
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_ylim(*spanned(axes.get_ylim()))
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel("tokens of delivered text")
    axes.set_ylabel("share of the evidence delivered")
    name_ends(axes, {name: (budgets[-1], values[-1]) for name, values in recalls.items()}, colours)
    return figure


def _amount(value: float) -> str:
    return number(value, 0 if value >= 100 or value == 0 else 1 if value >= 10 else 2)
