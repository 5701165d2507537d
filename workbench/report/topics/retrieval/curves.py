"""The share of the evidence that configurations deliver by the number of tokens."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.text.formatting import count, listed, shortened
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import CURVE, recall_curves
from workbench.report.canvas import FAINT, LINES, MOST_NAMES, MUTED, NAME_LENGTH, End, canvas, name_ends, named_height, own_style, spanned
from workbench.report.cells import Scale, opened, words
from workbench.report.model import Block, Cell, Column, Prose, Row, Table
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
    """Name the configuration that delivers most at each budget, and tabulate the recall of evidence of all."""
    scale = Scale.over(value for values in recalls.values() for value in values)
    columns = [words("configuration"), *(Column(f"{count(tokens)} tokens", "shade") for tokens in CURVE)]
    rows = [Row([Cell(name), *scale.shades(values, 3)]) for name, values in recalls.items()]
    budgets: dict[str, list[str]] = {}
    for tokens, values in zip(CURVE, zip(*recalls.values(), strict=True), strict=True):
        most_of_all = [name for name, value in zip(recalls, values, strict=True) if value == max(values)]
        alike = f" and {count(len(most_of_all) - 1)} more alike" if len(most_of_all) > 1 else ""
        budgets.setdefault(f"{most_of_all[0]}{alike}", []).append(count(tokens))
    most = listed([f"{name} at {listed(tokens)} tokens" for name, tokens in budgets.items()])
    sentence = f"Of the configurations, read by rank up to as many tokens, the most evidence on average is delivered by {most}."
    return [Prose(sentence), *opened(Table("Share of the evidence delivered; stronger colours are higher", columns, rows), 3)]


def curves_plot(findings: Findings) -> "Drawing | None":
    """Plot recall of evidence against tokens. Returns None if the data have no evidence."""
    recalls = compute(findings)
    if recalls is None:
        return None
    short = shortened(list(recalls)[: STRONG if len(recalls) > MOST_NAMES else None], NAME_LENGTH)
    return recall_drawing(CURVE, [(short.get(name, ""), values) for name, values in recalls.items()])


def _missing_curves(findings: Findings) -> str:
    evidence = findings.dataset["needs"]
    return "No configuration can be plotted." if evidence else "The data have no evidence, so recall of text is undefined."


curves = Topic("curves", "Evidence against tokens", "Tokens", compute, render, chapter="costs", views=COMPARED, missing=_missing_curves)


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
