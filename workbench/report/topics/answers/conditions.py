"""The answer score in each condition, and the losses between conditions."""

import math
from collections.abc import Mapping, Sequence

from workbench.components.context.conditions import CONDITIONS, GOLD_DISTRACTORS, RETRIEVED
from workbench.core.text.formatting import listed, plural, share, shortened
from workbench.measures.metrics.names import Metric
from workbench.report.analysis.answer_values import (
    ConditionScore,
    answer_score,
    answering,
    condition_mean,
    condition_scores,
    reasons_without,
)
from workbench.report.analysis.decomposition import REMAINING, Decomposition, Loss, decomposition_of
from workbench.report.analysis.findings import Findings
from workbench.report.answer_sentences import (
    MEANINGS,
    QUESTION,
    detail_sentences,
    does_it_hold,
    hold_answer,
    missing_sentence,
    score_sentences,
)
from workbench.report.canvas import IntervalRow, differences_drawing
from workbench.report.cells import (
    NAME_LENGTH,
    UNKNOWN,
    Scale,
    count_cell,
    described,
    digits_for,
    gap_cell,
    key_of,
    mean_cell,
    opened,
    text,
    value_cell,
    words,
)
from workbench.report.model import Block, Cell, Collapsible, Column, Figure, Lines, Prose, Row, Table
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import not_scored
from workbench.report.topics.answers.costs import cost_sentence
from workbench.report.topics.topic import HeadQuestion, Topic

_MOST_REASONS = 4
_NOTE = (
    "Scores are the means over the scored questions, repeats and perturbations averaged within each question first, with 95 % intervals clustered by source "
    "document. Without the evidence in the context (none, missing_gold, irrelevant_only) a low score is expected and a refusal is right."
)
_SAME = " Conditions score different questions if one does not apply to all; the losses below compare the same questions."
_LOSSES = (
    "A loss is the score with the evidence alone minus that in the condition on the same questions; the intervals of a configuration's losses hold for all of "
    "them at once. A refused answer to the evidence alone hides a loss, so the loss is also given without the questions of such answers, which need not be "
    "like the others. Where the evidence alone is refused more often than the condition, it is no ceiling. "
    f"What remains is 1 minus the score with the evidence alone: {REMAINING}. The closed-book share is the score without passages, which is no loss."
)
_JUDGED_LOSSES = "Losses against the evidence alone on the same questions, each metric by itself: the intervals of one metric hold for all its losses at once."


def compute(findings: Findings) -> tuple[RunTables, tuple[str, ...]] | None:
    """Return the configurations that answer, in the order of the ranking. None for a run without answers."""
    names = answering(findings)
    return (findings, names) if names else None


def render(values: tuple[RunTables, tuple[str, ...]]) -> list[Block]:
    """Show the answer score by condition and its losses."""
    run, names = values
    measure, first = answer_score(run), names[0]
    parts = {name: decomposition for name in names if (decomposition := decomposition_of(run, name))}
    details = detail_sentences(run, parts[first]) if first in parts else []
    blocks: list[Block] = [Prose(hold_answer(run, first).sentence), *([Lines(details)] if details else []), condition_table(run, first)]
    figure = losses_figure(parts[first]) if first in parts else None
    blocks += [figure] if figure else []
    blocks += opened(decomposition_table(run, parts)) if parts else []
    blocks += _folded(run, names, measure)
    others = [table for table in (metrics_table(run, first), judged_losses_table(run, first)) if table]
    return blocks + ([Collapsible(f"Other metrics of the answers of {first}", others)] if others else [])


def lines(values: tuple[RunTables, tuple[str, ...]]) -> list[str]:
    """Summarise the answers of the first configuration for the terminal: scores and losses, missing answers, and costs."""
    run, (first, *_) = values
    return list(filter(None, [" ".join(score_sentences(run, first)), missing_sentence(run, first), cost_sentence(run, first)]))


