"""What the judges of a run may be called, and how they were measured."""

import math
from collections.abc import Sequence

from workbench.analysis.findings import Findings
from workbench.analysis.judging.judge_trust import JudgeTrust, judge_trust
from workbench.core.formatting import count, share
from workbench.report.cells import value_cell, words
from workbench.report.model import Block, Cell, Column, Lines, Prose, Row, Section, Table, Term, Terms
from workbench.report.sections.judging.calibration import calibration_blocks
from workbench.report.sections.judging.corrected import corrected_blocks
from workbench.report.text.judges import offers, overlap_error, reason_text, task_text, trust_sentence, warnings
from workbench.results.run_tables import RunTables

TITLE = "What may the judges be called?"
_READING = (
    "Each judge is tested on known answers: AUROC is the probability that a good one scores higher than a bad one, always yes the share of the more frequent "
    "of yes and no, and repeatable the share that is judged equally when asked again. Below an AUROC of 0.65, or with over 90 % equal answers, a judge "
    "is a score, which feeds no metric named faithfulness. Known answers are no answers of this run: only labels of this run measure a judge on it."
)


def judges(findings: Findings) -> Section | None:
    """Show the judges of a run with their badges, warnings, and corrected means. Returns None for a run without judges."""
    run = findings.run
    if not judge_trust(run):
        return None
    return Section(TITLE, "judges", [*role_blocks(run), *calibration_blocks(run), *corrected_blocks(run), *offer_blocks(run)], "Judges")


def role_blocks(run: RunTables) -> list[Block]:
    """Show warnings, what each judge may be called, its test, and the measured error of the default."""
    found, warned = judge_trust(run), warnings(run)
    first: list[Block] = [Lines(warned)] if warned else []
    error = overlap_error(run)
    return [*first, Lines([trust_sentence(each) for each in found]), judges_table(found), *([Prose(error)] if error else [])]


def offer_blocks(run: RunTables) -> list[Block]:
    """Show what to do to know more: commands and settings. Empty if nothing is missing."""
    found = [Term("setting" if command.startswith("judging") else "command", command, note, code=True) for command, note in offers(run)]
    return [Prose("To know more:"), Terms(found)] if found else []


def judges_table(found: Sequence[JudgeTrust]) -> Table:
    """Tabulate the judges: what they may be called, their test on known answers, and how they were measured."""
    columns = [words("task"), words("judge"), words("may be called"), words("measured"), Column("AUROC", note="known answers")]
    columns += [
        Column("always yes", note="known answers"),
        Column("repeatable", note="known answers"),
        Column("known answers", note="within their bounds"),
    ]
    columns += [Column("not judged", note="items of this run")]
    return Table("Judges of this run", columns, [_row(each) for each in found], _READING)


def _row(trust: JudgeTrust) -> Row:
    tested = [_known(value) for value in (trust.auroc, trust.always_yes, trust.repeatability)]
    role = Cell(trust.role, note=reason_text(trust))
    # A badge has its figures after a colon.
    names = [Cell(task_text(trust.task)), Cell(trust.judge), role, Cell(trust.badge.partition(":")[0])]
    return Row([*names, *tested, _passed(trust), _unscored(trust)])


def _known(value: float) -> Cell:
    return Cell("–", sort=math.nan) if math.isnan(value) else value_cell(value, 2)


def _passed(trust: JudgeTrust) -> Cell:
    if not trust.tested:
        return Cell("none for this task", sort=math.nan)
    of = trust.passed + trust.failed + trust.untested
    return Cell(
        f"{count(trust.passed)} of {count(of)}", float(trust.passed), note=f"{count(trust.untested)} not scored" if trust.untested else ""
    )


def _unscored(trust: JudgeTrust) -> Cell:
    if not trust.judged:
        return Cell("–", sort=math.nan)
    return Cell(
        f"{count(trust.unscored)} of {count(trust.judged)}",
        float(trust.unscored),
        note=share(trust.unscored, trust.judged) if trust.unscored else "",
    )
