"""The judges of a run: whether each qualifies as a judge, how well it is known, and what speaks against it."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from workbench.components.judging.base import Task
from workbench.core.text.formatting import count, listed, number, plural, share
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.judges import NOT_MEASURED, OVERLAP, JudgeTrust, judge_trust
from workbench.report.analysis.labels import judge_of
from workbench.report.analysis.values import ModelRole, SharedFamily, models_by_role, shared_families
from workbench.report.cells import UNKNOWN, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Lines, Prose, Row, Table, Term, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.sentences import drafts_lines, folder_of
from workbench.report.topics.answers.calibration import TASK_TEXTS, calibration_blocks, corrected_blocks
from workbench.report.topics.topic import Topic


class MeasuredSet(NamedTuple):
    """AUROC of `overlap` on a labelled set with its 95 % limits, and the AUROC of the share of shared words alone."""

    overlap: float
    low: float
    high: float
    words: float
    items: int


# AUROC of the judge `overlap` and of plain words, as in docs/judges.md. By task and the set's name in benchmarks/judging, which measures them. A test compares them.
MEASURED: dict[Task, dict[str, MeasuredSet]] = {
    "support": {
        "handbook": MeasuredSet(0.80, 0.76, 0.84, 0.74, 1477),
        "WiCE": MeasuredSet(0.81, 0.76, 0.85, 0.73, 349),
        "MTRAG": MeasuredSet(0.81, 0.74, 0.87, 0.82, 216),
        "minimal edits": MeasuredSet(0.61, 0.55, 0.68, 0.61, 96),
    },
    "correctness": {
        "correct answers": MeasuredSet(0.90, 0.86, 0.93, 0.83, 342),
        "MTRAG answers": MeasuredSet(0.57, 0.42, 0.72, 0.66, 144),
    },
}
# The share of contradicted claims found where 10 % of the supported ones are suspected.
CONTRADICTIONS_FOUND = 0.40
_READING = (
    "Each judge is tested on known answers: AUROC is the probability that a good one scores higher than a bad one, always yes the share of the more frequent "
    "of yes and no, and repeatable the share that is judged equally when asked again. Below an AUROC of 0.65, or with over 90 % equal answers, a judge "
    "is a score, which feeds no metric named faithfulness. Known answers are no answers of this run: only labels of this run measure a judge on it."
)
# The parts of a model in a run, after "it".
_ROLES: dict[ModelRole, str] = {"questions": "writes the questions", "answers": "answers", "judgements": "judges"}
_SUPPORT, _CORRECTNESS = MEASURED["support"], MEASURED["correctness"]
_PLANTED, _LARGE = _CORRECTNESS["correct answers"], _CORRECTNESS["MTRAG answers"]
OVERLAP_ERROR = (
    f"Where it was measured, overlap has an AUROC of {_SUPPORT['handbook'].overlap:.2f} on claims about the handbook, {_SUPPORT['WiCE'].overlap:.2f} on WiCE and "
    f"{_SUPPORT['MTRAG'].overlap:.2f} on MTRAG, and of {_SUPPORT['minimal edits'].overlap:.2f} on claims that differ from a supported one in a few words (0.5 is "
    f"chance). The share of a claim's words in the passages does as well on MTRAG ({_SUPPORT['MTRAG'].words:.2f}) and on the latter "
    f"({_SUPPORT['minimal edits'].words:.2f}). It finds {100 * CONTRADICTIONS_FOUND:.0f} % of the contradicted claims if it may suspect 10 % of the supported ones. A low "
    "score says that words, numbers or meaning of a claim are missing from the passages; a high score does not say that they support it."
)
CORRECTNESS_BY_OVERLAP = f"overlap decides what is wrong, with an AUROC of {_LARGE.overlap:.2f} [{_LARGE.low:.2f}, {_LARGE.high:.2f}] on answers of large models (0.5 is chance)"
_CORRECTNESS_ERROR = (
    f"It tells right from wrong answers with an AUROC of {_PLANTED.overlap:.2f} where faults were planted, and of {_LARGE.overlap:.2f} "
    f"[{_LARGE.low:.2f}, {_LARGE.high:.2f}] on {_LARGE.items} answers of large models (MTRAG; shared words alone: {_LARGE.words:.2f})."
)
# The commands that a report offers, each with what it does.
_OFFERS = {
    "workbench judge fetch qwen2.5-1.5b": "downloads a model of 1.1 GB that gives verdicts without a server, and prints the setting to judge with it. "
    "Its AUROC was 0.85 on 100 claims of which half were changed in a few words; "
    f"that of overlap was {_SUPPORT['minimal edits'].overlap:.2f} on {_SUPPORT['minimal edits'].items} such claims",
    "judging: {support: {kind: chat}}": "in the experiment judges with a chat model on a server",
}


def compute(findings: Findings) -> RunTables | None:
    """Return the run. None for a run without judges."""
    return findings if judge_trust(findings) else None


def render(run: RunTables) -> list[Block]:
    """Show warnings and what each judge may be called, and collapse its test, its agreement with labels and corrected means."""
    tested = [*tests_of(run), *calibration_blocks(run), *corrected_blocks(run), *offer_blocks(run)]
    return [*role_blocks(run), Collapsible("How the judges were tested, and how to know more", tested)]


def role_blocks(run: RunTables) -> list[Block]:
    """Show warnings, and what each judge may be called."""
    return [Lines([*warnings(run), *map(trust_sentence, judge_trust(run))])]


def tests_of(run: RunTables) -> list[Block]:
    """Show the test of each judge on known answers, and the measured error of the default."""
    correctness = _CORRECTNESS_ERROR if judge_of(run, "correctness") == OVERLAP else ""
    error = " ".join(filter(None, [OVERLAP_ERROR if _scored_by_overlap(run) else "", correctness]))
    columns = [words("task"), words("judge"), words("may be called"), words("measured"), Column("AUROC", note="known answers")]
    columns += [Column("always yes", note="known answers"), Column("repeatable", note="known answers")]
    columns += [Column("known answers", note="within their bounds"), Column("not judged", note="items of this run")]
    table = Table("Judges of this run", columns, [_row(each) for each in judge_trust(run)], _READING)
    return [table, *([Prose(error)] if error else [])]


def offer_blocks(run: RunTables) -> list[Block]:
    """Show what to do to know more: commands and settings. Empty if nothing is missing."""
    terms = [Term("setting" if command.startswith("judging") else "command", command, note, code=True) for command, note in offers(run)]
    return [Prose("To know more:"), Terms(terms)] if terms else []


def _row(trust: JudgeTrust) -> Row:
    tests = [value_cell(value, 2) for value in (trust.auroc, trust.always_yes, trust.repeatability)]
    # A badge has its figures after a colon.
    names = [
        Cell(TASK_TEXTS[trust.task]),
        Cell(trust.judge),
        Cell(trust.role, note=reason_text(trust)),
        Cell(trust.badge.partition(":")[0]),
    ]
    passed, unscored = Cell("none for this task", sort=math.nan), UNKNOWN
    if trust.tested:
        of, note = trust.passed + trust.failed + trust.untested, f"{count(trust.untested)} not scored" if trust.untested else ""
        passed = Cell(f"{count(trust.passed)} of {count(of)}", float(trust.passed), note=note)
    if trust.judged:
        note = share(trust.unscored, trust.judged) if trust.unscored else ""
        unscored = Cell(f"{count(trust.unscored)} of {count(trust.judged)}", float(trust.unscored), note=note)
    return Row([*names, *tests, passed, unscored])


def trust_sentence(trust: JudgeTrust) -> str:
    """State the qualification of a judge and its measurements."""
    task = TASK_TEXTS[trust.task]
    called = f"{trust.judge} is a score for {task}, not a judge" if trust.is_score else f"{trust.judge} judges {task}"
    why = f" ({reason})" if trust.is_score and (reason := reason_text(trust)) else ""
    known = f"AUROC {number(trust.auroc, 2)} on known answers"
    if not trust.tested or math.isnan(trust.auroc):
        # A judge that was measured otherwise is not called untested.
        known = "not tested on known answers" if trust.badge == NOT_MEASURED else ""
    measured = "not measured by labels" if trust.badge == NOT_MEASURED else trust.badge
    missing, of = share(trust.unscored, trust.judged) if trust.unscored else "", plural(trust.judged, "item")
    verb = "has" if trust.unscored == 1 else "have"
    unscored = f" {count(trust.unscored)} of {of} {verb} no judgement ({missing}) and no score." if missing else ""
    return f"{called}{why}: {', '.join(filter(None, ['' if 'AUROC' in why else known, measured]))}.{unscored}"


def reason_text(trust: JudgeTrust) -> str:
    """Say why a judge is only a score, or was not tested. Empty if its role says all."""
    reason = trust.reason.replace("`", "")
    return "" if reason == f"{trust.judge} is a score, not a judge" else reason


def offers(run: RunTables) -> list[tuple[str, str]]:
    """List commands and settings that make more known: a judge with verdicts, and labels. Each has a note."""
    known, folder = list(_OFFERS.items()) if _scored_by_overlap(run) else [], folder_of(run)
    if any(trust.badge.startswith("measured on") for trust in judge_trust(run)):
        return known
    sample = "draws claims at random for labelling: without labels of this run, the error of its judges is not known"
    measure = "measures the judges by these labels, and corrects means and differences"
    return [*known, (f"workbench judge sample {folder}", sample), (f"workbench judge calibrate {folder}", measure)]


def _scored_by_overlap(run: RunTables) -> bool:
    return any(trust.task == "support" and trust.judge == OVERLAP for trust in judge_trust(run))


def warnings(run: RunTables) -> list[str]:
    """Name everything that makes the judgements of a run look better than they are, or that nobody has checked."""
    if not judge_trust(run):
        return []
    # Not the embedder of a score, which may be that of the generator too.
    answering = set(run.answers["model"].unique()) - {""}
    own = [name for name in models_by_role(run)["judgements"] if name in answering]
    families = [
        shared for shared in shared_families(run) if not set(own) >= {name for names in shared.models.values() for name in _named(names)}
    ]
    return [
        *(f"{name} judges its own answers. Models prefer what they have written, so compare with another judge." for name in own),
        *map(_family, families),
        *drafts_lines(run),
    ]


def _named(names: Sequence[str]) -> list[str]:
    """Leave out labels of judges, such as `chat: m`, that only repeat the name of a model."""
    return [name for name in names if not any(name != other and name.endswith(f": {other}") for other in names)]


def _family(shared: SharedFamily) -> str:
    parts = [f"{verb} ({listed(_named(shared.models[role]), 3)})" for role, verb in _ROLES.items() if role in shared.models]
    every = "All parts are of one model family" if len(parts) == len(_ROLES) else "Two parts are of one model family"
    return f"{every}, {shared.family}: it {listed(parts)}. Models prefer answers of their family, and share its errors."


judges = Topic("judges", "How far can the judges be trusted?", "Judges", compute, render, chapter="answers")