def condition_table(run: RunTables, configuration: str) -> Table:
    """Tabulate one configuration by condition: its answer score, refusals, questions, and those without a score."""
    rows, measure = condition_scores(run, configuration), answer_score(run)
    scale = Scale.over([bound for row in rows if row.mean for bound in (row.mean.low, row.mean.value, row.mean.high)])
    columns = [words("condition"), *([Column(str(measure), note="95 % interval"), scale.column()] if measure else [])]
    columns += [Column("refused", note="share of the answers"), Column("scored", note="questions"), text("not scored")]
    cells = []
    for row in rows:
        score = [mean_cell(row.mean), scale.cell(row.mean)] if row.mean and row.mean.n else [UNKNOWN, Cell("")]
        name, scored = Cell(row.condition, note=MEANINGS[row.condition]), count_cell(row.mean.n if row.mean else 0)
        cells.append(Row([name, *(score if measure else []), mean_cell(row.refused), scored, Cell(reasons_text(row))]))
    return Table(f"{configuration} by condition", columns, cells, f"{_NOTE}{_SAME if decomposition_of(run, configuration) else ''}")


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
    return Table(f"Where {metric} is lost", columns, rows, _LOSSES)


def losses_figure(parts: Decomposition) -> Figure | None:
    """Plot the losses of a configuration with simultaneous intervals. Solid points are significant. Returns None if no answer changes."""
    shown = [loss for loss in parts.losses if not loss.comparison.identical]
    if not shown:
        return None
    rows = [IntervalRow(loss.name, loss.simultaneous, loss.significant) for loss in shown]
    digits = digits_for(bound for loss in shown for bound in (loss.simultaneous.value, loss.simultaneous.low, loss.simultaneous.high))
    columns = [words("loss through"), Column(f"loss of {parts.metric}", note="simultaneous interval"), Column("shown", note="80 % power")]
    columns += [Column("questions"), Column("refused", note="evidence alone"), Column("refused", note="condition")]
    columns += [Column("not refused", note="with the evidence alone"), Column("shown", note="80 % power"), Column("questions")]
    cells = []
    for loss in parts.losses:
        refused = [value_cell(each.share, shown=share(each.refused, each.of)) for each in (loss.alone, loss.refused)]
        least, compared = (loss.answered.detectable, loss.answered.comparison.difference.n) if loss.answered else (math.nan, 0)
        counts = [value_cell(loss.detectable), count_cell(loss.difference.n), *refused]
        cells.append(Row([Cell(loss.name), loss_cell(loss), *counts, answered_cell(loss), value_cell(least), count_cell(compared)]))
    table = Table(f"Losses of {parts.configuration}", columns, cells)
    same = [loss.name for loss in parts.losses if loss.comparison.identical]
    masked = [loss.name for loss in parts.losses if loss.masked]
    caption = (
        f"The loss of {parts.metric} of {parts.configuration} against the evidence alone, on the same questions. A solid point is a loss after correction for "
        f"all {plural(len(parts.losses), 'loss', 'losses')}; a ring is not shown to be one."
        f"{f' Too small, because the evidence alone is refused more often: {listed(masked)}.' if masked else ''}"
        f"{f' Without any change of the score: {listed(same)}.' if same else ''}"
    )
    drawing = differences_drawing(rows, f"loss of {parts.metric}", digits)
    return Figure("answer-losses", described(table), caption, drawing, table)


def reasons_text(row: ConditionScore) -> str:
    """Count the missing answers, and the questions without such a context or to which the score does not apply, by reason."""
    counts = (*row.inapplicable.items(), *row.unscored.items())
    apart = [f"{reason} ({plural(many, 'question')})" for reason, many in counts]
    failed = [f"{reason} ({plural(many, 'answer')})" for reason, many in row.failed.items()]
    reasons = [*failed, *apart]
    more = f"; {len(reasons) - _MOST_REASONS} more reasons" if len(reasons) > _MOST_REASONS else ""
    return f"{'; '.join(reasons[:_MOST_REASONS])}{more}" or "–"


def _folded(run: RunTables, names: Sequence[str], measure: Metric | None) -> list[Block]:
    if len(names) < 2:
        return []
    columns = [words("configuration"), words("condition"), Column("refused", note="95 % interval"), Column("asked", note="questions")]
    columns += [Column("scored", note="questions"), text("not scored")]
    rows = []
    for row in (each for name in names for each in condition_scores(run, name)):
        counts = [count_cell(row.asked), count_cell(row.mean.n if row.mean else 0)]
        rows.append(Row([Cell(row.configuration), Cell(row.condition), mean_cell(row.refused), *counts, Cell(reasons_text(row))]))
    table = Table("Answers of every configuration and condition", columns, rows)
    shown = [Collapsible("Every configuration by condition", [_map(run, names, measure)])] if measure else []
    return [*shown, Collapsible("Refusals and questions without a score, of every configuration", [table])]


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


conditions = Topic(
    "answers", QUESTION, "Answers", compute, render, lines=lines, questions=(HeadQuestion(3, does_it_hold, every_run=False),)
)
