import itertools

from matplotlib import rc_context
from matplotlib.text import Text

from workbench.report.figures.canvas import canvas, spanned
from workbench.report.figures.plots import Point, frontier, lengths
from workbench.report.render.svg import inline_svg


def test_names_in_the_figure_do_not_overlap() -> None:
    points = [Point(f"fixed-{number}-0", 10.0**number, 0.5 + 0.001 * (number % 3), number != 4, number == 2) for number in range(12)]
    figure = frontier(points, "span_recall@2000t", "p50, ms")
    figure.canvas.draw()
    boxes = sorted((Text.get_window_extent(text) for text in figure.axes[0].texts), key=lambda box: box.y0)
    assert len(boxes) == 12
    # The letters' own height, without the room for what hangs below the line.
    assert all(lower.y1 <= upper.y0 + 0.2 * lower.height for lower, upper in itertools.pairwise(boxes))


def test_a_small_difference_does_not_fill_an_axis_and_no_share_is_drawn_far_below_zero() -> None:
    for limits in ((0.80, 0.82), (0.01, 0.05), (-0.5, -0.45), (0.0, 1.0)):
        low, high = spanned(limits)
        assert high - low >= 0.3 - 1e-9
        assert low <= limits[0]
        assert high >= limits[1]
        assert limits[0] < 0 or low >= -0.02


def test_lengths_beyond_the_window_are_drawn_apart() -> None:
    figure = lengths([10, 20, 60], [5, 3, 1], 48)
    inside, beyond = figure.axes[0].containers
    assert sum(bar.get_height() for bar in inside) == 8
    assert sum(bar.get_height() for bar in beyond) == 1


def test_names_with_dollars_are_no_formulas() -> None:
    figure = frontier([Point("a$b$", 1, 0.5, True, True), Point("$", 2, 0.6, True, True)], "recall@5", "ms")
    figure.canvas.draw()
    assert canvas(2)[0].get_figwidth() == figure.get_figwidth()


def test_a_matplotlibrc_of_the_working_directory_does_not_style_figures() -> None:
    with rc_context({"text.usetex": True, "font.size": 40, "axes.facecolor": "red"}):
        figure = lengths([10, 20, 60], [5, 3, 1], 48)
        drawn = inline_svg(figure, "lengths", "Lengths")
    assert not figure.axes[0].xaxis.label.get_usetex()
    assert figure.axes[0].get_facecolor() == (1, 1, 1, 1)
    assert "<text" in drawn
