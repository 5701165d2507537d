"""All metrics of answers by condition, judged ones among them, and what each loses."""

import math

from workbench.analysis.answers.condition_scores import answer_score, condition_mean
from workbench.analysis.answers.decomposition_table import decomposition_of
from workbench.analysis.missing_values import reasons_without
from workbench.context.conditions import CONDITIONS, GOLD_DISTRACTORS, RETRIEVED
from workbench.metrics.judged.registry import JUDGED_KINDS
from workbench.report.cells import mean_cell, words
from workbench.report.model import Cell, Column, Row, Table
from workbench.report.sections.answers.loss_cells import loss_cell
from workbench.report.text.sentences import not_scored
from workbench.results.run_tables import Measure, RunTables

_LOSSES = "Losses against the evidence alone on the same questions, each metric by itself: the intervals of one metric hold for all its losses at once."


def metrics_table(run: RunTables, configuration: str) -> Table | None:
    """Tabulate the metrics beside the answer score by condition. None if there is no other."""
    known = {measure: _means(run, configuration, measure) for measure in _others(run)}
    rows = {measure: means for measure, means in known.items() if any(means.values())}
    present = [condition for condition in CONDITIONS if any(means.get(condition) for means in rows.values())]
    columns = [words("metric"), *(Column(condition.replace("_", " "), note="95 % interval") for condition in present)]
    cells = [
        Row([_name(measure), *(means.get(condition) or Cell("–", sort=math.nan) for condition in present)])
        for measure, means in rows.items()
    ]
    missing = {str(measure): reasons_without(run, str(measure), configuration) for measure in known if measure not in rows}
    return Table(f"Other metrics of the answers of {configuration} by condition", columns, cells, not_scored(missing)) if rows else None


def judged_losses_table(run: RunTables, configuration: str) -> Table | None:
    """Tabulate what judged metrics lose. None without one that has a score with the evidence alone."""
    judged = [measure for measure in _others(run) if measure.name in JUDGED_KINDS and measure.higher_is_better]
    found = {str(measure): parts for measure in judged if (parts := decomposition_of(run, configuration, str(measure)))}
    columns = [words("metric"), Column("evidence alone", note="95 % interval"), Column("retrieval loss", note="simultaneous")]
    columns += [Column("distractor loss", note="simultaneous"), Column("remains lost", note="95 % interval")]
    rows = []
    for name, parts in found.items():
        losses = [loss_cell(parts.loss(condition)) for condition in (RETRIEVED, GOLD_DISTRACTORS)]
        rows.append(
            Row([Cell(name), mean_cell(parts.gold), *losses, mean_cell(parts.remaining) if parts.remaining else Cell("–", sort=math.nan)])
        )
    return Table(f"Where {configuration} loses by judged metrics", columns, rows, _LOSSES) if rows else None


def _others(run: RunTables) -> list[Measure]:
    score = answer_score(run)
    return [measure for measure in run.measures.values() if measure.family == "answers" and measure != score]


def _means(run: RunTables, configuration: str, measure: Measure) -> dict[str, Cell | None]:
    means = {condition: condition_mean(run, configuration, str(measure), condition) for condition in CONDITIONS}
    return {condition: mean_cell(mean) if mean and mean.n else None for condition, mean in means.items()}


def _name(measure: Measure) -> Cell:
    return Cell(str(measure), note="" if measure.higher_is_better else "lower is better")
