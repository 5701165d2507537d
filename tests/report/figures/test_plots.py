import itertools
import math

import pytest
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.text import Text

from workbench.measures.statistics.intervals import Interval
from workbench.report.canvas import IntervalRow, canvas, means_drawing, spanned
from workbench.report.render.html import inline_svg
from workbench.report.topics.retrieval.costs import Point, frontier_drawing
from workbench.report.topics.retrieval.curves import recall_drawing
from workbench.report.topics.run.configurations import lengths_drawing


def test_names_in_the_figure_do_not_overlap() -> None:
    points = [Point(f"fixed-{number}-0", 10.0**number, 0.5 + 0.001 * (number % 3), number != 4, number == 2) for number in range(12)]
    figure = frontier_drawing(points, "span_recall@2000t", "p50, ms")
    figure.canvas.draw()
    boxes = sorted((Text.get_window_extent(text) for text in figure.axes[0].texts), key=lambda box: box.y0)
    assert len(boxes) == 12
    # The letters' own height, without the room for what hangs below the line.
    assert all(lower.y1 <= upper.y0 + 0.2 * lower.height for lower, upper in itertools.pairwise(boxes))


def test_a_small_difference_does_not_fill_an_axis_and_no_share_is_drawn_far_below_zero() -> None:
    for limits in ((0.80, 0.82), (0.01, 0.05), (-0.5, -0.45), (0.0, 1.0)):
        low, high = spanned(limits, limits[1])
        assert high - low >= 0.3 - 1e-9
        assert low <= limits[0]
        assert high >= limits[1]
        assert limits[0] < 0 or low >= -0.02


def labels(axis: Axis) -> list[Text]:
    """Return the drawn labels of an axis, major and minor ones, from its start."""
    low, high = sorted(axis.get_view_interval())
    ticks = [
        tick for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()) if low <= tick.get_loc() <= high and tick.label1.get_text()
    ]
    return [tick.label1 for tick in sorted(ticks, key=lambda tick: float(tick.get_loc()))]


@pytest.mark.parametrize(("least", "most"), [(0.24, 6.4), (0.001, 0.03), (3, 900), (20, 450), (1, 100_000)])
def test_costs_of_a_logarithmic_axis_are_labelled_without_overlaps(least: float, most: float) -> None:
    costs = (least, math.sqrt(least * most), most)
    figure = frontier_drawing([Point("", cost, 0.5, True, True) for cost in costs], "recall@5", "index, MB")
    figure.canvas.draw()
    shown = labels(figure.axes[0].xaxis)
    boxes = [Text.get_window_extent(label) for label in shown]
    assert len(shown) >= 3
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(boxes))
    assert all("mathdefault" not in label.get_text() for label in shown)


def test_no_tick_of_a_share_is_above_1() -> None:
    one = Interval(1.0, math.nan, math.nan, 1, 1)
    whole, good = Point("", 1, 1.0, True, True), Point("", 2, 0.97, True, False)
    drawn: list[tuple[Axes, str]] = [
        (means_drawing([IntervalRow("a", one, False)], "recall@5", 2).axes[0], "xaxis"),
        (frontier_drawing([whole, good], "recall@5", "MB").axes[0], "yaxis"),
        (recall_drawing([500, 1000], [("a", [1.0, 1.0])]).axes[0], "yaxis"),
    ]
    for axes, name in drawn:
        axis = getattr(axes, name)
        axes.figure.canvas.draw()
        assert axis.get_view_interval()[1] == pytest.approx(1.02)
        assert max(float(label.get_text()) for label in labels(axis)) <= 1
    # A value above 1 is no share.
    assert spanned((0.9, 1.3), 1.2)[1] == 1.3


def test_lengths_beyond_the_window_are_drawn_apart() -> None:
    figure = lengths_drawing([10, 20, 60], [5, 3, 1], 48)
    inside, beyond = figure.axes[0].containers
    assert sum(bar.get_height() for bar in inside) == 8
    assert sum(bar.get_height() for bar in beyond) == 1


def test_names_with_dollars_are_no_formulas() -> None:
    figure = frontier_drawing([Point("a$b$", 1, 0.5, True, True), Point("$", 2, 0.6, True, True)], "recall@5", "ms")
    figure.canvas.draw()
    assert canvas(2)[0].get_figwidth() == figure.get_figwidth()


def test_a_matplotlibrc_of_the_working_directory_does_not_style_figures() -> None:
    with rc_context({"text.usetex": True, "font.size": 40, "axes.facecolor": "red"}):
        figure = lengths_drawing([10, 20, 60], [5, 3, 1], 48)
        drawn = inline_svg(figure, "lengths", "Lengths")
    assert not figure.axes[0].xaxis.label.get_usetex()
    assert figure.axes[0].get_facecolor() == (1, 1, 1, 1)
    assert "<text" in drawn
