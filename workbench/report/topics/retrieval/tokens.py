"""Recall of evidence by the amount of delivered text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.text.formatting import count, shortened
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.frontier import CURVE, recall_curves
from workbench.report.canvas import FAINT, LINES, MOST_NAMES, MUTED, NAME_LENGTH, End, canvas, name_ends, named_height, own_style, spanned
from workbench.report.cells import described, key_of, value_cell, words
from workbench.report.model import Block, Cell, Column, Figure, Row, Table
from workbench.report.topics.topic import COMPARED, Topic

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


_MARKERS = ("o", "s", "^", "D")
_DASHES = ("-", "--", "-.", ":")
STRONG = len(LINES)


def compute(findings: Findings) -> Mapping[str, Sequence[float]] | None:
    """Return the recall of each configuration at the budgets of `CURVE`. None if the data have no evidence."""
    recalls = recall_curves(findings.standings.ranked)
    return recalls if findings.dataset["needs"] and recalls else None


def render(recalls: Mapping[str, Sequence[float]]) -> list[Block]:
    """Plot recall of evidence against tokens."""
    emphasis = f"The first {STRONG} of the ranking are drawn in colour. " if len(recalls) > STRONG else ""
    emphasis += "Only these are named; the table has the numbers of all. " if len(recalls) > MOST_NAMES else ""
    caption = f"{emphasis}The chunks of every configuration are read by rank up to this many tokens. Where lines cross, the budget decides."
    columns = [words("configuration"), *(Column(f"{count(tokens)} tokens") for tokens in CURVE)]
    rows = [Row([Cell(name), *(value_cell(value) for value in values)]) for name, values in recalls.items()]
    short = shortened(list(recalls)[: STRONG if len(recalls) > MOST_NAMES else None], NAME_LENGTH)
    drawing = recall_drawing(CURVE, [(short.get(name, ""), values) for name, values in recalls.items()])
    data = Table("Share of the evidence delivered", columns, rows)
    return [Figure("curves", described(data), caption, drawing, data, key_of(short))]


def _missing(findings: Findings) -> str:
    evidence = findings.dataset["needs"]
    return "No configuration can be plotted." if evidence else "The data have no evidence, so recall of text is undefined."


curves = Topic("curves", "Evidence against tokens", "Tokens", compute, render, anchor="budgets", views=COMPARED, missing=_missing)


@own_style()
def recall_drawing(budgets: Sequence[int], recalls: Sequence[tuple[str, Sequence[float]]]) -> "Drawing":
    """Plot recall of evidence against delivered tokens by label, and emphasise the first four lines. Empty labels are not drawn."""
    figure, (axes,) = canvas(named_height(label for label, _ in recalls))
    ends = []
    for index, (label, values) in reversed(list(enumerate(recalls))):
        strong = index < STRONG
        look: dict[str, Any] = {"color": FAINT, "linewidth": 1, "zorder": 1}
        if strong:
            look = {"color": LINES[index], "linestyle": _DASHES[index], "marker": _MARKERS[index], "markersize": 4.5, "linewidth": 1.6}
        axes.plot(budgets, values, **look)
        ends.append(End(label, budgets[-1], values[-1], LINES[index] if strong else MUTED))
    axes.set_xscale("log", base=2)
    axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
    axes.minorticks_off()
    axes.set_ylim(*spanned(axes.get_ylim(), axes.dataLim.y1))
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_xlabel("tokens of delivered text")
    axes.set_ylabel("share of the evidence delivered")
    name_ends(axes, ends)
    return figure
