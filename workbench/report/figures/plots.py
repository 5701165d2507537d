"""Figures: one plain look, colours that differ in lightness and shape too, letters large enough for a telephone."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.size_grid import Grid
from workbench.analysis.standings import Mean
from workbench.report.render.display import WIDTH_INCHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, FAINT, ACCENT, WARNING = "#1b1f24", "#57606a", "#d0d7de", "#0b5cad", "#b1440e"
# Dark enough on white for lines; neighbours differ in lightness, and every line has its marker.
LINES = ("#0b5cad", "#b1440e", "#00795a", "#8e4585", "#1b1f24", "#7a6200", "#3a86c8", "#c2507a")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
_DASHES = ("-", "--", ":")
_POINTS = 8.5
_LEAST_SPAN = 0.3
# From this factor between the least and the largest on costs are drawn by their logarithm.
_DECADES = 20


def forest(rows: Sequence[tuple[str, Mean]], title: str) -> "Figure":
    """A row for each configuration: its mean as a point, its interval as a line, both in numbers at the right."""
    figure, axes = canvas(0.75 + 0.3 * len(rows))
    for place, (_, mean) in enumerate(rows):
        axes.plot([mean.low, mean.high], [place, place], color=ACCENT, linewidth=1.6, solid_capstyle="butt")
        axes.plot([mean.value], [place], marker="o", markersize=5, color=ACCENT)
        axes.annotate(
            mean.text(2),
            (1, place),
            (6, 0),
            ("axes fraction", "data"),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=_POINTS,
        )
    axes.set_xlim(*spanned(axes.get_xlim()))
    name_rows(axes, [name for name, _ in rows], title)
    return figure


def name_rows(axes: "Axes", names: Sequence[str], title: str) -> None:
    """A row a name, from the top; `title` is that of the axis below."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=FAINT, linewidth=0.6)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(title)


