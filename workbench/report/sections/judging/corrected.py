"""Means and differences that labels correct, beside those of the judge alone."""

import math
from collections.abc import Sequence

from workbench.analysis.judging.corrected_scores import CorrectedScore, corrected_differences, corrected_means
from workbench.core.formatting import interval, listed, signed
from workbench.report.cells import count_cell, mean_cell, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Row, Table
from workbench.report.sections.answers.long_tables import opened
from workbench.results.run_tables import RunTables

_READING = (
    "Corrected values are estimated from the labels and the judgements of all items, with 95 % intervals. One about these items says what people would "
    "have labelled if they had read all of them; one about the population holds for the questions and documents that those of the run come from. They are "
    "about answers that were judged: refusals are left out, while the mean of the run counts a refusal as 0."
)
_TARGETS = {"items": "these items", "population": "the population"}
_BASIS = [
    *(Column(f"corrected, {title}", note="95 % interval") for title in _TARGETS.values()),
    Column("labels"),
    Column("questions"),
    words("method"),
]


def corrected_blocks(run: RunTables) -> list[Block]:
    """Show corrected means beside uncorrected ones, and corrected differences. Empty without labels."""
    means, differences = corrected_means(run), corrected_differences(run)
    blocks: list[Block] = opened(means_table(means)) if means else []
    return [
        *blocks,
        *([Collapsible("Corrected differences between configurations", [differences_table(differences)])] if differences else []),
    ]


def means_table(scores: Sequence[CorrectedScore]) -> Table:
    """Tabulate means by the judge alone and corrected ones about each target."""
    columns = [words("configuration"), words("metric"), Column("mean of the run", note="by the judge, with refusals"), *_BASIS]
    rows = []
    for group in _groups(scores):
        alone = mean_cell(group[0].uncorrected) if group[0].uncorrected else Cell("–", sort=math.nan)
        rows.append(Row([Cell(group[0].configuration), Cell(group[0].metric), alone, *_basis(group)]))
    return Table("Means corrected by labels", columns, rows, _READING)


def differences_table(scores: Sequence[CorrectedScore]) -> Table:
    """Tabulate corrected differences between configurations about each target."""
    columns = [words("configuration"), words("minus"), words("metric"), *_BASIS]
    rows = [Row([Cell(group[0].configuration), Cell(group[0].other), Cell(group[0].metric), *_basis(group)]) for group in _groups(scores)]
    return Table("Differences corrected by labels of both on the same questions", columns, rows)


def _groups(scores: Sequence[CorrectedScore]) -> list[list[CorrectedScore]]:
    """The values of each mean or difference about every target, in the order of the scores."""
    groups: dict[tuple[str, str, str], list[CorrectedScore]] = {}
    for each in scores:
        groups.setdefault((each.metric, each.configuration, each.other), []).append(each)
    return list(groups.values())


def _basis(group: Sequence[CorrectedScore]) -> list[Cell]:
    known = {each.target: each for each in group}
    values = [_value(known[target]) if target in known else Cell("–", sort=math.nan) for target in _TARGETS]
    return [*values, count_cell(group[0].labels), count_cell(group[0].n), Cell(listed(list(dict.fromkeys(each.method for each in group))))]


def _value(score: CorrectedScore) -> Cell:
    bounds = interval(score.low, score.high) if not math.isnan(score.low) else "too few documents for an interval"
    return value_cell(score.value, shown=signed(score.value) if score.other else None, note=bounds)
