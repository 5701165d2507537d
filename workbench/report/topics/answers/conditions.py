"""The answer score in each condition, and the losses between conditions."""

import math
from collections.abc import Mapping, Sequence

from workbench.components.context.conditions import CONDITIONS, GOLD_DISTRACTORS, RETRIEVED
from workbench.core.text.formatting import count, listed, plural, share, shortened
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.answer_values import (
    ConditionScore,
    answer_score,
    answering,
    condition_mean,
    condition_scores,
    reasons_without,
)
from workbench.report.analysis.decision import shown_first
from workbench.report.analysis.decomposition import REMAINING, Decomposition, Loss, decomposition_of
from workbench.report.analysis.findings import Findings
from workbench.report.answer_sentences import MEANINGS, QUESTION, hold_answer
from workbench.report.cells import (
    NAME_LENGTH,
    UNKNOWN,
    Scale,
    count_cell,
    digits_for,
    gap_cell,
    key_of,
    mean_cell,
    text,
    value_cell,
    words,
)
from workbench.report.model import Block, Cell, Collapsible, Column, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import not_scored
from workbench.report.topics.topic import Topic

_MOST_REASONS = 4
_NOTE = (
    "Means over the scored questions with 95 % intervals clustered by source document. Without the evidence in the context (none, missing_gold, irrelevant_only) "
    "a low score is expected and a refusal is right."
)
_LOSSES = (
    "A loss is the score with the evidence alone minus that in the condition on the same questions; the intervals of a configuration hold for all its losses. A "
    "refused answer to the evidence alone hides a loss, so it is also given on the questions that are answered from the evidence alone. Shown: the loss that the "
    "questions show with 80 % power."
)
_REMAINS = f"What remains is 1 minus the score with the evidence alone: {REMAINING}. The closed-book share is the score without passages, which is no loss."
_JUDGED_LOSSES = "Losses against the evidence alone on the same questions, each metric by itself: the intervals of one metric hold for all its losses at once."


def compute(findings: Findings) -> tuple[RunTables, tuple[str, ...]] | None:
    """Return the configurations that answer, the one shown first. None for a run without answers."""
    names = shown_first(findings, answering(findings))
    return (findings, names) if names else None


def render(values: tuple[RunTables, tuple[str, ...]]) -> list[Block]:
    """Say how the answers of the first configuration depend on the context, show its scores and losses, and collapse all others."""
    run, names = values
    measure, first = answer_score(run), names[0]
    parts = {name: decomposition for name in names if (decomposition := decomposition_of(run, name))}
    blocks: list[Block] = [Prose(hold_answer(run, first).sentence), condition_table(run, first)]
    if first in parts and any(not loss.comparison.identical for loss in parts[first].losses):
        blocks.append(Collapsible(f"What {first} loses by retrieval, distractors and attacks", [losses_table(parts[first])]))
    every: list[Block] = [_map(run, names, measure)] if measure and len(names) > 1 else []
    every += [decomposition_table(run, parts)] if len(parts) > 1 else []
    blocks.append(Collapsible("Every configuration by condition, and questions without a score", [*every, reasons_table(run, first)]))
    others = [table for table in (metrics_table(run, first), judged_losses_table(run, first)) if table]
    return blocks + ([Collapsible(f"Other metrics of the answers of {first}", others)] if others else [])


def condition_table(run: RunTables, configuration: str) -> Table:
    """Tabulate one configuration by condition: its answer score, refusals, and scored questions."""
    rows, measure = condition_scores(run, configuration), answer_score(run)
    scale = Scale.around(row.mean for row in rows if row.mean)
    columns = [words("reads"), *([Column(str(measure), note="95 % interval"), scale.column()] if measure else [])]
    columns += [Column("refused", note="share of the answers"), Column("scored", note="of the questions")]
    cells = []
    for row in rows:
        score = [mean_cell(row.mean), scale.cell(row.mean)] if row.mean and row.mean.n else [UNKNOWN, Cell("")]
        scored = row.mean.n if row.mean else 0
        counted = Cell(f"{count(scored)} of {count(len(run.questions))}", sort=float(scored))
        cells.append(Row([Cell(MEANINGS[row.condition], note=row.condition), *(score if measure else []), mean_cell(row.refused), counted]))
    meaning = f" {measure}: {measure.meaning}." if measure else ""
    return Table(f"{configuration} by what its answers are made of", columns, cells, f"{_NOTE}{meaning}")


