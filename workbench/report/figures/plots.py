"""Figures of a run and of a history: differences, recall, costs, lengths, and a metric over runs. Callers shorten names."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.core.formatting import number, signed
from workbench.report.figures.canvas import (
    ACCENT,
    FAINT,
    INK,
    LINES,
    MUTED,
    PAPER,
    POINTS,
    WARNING,
    WIDTH_INCHES,
    End,
    canvas,
    name_ends,
    name_rows,
    own_style,
    plain,
    spanned,
)
from workbench.statistics.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.statistics.change_points import Levels

_MARKERS = ("o", "s", "^", "D")
_DASHES = ("-", "--", "-.", ":")
STRONG = len(LINES)
# Costs are on a logarithmic axis if the largest is at least this many times the smallest.
_DECADES = 20
# From this ratio on, only the powers of ten are labelled.
_LONG = 500
_DATES = 5
_FEW = 25
_INTERVAL = "#a9b6c4"
# The greatest width of a letter at this font size, in inches, and the height of a row, in points.
_LETTER = 0.072
_ROW_POINTS = 11


class IntervalRow(NamedTuple):
    """An estimate with its interval, drawn as a solid point or as a ring."""

    name: str
    estimate: Interval
    solid: bool


@own_style()
def differences(rows: Sequence[IntervalRow], title: str, digits: int) -> "Figure":
    """Plot each difference with its interval in a row, as a solid point if significant, else as a ring."""
    figure, axes = _intervals(rows, title, [signed(row.estimate.value, digits) for row in rows], digits)
    axes.axvline(0, color=INK, linewidth=0.8)
    return figure


@own_style()
def means(rows: Sequence[IntervalRow], title: str, digits: int) -> "Figure":
    """Plot each mean with its interval in a row, as a solid point in the tie set, else as a ring."""
    known = any(math.isfinite(row.estimate.low) for row in rows)
    title = f"{title} with 95 % intervals" if known else title
    figure, axes = _intervals(rows, title, [number(row.estimate.value, digits) for row in rows], digits)
    axes.set_xlim(*spanned(axes.get_xlim(), axes.dataLim.x1))
    return figure


def _intervals(rows: Sequence[IntervalRow], title: str, values: Sequence[str], digits: int) -> "tuple[Figure, Axes]":
    figure, (axes,) = canvas(0.75 + 0.24 * len(rows))
    for place, (row, value) in enumerate(zip(rows, values, strict=True)):
        colour = ACCENT if row.solid else MUTED
        axes.plot([row.estimate.low, row.estimate.high], [place, place], color=colour, linewidth=1.5, solid_capstyle="butt")
        axes.plot([row.estimate.value], [place], marker="o", markersize=5, color=colour, markerfacecolor=colour if row.solid else PAPER)
        note: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": INK, "fontsize": POINTS}
        axes.annotate(f"{value} {row.estimate.bounds(digits)}", (1, place), (6, 0), ("axes fraction", "data"), **note)
    axes.locator_params(axis="x", nbins=4)
    name_rows(axes, [row.name for row in rows], title)
    return figure, axes


@own_style()
def curves(budgets: Sequence[int], recalls: Sequence[tuple[str, Sequence[float]]]) -> "Figure":
    """Plot recall of evidence against delivered tokens by label, and emphasise the first four lines. Empty labels are not drawn."""
    figure, (axes,) = canvas(_height(label for label, _ in recalls))
    ends = []
    for place, (label, values) in reversed(list(enumerate(recalls))):
        strong = place < STRONG
        look: dict[str, Any] = {"color": FAINT, "linewidth": 1, "zorder": 1}
        if strong:
            look = {"color": LINES[place], "linestyle": _DASHES[place], "marker": _MARKERS[place], "markersize": 4.5, "linewidth": 1.6}
        axes.plot(budgets, values, **look)
        ends.append(End(label, budgets[-1], values[-1], LINES[place] if strong else MUTED))
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_ylim(*spanned(axes.get_ylim(), axes.dataLim.y1))
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel("tokens of delivered text")
    axes.set_ylabel("share of the evidence delivered")
    name_ends(axes, ends)
    return figure


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


@own_style()
def frontier(points: Sequence[Point], quality: str, cost: str) -> "Figure":
    """Plot quality against cost: solid points on the frontier, rings behind it, crosses if not ranked. Empty labels are not drawn."""
    from matplotlib.ticker import LogLocator  # heavy

    figure, (axes,) = canvas(_height(point.label for point in points))
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


@own_style()
def lengths(tokens: Sequence[int], chunks: Sequence[int], window: int | None) -> "Figure":
    """Plot a histogram of chunk lengths, with the embedder's window if it has one."""
    numbers, weights = np.asarray(tokens, dtype=np.int64), np.asarray(chunks, dtype=np.int64)
    figure, (axes,) = canvas(2.3)
    longest = max(int(numbers.max(initial=1)), window or 1)
    # The limit is between two bars, so that a chunk that fills the window exactly is on the left of it.
    step, border = max(1, round(longest / 40)), (window or longest) + 0.5
    inner = [*np.arange(border, 0, -step)[::-1], *np.arange(border, longest + step, step)[1:]]
    edges, fits = [inner[0] - step, *inner, inner[-1] + step], numbers < border
    axes.hist(numbers[fits], bins=edges, weights=weights[fits], color=ACCENT)
    axes.hist(numbers[~fits], bins=edges, weights=weights[~fits], color=PAPER, edgecolor=WARNING, hatch="////", linewidth=0.8)
    axes.set_xlabel("tokens per chunk" if window is None else "tokens of the embedder's input per chunk")
    axes.set_ylabel("number of chunks")
    axes.locator_params(axis="y", integer=True)
    if window is not None:
        axes.axvline(border, color=WARNING, linewidth=1.2, linestyle="--")
        offset, side = ((4, 0), "left") if window < 0.6 * edges[-1] else ((-4, 0), "right")
        note: dict[str, Any] = {"textcoords": "offset points", "ha": side, "va": "top", "color": WARNING, "fontsize": POINTS}
        axes.annotate(f"window {window:,}", (border, 0.97), offset, ("data", "axes fraction"), **note)
    return figure


