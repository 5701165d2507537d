"""What the judges of a run may be called, how they were measured, and means that labels correct."""

import math
from collections.abc import Sequence

from workbench.analysis.findings import Findings
from workbench.analysis.judging.corrected_scores import CorrectedScore, corrected_differences, corrected_means
from workbench.analysis.judging.judge_trust import JudgeTrust, judge_trust
from workbench.core.formatting import count, interval, share, signed
from workbench.report.cells import count_cell, mean_cell, text, value_cell, words
from workbench.report.model import Block, Cell, Column, Fold, Lines, Prose, Row, Section, Table
from workbench.report.sections.answers.long_tables import opened
from workbench.report.text.judges import measured_text, overlap_sentences, task_text, trust_sentence, warnings
from workbench.results.run_tables import RunTables

TITLE = "What may the judges be called?"
_READING = (
    "Each judge is tested on known answers: AUROC is the probability that a good one scores higher than a bad one, always yes the share of the more frequent "
    "of yes and no, and repeatable the share that is judged equally when asked again. Below an AUROC of 0.65, or with over 90 % equal answers, a judge "
    "is a score, which feeds no metric named faithfulness. Known answers are easier than answers of this run: only labels of this run measure a judge here."
)
_CORRECTED = (
    "Corrected means are estimated from labels of this run and the judgements of all its items, with 95 % intervals. The target says whether they are about "
    "these items, or about the population of questions and documents that they come from."
)
_TARGETS = {"items": "these items", "population": "population"}
_SAMPLE = "Without labels of this run no mean is corrected: workbench judge sample draws items to label, and workbench judge calibrate reads the labels."


def judges(findings: Findings) -> Section | None:
    """Show the judges of a run with their badges, warnings, and corrected means. Returns None for a run without judges."""
    run = findings.run
    if not judge_trust(run):
        return None
    found = warnings(run)
    blocks: list[Block] = [Lines(found)] if found else []
    return Section(TITLE, "judges", [*blocks, *role_blocks(run), *corrected_blocks(run)], "Judges")


def role_blocks(run: RunTables) -> list[Block]:
    """Show what each judge may be called, its self-test, and the measured error of the default."""
    found = judge_trust(run)
    return [Lines([trust_sentence(each) for each in found]), judges_table(found), *map(Prose, overlap_sentences(run))]


def judges_table(found: Sequence[JudgeTrust]) -> Table:
    """Tabulate the judges: what they may be called, their test on known answers, and how they were measured."""
    columns = [words("task"), words("judge"), words("may be called"), words("measured"), Column("AUROC", note="known answers")]
    columns += [
        Column("always yes", note="known answers"),
        Column("repeatable", note="known answers"),
        Column("known answers", note="as expected"),
    ]
    columns += [Column("not judged", note="items of this run"), text("why a score")]
    return Table("Judges of this run", columns, [_row(each) for each in found], _READING)


def corrected_blocks(run: RunTables) -> list[Block]:
    """Show corrected means beside uncorrected ones, and corrected differences; or how to get labels."""
    means, differences = corrected_means(run), corrected_differences(run)
    if not means and not differences:
        return [Prose(_SAMPLE)]
    blocks: list[Block] = [block for table in ([_means(means)] if means else []) for block in opened(table)]
    return [*blocks, *([Fold("Corrected differences between configurations", [_differences(differences)])] if differences else [])]


def _row(trust: JudgeTrust) -> Row:
    tested = [
        value_cell(value, 2) if not math.isnan(value) else Cell("–", sort=math.nan)
        for value in (trust.auroc, trust.always_yes, trust.repeatability)
    ]
    failed = f", {count(trust.untested)} not scored" if trust.untested else ""
    of = trust.passed + trust.failed + trust.untested
    passed = (
        Cell(f"{count(trust.passed)} of {count(of)}", float(trust.passed), note=failed.removeprefix(", "))
        if of
        else Cell("not tested", sort=math.nan)
    )
    missing = (
        Cell(f"{count(trust.unscored)} of {count(trust.judged)}", float(trust.unscored), note=share(trust.unscored, trust.judged))
        if trust.judged
        else Cell("–", sort=math.nan)
    )
    names = [Cell(task_text(trust.task)), Cell(trust.judge), Cell(trust.role), Cell(measured_text(trust))]
    return Row([*names, *tested, passed, missing, Cell(trust.reason or "–")])


def _means(found: Sequence[CorrectedScore]) -> Table:
    columns = [
        words("configuration"),
        words("metric"),
        Column("by the judge", note="95 % interval"),
        Column("corrected", note="95 % interval"),
    ]
    columns += [Column("labels"), Column("questions"), words("target"), words("method")]
    rows = [
        Row(
            [
                Cell(each.configuration),
                Cell(each.metric),
                mean_cell(each.uncorrected) if each.uncorrected else Cell("–", sort=math.nan),
                value_cell(each.value, note=_bounds(each)),
                *_basis(each),
            ]
        )
        for each in found
    ]
    return Table("Means corrected by labels", columns, rows, _CORRECTED)


def _differences(found: Sequence[CorrectedScore]) -> Table:
    columns = [
        words("configuration"),
        words("minus"),
        words("metric"),
        Column("corrected difference", note="95 % interval"),
        Column("labels"),
    ]
    columns += [Column("questions"), words("target"), words("method")]
    rows = [
        Row(
            [
                Cell(each.configuration),
                Cell(each.other),
                Cell(each.metric),
                value_cell(each.value, shown=signed(each.value), note=_bounds(each)),
                *_basis(each),
            ]
        )
        for each in found
    ]
    return Table("Differences corrected by labels of both on the same questions", columns, rows)


def _bounds(score: CorrectedScore) -> str:
    return interval(score.low, score.high) if not math.isnan(score.low) else "too few documents for an interval"


def _basis(score: CorrectedScore) -> list[Cell]:
    return [count_cell(score.labels), count_cell(score.n), Cell(_TARGETS.get(score.target, score.target)), Cell(score.method)]
