"""Why answers fail: the causes of each configuration, the most frequent first."""

import math
from collections.abc import Sequence

from workbench.analysis.answers.answered import answering
from workbench.analysis.answers.causes import FailureCauses, answer_cause_meanings
from workbench.analysis.findings import Findings
from workbench.analysis.judging.failures import failed_share, failures_by_condition, failures_of
from workbench.attribution.causes import CAUSE_NAMES
from workbench.core.formatting import capitalised, count, share, shortened
from workbench.report.cells import count_cell, described, key_of, text, value_cell, words
from workbench.report.figures import judging_plots
from workbench.report.figures.canvas import NAME_LENGTH
from workbench.report.model import Block, Cell, Collapsible, Column, Figure, Lines, Prose, Row, Section, Table
from workbench.report.sections.answers.long_tables import opened
from workbench.report.text.judging import WHY, cause_sentences, decided_by, failure_sentence
from workbench.results.run_tables import RunTables

_OTHER = "other causes"
_READING = (
    "Every failed answer has one cause. If several apply, the one of the earliest layer counts, from indexing to the answer, because later layers can only "
    "work with what earlier ones deliver."
)
_CAPTION = (
    "Failed answers to retrieved contexts by cause, as shares of all answers. The segments are in the order of the legend, the most frequent cause of the "
    "run first, with the number of answers inside and the share of all failed answers on the right."
)


def answer_failures(findings: Findings) -> Section | None:
    """Show why answers fail. Returns None for a run whose answers were not examined."""
    run = findings.run
    found = [failures for name in answering(run) if (failures := failures_of(run, name))]
    if not found:
        return None
    first = found[0]
    blocks: list[Block] = [Prose(failure_sentence(run, first))]
    if any(each.failed for each in found):
        sentences = cause_sentences(run, first)
        blocks += [Lines(sentences)] if sentences else []
        blocks += [Prose(f"{_READING}{decided_by(run)}"), causes_figure(found), *opened(causes_table(run, found))]
    conditions = failures_by_condition(run, first.configuration)
    if len(conditions) > 1 and any(each.failed for each in conditions):
        blocks.append(Collapsible(f"Causes of {first.configuration} by condition", [_by_condition(run, conditions)]))
    return Section(WHY, "answer-causes", blocks, "Causes")


def causes_figure(found: Sequence[FailureCauses]) -> Figure:
    """Plot the shares of failed answers by cause of every configuration."""
    order = _order(found)
    named = order[: judging_plots.MOST_CAUSES] if len(order) > judging_plots.MOST_CAUSES + 1 else order
    rest = [cause for cause in order if cause not in named]
    short = shortened([each.configuration for each in found], NAME_LENGTH)
    bars = [judging_plots.FailureBar(short[each.configuration], _counts(each, named, rest), each.given) for each in found]
    columns = [words("configuration"), *(Column(cause) for cause in [*named, *([_OTHER] if rest else [])]), Column("answers")]
    rows = [Row([Cell(each.configuration), *map(count_cell, _counts(each, named, rest)), count_cell(each.given)]) for each in found]
    table = Table("Failed answers by cause", columns, rows)
    also = f" Other causes are {', '.join(rest)}." if rest else ""
    drawing = judging_plots.causes(bars, [*named, *([_OTHER] if rest else [])])
    return Figure("answer-causes", described(table), f"{_CAPTION}{also}", drawing, table, key_of(short))


def causes_table(run: RunTables, found: Sequence[FailureCauses]) -> Table:
    """Tabulate the causes of every configuration: numbers of answers and their shares."""
    order, meanings = _order(found), answer_cause_meanings(run)
    columns = [words("configuration"), Column("failed", note="95 % interval"), *(Column(cause, note="answers") for cause in order)]
    rows = [Row([Cell(each.configuration), _failed_cell(run, each), *(_cause_cell(each, cause) for cause in order)]) for each in found]
    # The sentences above the table have the meanings of the first configuration's causes.
    explained = {each.cause.name for each in found[0].causes}
    note = "; ".join(f"{cause}: {meanings[cause]}" for cause in order if cause not in explained)
    return Table("Causes of failed answers to retrieved contexts", columns, rows, f"{capitalised(note)}." if note else "")


def _by_condition(run: RunTables, found: Sequence[FailureCauses]) -> Table:
    order, meanings = _order(found), answer_cause_meanings(run)
    columns = [
        words("cause"),
        *(Column(each.condition.replace("_", " "), note=f"n = {count(each.given)}") for each in found),
        text("meaning"),
    ]
    rows = [Row([Cell(cause), *(_cause_cell(each, cause) for each in found), Cell(meanings[cause])]) for cause in order]
    return Table("Failed answers by cause and condition", columns, rows)


def _order(found: Sequence[FailureCauses]) -> list[str]:
    """The causes of all configurations, the most frequent first."""
    counts = {cause: sum(_many(each, cause) for each in found) for cause in CAUSE_NAMES}
    return sorted((cause for cause in CAUSE_NAMES if counts[cause]), key=lambda cause: -counts[cause])


def _counts(failures: FailureCauses, named: Sequence[str], rest: Sequence[str]) -> list[int]:
    others = [sum(_many(failures, cause) for cause in rest)] if rest else []
    return [*(_many(failures, cause) for cause in named), *others]


def _many(failures: FailureCauses, cause: str) -> int:
    return next((each.answers for each in failures.causes if each.cause.name == cause), 0)


def _failed_cell(run: RunTables, failures: FailureCauses) -> Cell:
    interval = failed_share(run, failures)
    if interval is None:
        return Cell("–", sort=math.nan, note="no answers")
    of = f"{interval.bounds()}, {count(failures.failed)} of {count(failures.given)}"
    return value_cell(failures.failed / failures.given, shown=share(failures.failed, failures.given), note=of)


def _cause_cell(failures: FailureCauses, cause: str) -> Cell:
    many = _many(failures, cause)
    if not failures.given:
        return Cell("–", sort=math.nan)
    return Cell(count(many), sort=float(many), note=share(many, failures.given) if many else "")
