"""How far the judges of a run can be trusted: their test on known answers, labels of this run, and what they left unscored."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from workbench.analysis.judging.calibration import NOT_MEASURED, badge
from workbench.judging.base import TASKS, Task
from workbench.results.run_tables import RunTables

OVERLAP = "overlap"
# The tasks for which the error of a judge was measured on other data (docs/judges.md), by a part of its label.
_MEASURED_ELSEWHERE: Mapping[str, tuple[Task, ...]] = {
    OVERLAP: ("support", "context_relevance", "answer_relevance", "correctness"),
    "qwen2.5-coder-1.5b": ("support",),
}


@dataclass(frozen=True)
class JudgeTrust:
    """A judge of a task. `role` is what it may be called, and `reason` why it is only a score.

    `badge` says by which labels it was measured: `measured on 60 labels of this run: …`, `measured elsewhere …` or `not measured`.

    `auroc`, `always_yes` and `repeatability` are of its test on known answers, NaN without one, with the numbers of answers that `passed`, `failed` or were
    `untested` because it failed. Of `judged` items of the run, `unscored` have no judgement.
    """

    task: Task
    judge: str
    role: str
    reason: str
    auroc: float
    always_yes: float
    repeatability: float
    passed: int
    failed: int
    untested: int
    badge: str
    judged: int
    unscored: int

    @property
    def is_score(self) -> bool:
        """True if it is only a score, which feeds no metric named faithfulness."""
        return self.role == "score"

    @property
    def tested(self) -> bool:
        """True if it was tested on known answers."""
        return self.passed + self.failed + self.untested > 0


def has_judges(run: RunTables) -> bool:
    """Return True if the answers of the run were judged."""
    return bool(run.judging) and len(run.answers) > 0


@lru_cache(maxsize=4)
def judge_trust(run: RunTables) -> tuple[JudgeTrust, ...]:
    """Return the judge of each task of a run, in the order of the tasks. Empty without judges."""
    rows = {str(row["task"]): row for row in run.judges.to_dict("records")}
    return tuple(_trust(run, task, rows[task]) for task in TASKS if task in rows)


def verdicts_judge(run: RunTables) -> JudgeTrust | None:
    """Return the judge of claims, None without judges."""
    return next((each for each in judge_trust(run) if each.task == "support"), None)


def _trust(run: RunTables, task: Task, row: Mapping[Any, Any]) -> JudgeTrust:
    known = {name: row[name] for name in ("judge", "role", "reason", "auroc", "always_yes", "repeatability", "passed", "failed")}
    judged, unscored = _counts(run, task)
    return JudgeTrust(task=task, **known, untested=row["unscored"], badge=_badge(run, task, row["judge"]), judged=judged, unscored=unscored)


def _badge(run: RunTables, task: Task, judge: str) -> str:
    known = badge(run, task)
    elsewhere = any(part in judge.casefold() and task in tasks for part, tasks in _MEASURED_ELSEWHERE.items())
    return "measured elsewhere" if known == NOT_MEASURED and elsewhere else known


def _counts(run: RunTables, task: Task) -> tuple[int, int]:
    if task == "support":
        return len(run.claims), int((run.claims["error"] != "").sum())
    rows = run.answer_judgements[run.answer_judgements["task"] == task]
    return len(rows), int((rows["error"] != "").sum())
