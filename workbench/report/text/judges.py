"""What the judges of a run may be called, how well they are known, and what speaks against them, as sentences."""

import math

from workbench.analysis.judging.calibrations import NOT_MEASURED
from workbench.analysis.judging.conflicts import ROLES, SharedModel, self_judging, shared_families, synthetic_questions
from workbench.analysis.judging.judge_trust import OVERLAP, JudgeTrust, judge_trust, verdicts_judge
from workbench.core.formatting import count, listed, number, plural, share
from workbench.report.text.sentences import folder_of
from workbench.results.run_tables import RunTables

_TASKS: dict[str, str] = {
    "support": "the support of claims",
    "context_relevance": "the relevance of passages",
    "answer_relevance": "the relevance of answers",
    "correctness": "the correctness of answers",
    "rubric": "answers by a rubric",
}
# Measured with `workbench judge` on labels of people; docs/judges.md has the intervals.
OVERLAP_ERROR = (
    "Against labels of people, overlap has an AUROC of 0.78 on claims about the handbook, 0.84 on MTRAG, 0.81 on WiCE, 0.84 on QAGS-CNN, 0.92 on BEGIN "
    "and 0.60 on SciFact (0.5 is chance). It hardly sees contradictions: 0.69, and 0.60 where a single word is changed. A low score says that words, "
    "numbers or meaning of a claim are missing from the passages; a high score does not say that they support it."
)
# The commands that a report offers, each with what it does.
_OFFERS = {
    "workbench judge fetch qwen2.5-1.5b": "downloads a model of 1.1 GB that gives verdicts without a server, with an AUROC of 0.88, and of 0.85 where a "
    "single word is changed, and prints the setting to judge with it",
    "judging: {support: {kind: chat}}": "in the experiment judges with a chat model on a server",
}


def task_text(task: str) -> str:
    """Name what is judged in a task."""
    return _TASKS[task]


def trust_sentence(trust: JudgeTrust) -> str:
    """Say what a judge may be called and how well it is known."""
    task = task_text(trust.task)
    called = f"{trust.judge} is a score for {task}, not a judge" if trust.is_score else f"{trust.judge} judges {task}"
    why = f" ({trust.reason})" if trust.is_score and trust.reason else ""
    known = [] if "AUROC" in why else [_known(trust)]
    measured = "not measured by labels" if trust.badge == NOT_MEASURED else trust.badge
    return f"{called}{why}: {', '.join([*known, measured])}.{_missing(trust)}"


def _known(trust: JudgeTrust) -> str:
    if not trust.tested or math.isnan(trust.auroc):
        return "not tested on known answers"
    return f"AUROC {number(trust.auroc, 2)} on known answers"


def _missing(trust: JudgeTrust) -> str:
    if not trust.unscored:
        return ""
    verb = "has" if trust.unscored == 1 else "have"
    return f" {count(trust.unscored)} of {plural(trust.judged, 'item')} {verb} no judgement ({share(trust.unscored, trust.judged)}) and no score."


def overlap_error(run: RunTables) -> str:
    """State the measured error of the judge `overlap` if it scores the claims of a run, else an empty text."""
    return OVERLAP_ERROR if _scored_by_overlap(run) else ""


def offers(run: RunTables) -> list[tuple[str, str]]:
    """List commands and settings that make more known: a judge with verdicts, and labels. Each has a note."""
    found = list(_OFFERS.items()) if _scored_by_overlap(run) else []
    if any(trust.badge.startswith("measured on") for trust in judge_trust(run)):
        return found
    folder = folder_of(run)
    sample = (
        f"workbench judge sample {folder}",
        "draws claims at random for labelling: without labels of this run, the error of its judges is not known",
    )
    return [
        *found,
        sample,
        (f"workbench judge calibrate {folder}", "measures the judges by these labels, and corrects means and differences"),
    ]


def _scored_by_overlap(run: RunTables) -> bool:
    judge = verdicts_judge(run)
    return judge is not None and judge.judge == OVERLAP


def warnings(run: RunTables) -> list[str]:
    """Name everything that makes the judgements of a run look better than they are, or that nobody has checked."""
    if not judge_trust(run):
        return []
    own = self_judging(run)
    families = [shared for shared in shared_families(run) if not (set(own) >= {name for names in shared.names.values() for name in names})]
    return [*map(_own, own), *map(_family, families), *_synthetic(run)]


def _own(name: str) -> str:
    return f"{name} judges its own answers. Models prefer what they have written, so compare with another judge."


def _family(shared: SharedModel) -> str:
    parts = [f"{role} ({listed(list(shared.names[role]), 3)})" for role in ROLES if role in shared.names]
    every = "All parts are of one model family" if len(parts) == len(ROLES) else "Two parts are of one model family"
    return f"{every}, {shared.family}: it {listed(parts)}. Models prefer answers of their family, and share its errors."


def _synthetic(run: RunTables) -> list[str]:
    found = synthetic_questions(run)
    if not found.waiting:
        return []
    which = "Every question" if found.waiting == found.of else f"{count(found.waiting)} of {plural(found.of, 'question')}"
    verb = "is" if found.waiting in (1, found.of) else "are"
    return [
        f"{which} {verb} written by a model and accepted by nobody. Read {'it' if found.waiting == 1 else 'them'}, then run workbench dataset accept."
    ]