def decomposition_table(run: RunTables, parts: Mapping[str, Decomposition]) -> Table:
    """Tabulate the answer score with the evidence alone, the losses, and what remains, of each configuration."""
    metric = next(iter(parts.values())).metric
    columns = [words("configuration"), Column("evidence alone", note="95 % interval"), Column("retrieved", note="95 % interval")]
    for loss in ("retrieval loss", "distractor loss"):
        columns += [Column(loss, note="simultaneous"), Column("not refused", note="with the evidence alone")]
    columns += [Column("remains lost", note=REMAINING), Column("closed book", note="95 % interval")]
    rows = []
    for name, each in parts.items():
        retrieved = condition_mean(run, name, metric, RETRIEVED)
        both = [each.loss(condition) for condition in (RETRIEVED, GOLD_DISTRACTORS)]
        losses = [cell for loss in both for cell in (loss_cell(loss), answered_cell(loss))]
        means = [mean_cell(mean) for mean in (retrieved, each.remaining, each.closed_book)]
        rows.append(Row([Cell(name), mean_cell(each.gold), means[0], *losses, *means[1:]]))
    return Table(f"Where {metric} is lost", columns, rows, _REMAINS)


def losses_table(parts: Decomposition) -> Table:
    """Tabulate the losses of a configuration with simultaneous intervals, on all questions and on those answered from the evidence alone."""
    shown = [loss for loss in parts.losses if not loss.comparison.identical]
    same = [loss.name for loss in parts.losses if loss.comparison.identical]
    scale = Scale.around((loss.simultaneous for loss in shown), zero=True)
    columns = [
        words("loss through"),
        Column(f"loss of {parts.metric}", note="simultaneous"),
        scale.column(),
        Column("shown", note="80 % power"),
    ]
    columns += [Column("refused", note="evidence alone"), Column("refused", note="condition"), Column("questions")]
    columns += [Column("not refused", note="with the evidence alone"), Column("questions")]
    rows = []
    for loss in shown:
        refused = [value_cell(each.share, shown=share(each.refused, each.of)) for each in (loss.alone, loss.refused)]
        compared = loss.answered.comparison.difference.n if loss.answered else 0
        bar = scale.cell(loss.simultaneous, zero=True)
        cells = [Cell(loss.name), loss_cell(loss), bar, value_cell(loss.detectable), *refused, count_cell(loss.difference.n)]
        rows.append(Row([*cells, answered_cell(loss), count_cell(compared)]))
    return Table(
        f"What {parts.configuration} loses against the evidence alone",
        columns,
        rows,
        f"{_LOSSES}{f' The same score on every question: {listed(same, 12)}.' if same else ''}",
    )


def reasons_text(row: ConditionScore) -> str:
    """Count the missing answers, and the questions without such a context or to which the score does not apply, by reason."""
    counts = (*row.inapplicable.items(), *row.unscored.items())
    apart = [f"{reason} ({plural(many, 'question')})" for reason, many in counts]
    failed = [f"{reason} ({plural(many, 'answer')})" for reason, many in row.failed.items()]
    reasons = [*failed, *apart]
    more = f"; {len(reasons) - _MOST_REASONS} more reasons" if len(reasons) > _MOST_REASONS else ""
    return f"{'; '.join(reasons[:_MOST_REASONS])}{more}" or "–"


def reasons_table(run: RunTables, configuration: str) -> Table:
    """Tabulate the questions of a configuration without a score, with the reasons, by condition."""
    columns = [words("condition"), Column("asked", note="questions"), Column("scored", note="questions"), text("not scored")]
    rows = []
    for row in condition_scores(run, configuration):
        counts = [count_cell(row.asked), count_cell(row.mean.n if row.mean else 0)]
        rows.append(Row([Cell(row.condition), *counts, Cell(reasons_text(row))]))
    note = "The reasons of every configuration are in queries.parquet."
    return Table(f"Questions of {configuration} without a score", columns, rows, note)


