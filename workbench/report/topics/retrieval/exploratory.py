"""Exploratory metrics other than the primary one, and the ranking at a fixed number of chunks."""

import math

from workbench.core.text.formatting import number
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.answer_values import reasons_without
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.standings import difference
from workbench.report.cells import count_cell, difference_cells, mean_cell, value_cell, words
from workbench.report.model import Block, Cell, Column, Prose, Row, Table
from workbench.report.sentences import context_sentence, first_chunks, not_scored
from workbench.report.topics.topic import COMPARED, Topic

_OF_TEXT = ("spans", "hits", "chunks")


def render(findings: Findings) -> list[Block]:
    """Compare the leader with another configuration by all other metrics, and rank by a fixed number of chunks."""
    return [*other_metrics(findings), *fixed_k(findings)]


def compute(findings: Findings) -> Findings | None:
    """Return the findings. None if the run has no metric beside the primary one, and none of text at a fixed number of chunks."""
    return findings if _compared(findings) or _fixed(findings) else None


def _compared(findings: Findings) -> list[str]:
    """The metrics beside the primary one that both the leader and the other configuration have."""
    first, comparator = findings.first, findings.comparator
    if first is None or comparator is None:
        return []
    # Without answers a configuration has no metrics of answers, and some apply in other conditions only.
    shared = [name for name in findings.measures if name in first.means and name in comparator.means]
    return [name for name in shared if name != str(findings.primary)]


def _fixed(findings: Findings) -> list[Metric]:
    """The metrics of text at a fixed number of chunks."""
    metrics = [metric for metric in findings.measures.values() if metric.family in _OF_TEXT and metric.k is not None]
    return metrics if findings.standings.ranked else []


def other_metrics(findings: Findings) -> list[Block]:
    """Compare the leader with the other configuration by every metric but the primary one, without tests."""
    first, comparator = findings.first, findings.comparator
    metrics = _compared(findings)
    if first is None or comparator is None or not metrics:
        return []
    columns = [words("metric"), Column(first.name), Column(comparator.name), Column("difference"), Column("95 % interval", sorts=False)]
    caption = "Exploratory: intervals are of each difference by itself, nothing is tested or corrected"
    rows, missing = [], dict[str, str]()
    for name in metrics:
        gap = difference(findings, name, first.name, comparator.name)
        if gap is None:
            without = next((each.name for each in (first, comparator) if not each.means[name].n), first.name)
            missing[name] = reasons_without(findings, name, without) or "no question has a value of both"
            continue
        values = [value_cell(standing.means[name].value) for standing in (first, comparator)]
        rows.append(Row([Cell(name), *values, *difference_cells(gap), count_cell(gap.n)]))
    return [Table(caption, [*columns, Column("questions")], rows, not_scored(missing))]


def fixed_k(findings: Findings) -> list[Block]:
    """Rank by a fixed number of chunks, which is not an equal amount of text."""
    metrics = _fixed(findings)
    if not metrics:
        return []
    columns = [words("configuration"), Column(str(metrics[0]), note="95 % interval"), *(Column(str(metric)) for metric in metrics[1:])]
    rows = []
    for standing in findings.standings.by(metrics[0]):
        first, *others = (standing.means[str(metric)] for metric in metrics)
        of = ["" if math.isnan(mean.attainable) else f" of {number(mean.attainable)}" for mean in others]
        cells = [value_cell(mean.value, shown=f"{number(mean.value)}{most}") for mean, most in zip(others, of, strict=True)]
        rows.append(Row([Cell(standing.name), mean_cell(first), *cells, count_cell(standing.facts["k_tokens"])]))
    caption = f"Exploratory: by {metrics[0]}; tokens are those of {first_chunks(findings.standings.ranked)}"
    table = Table(caption, [*columns, Column("tokens")], rows)
    return [Prose(context_sentence(findings.standings.ranked)), table]


exploratory = Topic(
    "exploratory", "Exploratory: other metrics", "Other metrics", compute, render, views=COMPARED, missing="The run has no other metric."
)