def curves(budgets: Sequence[int], recalls: Mapping[str, Sequence[float]]) -> "Figure":
    """Recall of evidence against delivered tokens, every line named at its end."""
    figure, axes = canvas(max(2.9, 1.1 + 0.2 * len(recalls)))
    for place, (name, values) in enumerate(recalls.items()):
        look: dict[str, Any] = {"color": LINES[place % len(LINES)], "linestyle": _DASHES[place // len(LINES) % len(_DASHES)]}
        axes.plot(budgets, values, marker=_MARKERS[place % len(_MARKERS)], markersize=4, linewidth=1.3, label=name, **look)
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_ylim(*spanned(axes.get_ylim()))
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel("tokens of delivered text")
    axes.set_ylabel("share of the evidence delivered")
    colours = {name: LINES[place % len(LINES)] for place, name in enumerate(recalls)}
    name_ends(axes, {name: (budgets[-1], values[-1]) for name, values in recalls.items()}, colours)
    return figure


def heatmap(grid: Grid, metric: str) -> "Figure":
    """A metric by size and overlap, every cell with its number; cells that were not run stay empty."""
    values = np.array([[grid.cells.get((size, overlap), np.nan) for size in grid.sizes] for overlap in grid.overlaps])
    figure, axes = canvas(1.0 + 0.42 * len(grid.overlaps))
    # Colours span 0.2 at least: a small difference must not look like a large one.
    middle = (float(np.nanmin(values)) + float(np.nanmax(values))) / 2
    half = max(0.1, float(np.nanmax(values)) - middle)
    axes.imshow(values, cmap="cividis", aspect="auto", vmin=middle - half, vmax=middle + half)
    for row, column in np.argwhere(~np.isnan(values)):
        value = values[row, column]
        colour = "white" if value < middle + 0.2 * half else "black"
        axes.annotate(f"{value:.2f}", (column, row), ha="center", va="center", fontsize=_POINTS, color=colour)
    axes.set_xticks(range(len(grid.sizes)), [f"{size:,}" for size in grid.sizes])
    axes.set_yticks(range(len(grid.overlaps)), [f"{overlap:,}" for overlap in grid.overlaps])
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel("size in tokens")
    axes.set_ylabel("overlap")
    # A dollar in a model's path would begin a formula.
    axes.set_title(f"{metric}, {grid.title}".replace("$", r"\$"), loc="left", fontsize=_POINTS, color=INK)
    return figure


class Point(NamedTuple):
    """A configuration by its cost and its quality; `best` if no other has as much for less, not `ranked` where its value says nothing."""

    name: str
    cost: float
    quality: float
    ranked: bool
    best: bool


def frontier(points: Sequence[Point], quality: str, cost: str) -> "Figure":
    """Quality against cost, names at the right: what no other beats is filled, what others beat is hollow, what is not ranked a cross."""
    figure, axes = canvas(max(2.9, 1.1 + 0.2 * len(points)))
    best = sorted((point.cost, point.quality) for point in points if point.best)
    axes.plot([x for x, _ in best], [y for _, y in best], color=ACCENT, linewidth=1, linestyle=":")
    for point in points:
        look: dict[str, Any] = {"marker": "o", "markerfacecolor": ACCENT if point.best else "white"} if point.ranked else {"marker": "x"}
        axes.plot([point.cost], [point.quality], color=ACCENT if point.best else MUTED, linestyle="", markersize=5, **look)
    costs = [point.cost for point in points]
    if min(costs) > 0 and max(costs) > _DECADES * min(costs):
        axes.set_xscale("log")
    else:
        axes.locator_params(axis="x", nbins=4)
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_ylim(*spanned(axes.get_ylim()))
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_xlabel(cost)
    axes.set_ylabel(quality)
    places = {point.name: (point.cost, point.quality) for point in points}
    name_ends(axes, places, {point.name: INK if point.best else MUTED for point in points})
    return figure


def lengths(tokens: Sequence[int], window: int | None) -> "Figure":
    """How many chunks have how many tokens, against what the embedder sees; None where it sees all, or there is none."""
    numbers = np.asarray(tokens)
    figure, axes = canvas(2.3)
    longest = int(numbers.max(initial=1))
    if window is None:
        axes.hist(numbers, bins=np.arange(-0.5, longest + 1.5, max(1, round(longest / 40))).tolist(), color=ACCENT)
        axes.set_xlabel("tokens of a chunk")
    else:
        _against_window(axes, numbers, max(longest, window), window)
    axes.set_ylabel("chunks")
    axes.locator_params(axis="y", integer=True)
    return figure


def _against_window(axes: "Axes", numbers: "NDArray[np.int64]", longest: int, window: int) -> None:
    # The window lies between two bars: what fills it exactly is still seen.
    step, border = max(1, round(longest / 40)), window + 0.5
    inner = [*np.arange(border, 0, -step)[::-1], *np.arange(border, longest + step, step)[1:]]
    edges = [inner[0] - step, *inner, inner[-1] + step]
    axes.hist(numbers[numbers <= window], bins=edges, color=ACCENT)
    axes.hist(numbers[numbers > window], bins=edges, color="white", edgecolor=WARNING, hatch="////", linewidth=0.8)
    axes.axvline(border, color=WARNING, linewidth=1.2, linestyle="--")
    right = window < 0.6 * edges[-1]
    offset, side = ((4, 0), "left") if right else ((-4, 0), "right")
    note: dict[str, Any] = {"textcoords": "offset points", "ha": side, "va": "top", "color": WARNING, "fontsize": _POINTS}
    axes.annotate(f"window {window:,}", (border, 0.97), offset, ("data", "axes fraction"), **note)
    axes.set_xlabel("tokens of the embedder's input")


def spanned(limits: tuple[float, float]) -> tuple[float, float]:
    """Limits at least 0.3 apart: a small difference must not look like a large one."""
    low, high = limits
    missing = max(0.0, _LEAST_SPAN - (high - low))
    return low - 0.9 * missing, high + 0.1 * missing


def canvas(height: float) -> "tuple[Figure, Axes]":
    """An empty figure in the plain look, so many inches high."""
    # Not through pyplot: its global state and the kernel's inline display are of no use here.
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with rc_context({"font.size": _POINTS, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(WIDTH_INCHES, height), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.08), facecolor="white")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(MUTED)
    axes.tick_params(colors=MUTED, labelcolor=INK, labelsize=_POINTS)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set_color(MUTED)
        axis.label.set_fontsize(_POINTS)
    return figure, axes


def name_ends(axes: Any, ends: Mapping[str, tuple[float, float]], colours: Mapping[str, str]) -> None:
    """The names of points in a column at the right, in the order of their heights and far enough apart, joined to them by hair lines."""
    names = sorted((name for name in ends if not np.isnan(ends[name][1])), key=lambda name: ends[name][1])
    low, high = axes.get_ylim()
    heights = _apart([(ends[name][1] - low) / (high - low) for name in names], 1 / max(9.0, 1.05 * len(names)))
    for name, height in zip(names, heights, strict=True):
        arrow = {"arrowstyle": "-", "color": FAINT, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 4, "relpos": (0, 0.5)}
        place = {"textcoords": "axes fraction", "va": "center", "arrowprops": arrow}
        axes.annotate(name, ends[name], (1.05, height), color=colours[name], fontsize=_POINTS, **place)


def _apart(wanted: Sequence[float], gap: float) -> list[float]:
    """Rising places at least `gap` from each other, as near to those wanted as pushing up and then down leaves them."""
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + gap) if places else place)
    ceiling = 1.0
    for index in range(len(places) - 1, -1, -1):
        places[index] = min(places[index], ceiling)
        ceiling = places[index] - gap
    return places
