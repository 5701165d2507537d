"""Plot a metric over the runs of a history."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from workbench.report.figures.canvas import ACCENT, FAINT, INK, MUTED, POINTS, WARNING, WIDTH_INCHES, canvas, own_style, plain, spanned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from workbench.statistics.change_points import Levels

_DATES = 5
_FEW = 25
_INTERVAL = "#a9b6c4"
# The greatest width of a letter at this font size, in inches, and the height of a row, in points.
_LETTER = 0.072
_ROW_POINTS = 11


@dataclass(frozen=True)
class Trend:
    """One configuration's runs: `rows` of `changes` with the run's number `place`, and `marks` (place, changed fingerprints)."""

    name: str
    rows: pd.DataFrame
    marks: Sequence[tuple[int, str]]
    levels: "Levels"


@own_style()
def trends_drawing(shown: Sequence[Trend], metric: str, dates: Sequence[tuple[int, str]]) -> "Drawing":
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
