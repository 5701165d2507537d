"""The style of all figures: colours that also differ in lightness, and text that is legible on a phone."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.text.formatting import number, signed
from workbench.measures.statistics.intervals import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.figure import Figure as Drawing

INK, MUTED, FAINT, ACCENT, WARNING, PAPER = "#1b1f24", "#57606a", "#d0d7de", "#0b5cad", "#b1440e", "#ffffff"

# Dark enough for lines on white. Neighbours differ in lightness, and lines also differ in markers and dashes.
LINES = (ACCENT, WARNING, "#00795a", "#8e4585")

POINTS = 8.5

# At this width the text is still legible on a phone, which shows the figure 360 pixels wide.
WIDTH_INCHES = 4.8

# Names are cut to this many letters to leave room for the data.
NAME_LENGTH = 26

# With more points or lines than this, only the important ones are named. The table below the figure names the others.
MOST_NAMES = 12

_LEAST_SPAN = 0.3

# The end of an axis for shares: a point at 1 is drawn whole, and no tick is above 1.
_ABOVE_SHARES = 1.02


@contextmanager
def own_style() -> Iterator[None]:
    """Use Workbench's style instead of that of a matplotlibrc, which may be in the working directory."""
    # Imported here because only figures need it.
    from matplotlib import rc_context, rcdefaults

    with rc_context():
        rcdefaults()
        with rc_context({"font.size": POINTS, "font.family": "DejaVu Sans"}):
            yield


def canvas(height: float, panels: Sequence[float] = (1,)) -> "tuple[Figure, list[Axes]]":
    """Make an empty figure `height` inches high with stacked panels of these relative heights."""
    # Avoid pyplot with its global state and the kernel's inline display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(WIDTH_INCHES, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08), facecolor="white")
    FigureCanvasAgg(figure)
    axes = list(figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False, height_ratios=panels)[:, 0])
    for panel in axes:
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
        for side in ("left", "bottom"):
            panel.spines[side].set_color(MUTED)
        panel.tick_params(colors=MUTED, labelcolor=INK, labelsize=POINTS)
        for axis in (panel.xaxis, panel.yaxis):
            axis.label.set_color(MUTED)
            axis.label.set_fontsize(POINTS)
    return figure, axes


def plain(text: str) -> str:
    """Escape a name for matplotlib, which reads a dollar as the start of a formula."""
    return text.replace("$", r"\$")


def name_rows(axes: "Axes", names: Sequence[str], title: str) -> None:
    """Label the rows from the top with these names, and the axis below with `title`."""
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(plain(title))


class End(NamedTuple):
    """A point or the end of a line, with its name. An empty `label` is not drawn."""

    label: str
    x: float
    y: float
    colour: str


def name_ends(axes: "Axes", ends: Sequence[End]) -> None:
    """Write the names of points in a column on the right without overlaps, joined to the points by hairlines."""
    named = sorted((end for end in ends if end.label and not np.isnan(end.y)), key=lambda end: end.y)
    low, high = axes.get_ylim()
    heights = _apart([(end.y - low) / (high - low) for end in named], 1 / max(9.0, 1.05 * len(named)))
    for end, height in zip(named, heights, strict=True):
        arrow = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 4, "relpos": (0, 0.5)}
        look: dict[str, Any] = {"textcoords": "axes fraction", "va": "center", "arrowprops": arrow}
        axes.annotate(plain(end.label), (end.x, end.y), (1.05, height), color=end.colour, fontsize=POINTS, **look)


def spanned(limits: tuple[float, float], greatest: float) -> tuple[float, float]:
    """Widen limits to at least 0.3, so that a small difference looks small. Limits of shares begin near 0 and end near 1.

    `greatest` is the greatest value that is drawn.
    """
    low, high = limits
    ceiling = _ABOVE_SHARES if greatest <= 1 else np.inf
    floor = -0.02 if low > -0.02 else -np.inf
    high = min(high, ceiling)
    missing = max(0.0, _LEAST_SPAN - (high - low))
    bottom = max(low - 0.9 * missing, floor)
    top = min(high + missing - (low - bottom), ceiling)
    return min(bottom, top - _LEAST_SPAN), top


def _apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Push rising positions up, then down, until they are at least `gap` apart and below 1."""
    positions: list[float] = []
    for position in wanted:
        positions.append(max(position, positions[-1] + gap) if positions else position)
    ceiling = 1.0
    for index in range(len(positions) - 1, -1, -1):
        positions[index] = min(positions[index], ceiling)
        ceiling = positions[index] - gap
    return positions


class IntervalRow(NamedTuple):
    """An estimate with its interval, drawn as a solid point or as a ring."""

    name: str
    estimate: Interval
    solid: bool


@own_style()
def differences_drawing(rows: Sequence[IntervalRow], title: str, digits: int) -> "Drawing":
    """Plot each difference with its interval in a row, as a solid point if significant, else as a ring."""
    figure, axes = _intervals(rows, title, [signed(row.estimate.value, digits) for row in rows], digits)
    axes.axvline(0, color=INK, linewidth=0.8)
    return figure


@own_style()
def means_drawing(rows: Sequence[IntervalRow], title: str, digits: int) -> "Drawing":
    """Plot each mean with its interval in a row, as a solid point in the tie set, else as a ring."""
    known = any(math.isfinite(row.estimate.low) for row in rows)
    title = f"{title} with 95 % intervals" if known else title
    figure, axes = _intervals(rows, title, [number(row.estimate.value, digits) for row in rows], digits)
    axes.set_xlim(*spanned(axes.get_xlim(), axes.dataLim.x1))
    return figure


def _intervals(rows: Sequence[IntervalRow], title: str, values: Sequence[str], digits: int) -> "tuple[Drawing, Axes]":
    figure, (axes,) = canvas(0.75 + 0.24 * len(rows))
    for y, (row, value) in enumerate(zip(rows, values, strict=True)):
        colour = ACCENT if row.solid else MUTED
        axes.plot([row.estimate.low, row.estimate.high], [y, y], color=colour, linewidth=1.5, solid_capstyle="butt")
        axes.plot([row.estimate.value], [y], marker="o", markersize=5, color=colour, markerfacecolor=colour if row.solid else PAPER)
        note: dict[str, Any] = {"textcoords": "offset points", "va": "center", "color": INK, "fontsize": POINTS}
        axes.annotate(f"{value} {row.estimate.bounds(digits)}", (1, y), (6, 0), ("axes fraction", "data"), **note)
    axes.locator_params(axis="x", nbins=4)
    name_rows(axes, [row.name for row in rows], title)
    return figure, axes


def named_height(labels: Iterable[str]) -> float:
    """Return the height in inches of a figure whose lines or points have these labels on the right."""
    return max(2.9, 1.1 + 0.2 * sum(map(bool, labels)))
