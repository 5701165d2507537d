"""Figures of judged answers: causes of failures by configuration, and a judge's scores against labels. Callers shorten names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.formatting import count, share
from workbench.report.figures.canvas import FAINT, INK, LINES, MUTED, PAPER, POINTS, canvas, name_rows, own_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The causes that have a colour; the others are drawn together. Segments have the order of the legend, so that they are known without colour too.
MOST_CAUSES = len(LINES)
_COLOURS = (*LINES, MUTED)
# The least width of the axis, and of a segment with its number inside, as shares of the axis.
_LEAST_WIDTH, _NUMBERED = 0.3, 0.05
_LEGEND_COLUMNS, _LEGEND_ROW = 3, 0.2


class FailureBar(NamedTuple):
    """The failed of `of` answers of a configuration: a number for each cause, in the order of the legend."""

    name: str
    counts: Sequence[int]
    of: int


@own_style()
def causes(bars: Sequence[FailureBar], names: Sequence[str]) -> "Figure":
    """Stack the shares of failed answers by cause in a row for each configuration, with the numbers of answers inside."""
    legend = -(-len(names) // _LEGEND_COLUMNS) * _LEGEND_ROW
    figure, (axes,) = canvas(0.75 + 0.26 * len(bars) + legend)
    longest = max((sum(bar.counts) / bar.of for bar in bars if bar.of), default=0.0)
    width = min(1.0, max(_LEAST_WIDTH, longest))
    for place, bar in enumerate(bars):
        _stack(axes, place, bar, width)
    handles = [axes.barh([0], [0], color=_COLOURS[number], label=name) for number, name in enumerate(names)]
    axes.set_xlim(0, width)
    axes.locator_params(axis="x", nbins=5)
    name_rows(axes, [bar.name for bar in bars], "share of the answers that fail")
    axes.set_axisbelow(True)
    # A legend fills column by column, and is read row by row.
    by_column = [handle for column in range(_LEGEND_COLUMNS) for handle in handles[column::_LEGEND_COLUMNS]]
    figure.legend(handles=by_column, loc="outside upper left", ncols=_LEGEND_COLUMNS, frameon=False, fontsize=POINTS, handlelength=1.2)
    return figure


def _stack(axes: "Axes", place: int, bar: FailureBar, width: float) -> None:
    start = 0.0
    for number, many in enumerate(bar.counts):
        part = many / bar.of if bar.of else 0.0
        axes.barh([place], [part], left=start, height=0.72, color=_COLOURS[number], edgecolor=PAPER, linewidth=0.8)
        if part > _NUMBERED * width:
            axes.text(start + part / 2, place, count(many), ha="center", va="center", color=PAPER, fontsize=POINTS)
        start += part
    shown = share(sum(bar.counts), bar.of) if bar.of else "–"
    axes.annotate(shown, (1, place), (6, 0), ("axes fraction", "data"), textcoords="offset points", va="center", color=INK, fontsize=POINTS)


class CalibrationPoint(NamedTuple):
    """Labelled items with similar scores: their mean score, the share that a person labelled as good with its interval, and their number."""

    score: float
    share: float
    low: float
    high: float
    n: int


@own_style()
def calibration(curves: Sequence[tuple[str, Sequence[CalibrationPoint]]]) -> "Figure":
    """Plot the share that people labelled as good against the judge's score. On the dashed line, scores are probabilities."""
    figure, (axes,) = canvas(3.4)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle="--", zorder=1)
    markers = ("o", "s", "^", "D")
    for place, (label, bins) in enumerate(curves[: len(LINES)]):
        colour = LINES[place]
        for each in bins:
            axes.plot([each.score] * 2, [each.low, each.high], color=colour, linewidth=1)
        scores, shares = [each.score for each in bins], [each.share for each in bins]
        axes.plot(scores, shares, color=colour, linewidth=1.4, marker=markers[place], markersize=4.5, label=label)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_xlabel("score of the judge")
    axes.set_ylabel("share labelled as good")
    if len(curves) > 1:
        figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=POINTS)
    return figure