def _map(run: RunTables, names: Sequence[str], measure: Metric) -> Table:
    present = [condition for condition in CONDITIONS if condition in run.manifest["conditions"]]
    means = {name: [condition_mean(run, name, str(measure), condition) for condition in present] for name in names}
    values = {name: [mean.value if mean else math.nan for mean in row] for name, row in means.items()}
    known = [value for row in values.values() for value in row]
    scale, digits, short = Scale.over(known), digits_for(known), shortened(names, NAME_LENGTH)
    columns = [words("configuration"), *(Column(condition.replace("_", " "), "shade") for condition in present)]
    rows = [Row([Cell(short[name]), *scale.shades(values[name], digits)]) for name in names]
    return Table(f"{measure} of every configuration by condition; stronger colours are higher", columns, rows, key=key_of(short))


def metrics_table(run: RunTables, configuration: str) -> Table | None:
    """Tabulate the metrics beside the answer score by condition. None if there is no other."""
    rows: dict[Metric, dict[str, Cell]] = {}
    for measure in _others(run):
        means = {condition: condition_mean(run, configuration, str(measure), condition) for condition in CONDITIONS}
        rows[measure] = {condition: mean_cell(mean) for condition, mean in means.items() if mean and mean.n}
    present = [condition for condition in CONDITIONS if any(condition in cells for cells in rows.values())]
    columns = [words("metric"), *(Column(condition.replace("_", " "), note="95 % interval") for condition in present)]
    cells = []
    for measure, by_condition in rows.items():
        name = Cell(str(measure), note="" if measure.higher_is_better else "lower is better")
        cells += [Row([name, *(by_condition.get(condition, UNKNOWN) for condition in present)])] if by_condition else []
    missing = {
        str(measure): reasons_without(run, str(measure), configuration) for measure, by_condition in rows.items() if not by_condition
    }
    return Table(f"Other metrics of the answers of {configuration} by condition", columns, cells, not_scored(missing)) if cells else None


def judged_losses_table(run: RunTables, configuration: str) -> Table | None:
    """Tabulate what judged metrics lose. None without one that has a score with the evidence alone."""
    judged = [measure for measure in _others(run) if measure.judged and measure.higher_is_better]
    by_metric = {str(measure): parts for measure in judged if (parts := decomposition_of(run, configuration, str(measure)))}
    columns = [words("metric"), Column("evidence alone", note="95 % interval"), Column("retrieval loss", note="simultaneous")]
    columns += [Column("distractor loss", note="simultaneous"), Column("remains lost", note="95 % interval")]
    rows = []
    for name, parts in by_metric.items():
        losses = [loss_cell(parts.loss(condition)) for condition in (RETRIEVED, GOLD_DISTRACTORS)]
        rows.append(Row([Cell(name), mean_cell(parts.gold), *losses, mean_cell(parts.remaining)]))
    return Table(f"Where {configuration} loses by judged metrics", columns, rows, _JUDGED_LOSSES) if rows else None


def _others(run: RunTables) -> list[Metric]:
    score = answer_score(run)
    return [measure for measure in run.measures.values() if measure.of_answers and measure != score]


def loss_cell(loss: Loss | None) -> Cell:
    """A loss with its simultaneous interval, or a dash for None."""
    if loss is not None and loss.comparison.identical:
        return value_cell(0.0, note="equal on all")
    return gap_cell(loss.simultaneous if loss else None)


def answered_cell(loss: Loss | None) -> Cell:
    """The loss on the questions without a refused answer to the evidence alone, or a dash without them."""
    if loss is None or loss.answered is None:
        return gap_cell(None)
    if loss.answered.comparison.identical:
        return value_cell(0.0, note="equal on all")
    return gap_cell(loss.answered.comparison.simultaneous)


conditions = Topic("answers", QUESTION, "Answers", compute, render, chapter="answers")
