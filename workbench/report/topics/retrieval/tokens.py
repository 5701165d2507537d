"""Recall of evidence by the amount of delivered text."""

from workbench.analysis.findings import Findings
from workbench.analysis.frontier import CURVE, recall_curves
from workbench.core.formatting import count, shortened
from workbench.report.cells import described, key_of, value_cell, words
from workbench.report.figures import plots
from workbench.report.figures.canvas import MOST_NAMES, NAME_LENGTH
from workbench.report.model import Cell, Column, Figure, Row, Section, Table


def curves(findings: Findings) -> Section | None:
    """Plot recall of evidence against tokens. Returns None if the data have no evidence."""
    recalls = recall_curves(findings.standings.ranked)
    if not findings.run.dataset["needs"] or not recalls:
        return None
    emphasis = f"The first {plots.STRONG} of the ranking are drawn in colour. " if len(recalls) > plots.STRONG else ""
    emphasis += "Only these are named; the table has the numbers of all. " if len(recalls) > MOST_NAMES else ""
    caption = f"{emphasis}The chunks of every configuration are read by rank up to this many tokens. Where lines cross, the budget decides."
    columns = [words("configuration"), *(Column(f"{count(tokens)} tokens") for tokens in CURVE)]
    rows = [Row([Cell(name), *(value_cell(value) for value in values)]) for name, values in recalls.items()]
    short = shortened(list(recalls)[: plots.STRONG if len(recalls) > MOST_NAMES else None], NAME_LENGTH)
    drawing = plots.curves(CURVE, [(short.get(name, ""), values) for name, values in recalls.items()])
    data = Table("Share of the evidence delivered", columns, rows)
    figure = Figure("curves", described(data), caption, drawing, data, key_of(short))
    return Section("Evidence against tokens", "budgets", [figure], "Tokens")
