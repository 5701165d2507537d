"""Figures of answers: risk against coverage. Callers shorten names."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.metrics.coverage import Floats
from workbench.report.figures.canvas import FAINT, LINES, MUTED, End, canvas, name_ends, own_style, plain, spanned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DASHES = ("-", "--", "-.", ":")


@own_style()
def risk(curves: Sequence[tuple[str, Floats, Floats]], title: str) -> "Figure":
    """Plot the risk against the coverage of each curve (label, coverage, risk). Curves without a label are faint."""
    figure, (axes,) = canvas(2.9)
    ends = []
    for place, (label, coverage, risks) in reversed(list(enumerate(curves))):
        look: dict[str, Any] = {"color": FAINT, "linewidth": 1, "zorder": 1}
        if label:
            look = {"color": LINES[place % len(LINES)], "linestyle": _DASHES[place % len(_DASHES)], "linewidth": 1.6}
        # A single threshold is a point.
        axes.plot(coverage, risks, marker="o" if len(coverage) == 1 else "", markersize=4.5, **look)
        ends.append(End(label, float(coverage[-1]), float(risks[-1]), LINES[place % len(LINES)] if label else MUTED))
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(*spanned(axes.get_ylim(), axes.dataLim.y1))
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_xlabel("coverage: share of questions answered")
    axes.set_ylabel(plain(title))
    name_ends(axes, ends)
    return figure
