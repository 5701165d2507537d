"""Exploratory metrics: those beside the primary one, and the ranking at a fixed number of chunks."""

from workbench.analysis.findings import Findings
from workbench.analysis.standings import Standing, difference
from workbench.core.formatting import plural
from workbench.report.cells import count_cell, difference_cells, mean_cell, value_cell, words
from workbench.report.model import Block, Cell, Column, Prose, Row, Section, Table
from workbench.report.text.sentences import context_sentence
from workbench.results.run_tables import Measure

_OF_TEXT = ("spans", "hits", "chunks")


def exploratory(found: Findings) -> Section | None:
    """Both tables; None without either."""
    blocks = [*other_metrics(found), *fixed_k(found)]
    return Section("Exploratory: other metrics", "exploratory", blocks, "Other metrics") if blocks else None


def other_metrics(found: Findings) -> list[Block]:
    """The leader and the configuration it is compared with by every metric but the primary one, untested."""
    first, other = found.first, found.other
    metrics = [metric for metric in found.run.measures.values() if str(metric) != str(found.primary)]
    if first is None or other is None or not metrics:
        return []
    columns = [words("metric"), Column(first.name), Column(other.name), Column("difference"), Column("95 % interval", sorts=False)]
    caption = "Exploratory: intervals are of each difference by itself, nothing is tested or corrected"
    rows = [_explored(found, metric, first, other) for metric in metrics]
    return [Table(caption, [*columns, Column("questions")], rows)]


def fixed_k(found: Findings) -> list[Block]:
    """The ranking at a fixed number of chunks, which is not an equal amount of text."""
    metrics = [metric for metric in found.run.measures.values() if metric.family in _OF_TEXT and metric.k is not None]
    if not metrics or not found.standings.ranked:
        return []
    columns = [words("configuration"), Column(str(metrics[0]), note="95 % interval"), *(Column(str(metric)) for metric in metrics[1:])]
    rows = []
    for standing in found.standings.by(metrics[0]):
        first, *others = (standing.means[str(metric)] for metric in metrics)
        cells = [value_cell(mean.value, shown=mean.of_attainable) for mean in others]
        rows.append(Row([Cell(standing.name), mean_cell(first), *cells, count_cell(standing.facts["delivered_tokens"])]))
    k = plural(found.standings.ranked[0].facts["k"], "chunk")
    caption = f"Exploratory: by {metrics[0]}; delivered tokens are those of all {k} that retrieval delivers"
    table = Table(caption, [*columns, Column("delivered tokens")], rows)
    return [Prose(context_sentence(found.standings.ranked)), table]


def _explored(found: Findings, metric: Measure, first: Standing, other: Standing) -> Row:
    name = str(metric)
    apart = difference(found.run, name, first.name, other.name)
    values = [value_cell(first.means[name].value), value_cell(other.means[name].value)]
    return Row([Cell(name), *values, *difference_cells(apart), count_cell(apart.n if apart else 0)])