def _height(labels: Iterable[str]) -> float:
    return max(2.9, 1.1 + 0.2 * sum(map(bool, labels)))


@dataclass(frozen=True)
class Trend:
    """One configuration's runs: `rows` of `changes` with the run's number `place`, and `marks` (place, changed fingerprints)."""

    name: str
    rows: pd.DataFrame
    marks: Sequence[tuple[int, str]]
    levels: "Levels"


@own_style()
def trends(shown: Sequence[Trend], metric: str, dates: Sequence[tuple[int, str]]) -> "Figure":
    """Plot stacked panels on the same axes. `dates` (place, day) are the runs of the experiment, oldest first."""
    first, last = dates[0][0], dates[-1][0]
    rows = [label_rows(trend.marks, first, last) for trend in shown]
    heights = [1.25 + (max(levels.values(), default=-1) + 1) * _ROW_POINTS / 72 for levels in rows]
    figure, panels = canvas(0.5 + sum(heights), heights)
    for axes, trend, placed in zip(panels, shown, rows, strict=True):
        _panel(axes, trend, placed)
    panels[0].set_ylim(*spanned(panels[0].get_ylim(), max(axes.dataLim.y1 for axes in panels)))
    panels[0].set_xlim(first - 0.6, last + 0.6)
    ticks = [dates[place] for place in sorted({round(place) for place in np.linspace(0, len(dates) - 1, _DATES)})]
    panels[-1].set_xticks([place for place, _ in ticks], [f"{place}\n{day}" for place, day in ticks])
    panels[-1].set_xlabel(f"run: {metric} with 95 % intervals")
    return figure


def label_rows(marks: Sequence[tuple[int, str]], first: int, last: int) -> dict[int, int]:
    """Assign each mark's label a row above the panel, 0 the lowest, so that no two overlap."""
    inch = (WIDTH_INCHES - 0.9) / (last - first + 1.2)
    rows: dict[int, int] = {}
    # From right to left, place each label above all that it would overlap, so that no leader line crosses a label.
    for place, text in reversed(marks):
        edge = place + (len(text) + 1) * _LETTER / inch
        rows[place] = 1 + max((row for later, row in rows.items() if later < edge), default=-1)
    return rows


def _panel(axes: "Axes", trend: Trend, placed: dict[int, int]) -> None:
    places, values = trend.rows["place"].to_numpy(), trend.rows["value"].to_numpy()
    few = len(places) <= _FEW
    below, above = values - trend.rows["low"].fillna(trend.rows["value"]), trend.rows["high"].fillna(trend.rows["value"]) - values
    axes.errorbar(places, values, [below.clip(lower=0), above.clip(lower=0)], fmt="none", ecolor=_INTERVAL, elinewidth=2)
    axes.plot(places, values, color=ACCENT, linewidth=1, marker="o", markersize=3.5 if few else 2.2)
    _levels(axes, trend)
    for place, text in trend.marks:
        _mark(axes, place, text, placed[place])
    ring: dict[str, Any] = {"markersize": 8 if few else 5, "markerfacecolor": "none", "markeredgewidth": 1.3 if few else 0.9}
    unexplained = trend.rows[trend.rows["unexplained"]]
    axes.plot(unexplained["place"], unexplained["value"], "o", color=WARNING, **ring)
    rows = max(placed.values(), default=-1) + 1
    axes.set_title(plain(trend.name), loc="left", fontsize=POINTS, color=INK, fontweight="bold", pad=4 + rows * _ROW_POINTS)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.locator_params(axis="y", nbins=4)


def _mark(axes: "Axes", place: int, text: str, row: int) -> None:
    axes.axvline(place - 0.5, color=MUTED, linewidth=0.8, linestyle=(0, (3, 2)))
    height = 3 + row * _ROW_POINTS
    look: dict[str, Any] = {"textcoords": "offset points", "va": "bottom", "color": MUTED, "fontsize": POINTS, "annotation_clip": False}
    if row:
        arrow = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.8, "linestyle": (0, (3, 2)), "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (place - 0.5, 1), (0, height), ("data", "axes fraction"), arrowprops=arrow, **look)
    axes.annotate(text, (place - 0.5, 1), (-1 if not row else 2, height), ("data", "axes fraction"), ha="left", **look)


def _levels(axes: "Axes", trend: Trend) -> None:
    """Draw the mean of each level as a line, and a triangle under the first run of a new level."""
    places = dict(zip(trend.rows["run"], trend.rows["place"], strict=True))
    points = [point for point in trend.levels.points if point.run in places]
    if not points:
        return
    starts = [trend.rows["place"].iloc[0], *(places[point.run] for point in points)]
    ends = [*starts[1:], trend.rows["place"].iloc[-1] + 1]
    for start, end, mean in zip(starts, ends, [points[0].before, *(point.after for point in points)], strict=True):
        axes.plot([start - 0.5, end - 0.5], [mean, mean], color=WARNING, linewidth=1.3)
    axes.plot(starts[1:], [0.04] * len(points), "^", color=WARNING, markersize=6, transform=axes.get_xaxis_transform(), clip_on=False)
