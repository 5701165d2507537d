"""How far the judges of a run can be trusted: their test on known answers, labels of this run, and what they left unscored."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from workbench.judging.base import TASKS, Task
from workbench.results.run_tables import RunTables

# `run`: by labels of this run. `elsewhere`: on public data, which says little about this run. `unmeasured`: not at all.
Measured = Literal["run", "elsewhere", "unmeasured"]
OVERLAP = "overlap"
# Judges whose error was measured on public data (docs/judges.md), by a part of their label.
_MEASURED_ELSEWHERE = (OVERLAP, "qwen2.5-coder-1.5b")
# The metrics that each task decides.
_METRICS: Mapping[Task, tuple[str, ...]] = {
    "support": ("faithfulness", "contradiction_rate", "support_overlap"),
    "context_relevance": ("context_relevance", "context_precision_judged"),
    "answer_relevance": ("answer_relevance",),
    "correctness": ("answer_correctness",),
    "rubric": ("rubric",),
}


@dataclass(frozen=True)
class JudgeTrust:
    """A judge of a task. `role` is what it may be called, and `reason` why it is only a score.

    `auroc`, `always_yes` and `repeatability` are of its test on known answers, NaN without one, with the numbers of answers that `passed`, `failed` or were
    `untested` because it failed. `labels` are those of this run that corrected its means. Of `judged` items of the run, `unscored` have no judgement.
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
    labels: int
    measured: Measured
    judged: int
    unscored: int

    @property
    def is_score(self) -> bool:
        """Whether it is only a score, which feeds no metric named faithfulness."""
        return self.role == "score"

    @property
    def tested(self) -> bool:
        """Whether it was tested on known answers."""
        return self.passed + self.failed + self.untested > 0


@lru_cache(maxsize=4)
def judge_trust(run: RunTables) -> tuple[JudgeTrust, ...]:
    """Return the judge of each task of a run, in the order of the tasks. Empty without judges."""
    rows = {str(row["task"]): row for row in run.judges.to_dict("records")}
    return tuple(_trust(run, task, rows[task]) for task in TASKS if task in rows)


def verdicts_judge(run: RunTables) -> JudgeTrust | None:
    """Return the judge of claims, None without judges."""
    return next((each for each in judge_trust(run) if each.task == "support"), None)


def _trust(run: RunTables, task: Task, row: Mapping[str, object]) -> JudgeTrust:
    labels, judge = _labels(run, task), str(row["judge"])
    elsewhere = any(part in judge.casefold() for part in _MEASURED_ELSEWHERE)
    judged, unscored = _counts(run, task)
    return JudgeTrust(
        task=task,
        judge=judge,
        role=str(row["role"]),
        reason=str(row["reason"]),
        auroc=float(str(row["auroc"])),
        always_yes=float(str(row["always_yes"])),
        repeatability=float(str(row["repeatability"])),
        passed=int(str(row["passed"])),
        failed=int(str(row["failed"])),
        untested=int(str(row["unscored"])),
        labels=labels,
        measured="run" if labels else "elsewhere" if elsewhere else "unmeasured",
        judged=judged,
        unscored=unscored,
    )


def _labels(run: RunTables, task: Task) -> int:
    """The labels of this run behind the corrected means of a task's metrics, the sum over configurations."""
    rows = run.corrected
    rows = rows[(rows["other"] == "") & rows["metric"].str.partition("@")[0].isin(_METRICS[task])]
    return int(rows.groupby("metric")["labels"].sum().max()) if len(rows) else 0


def _counts(run: RunTables, task: Task) -> tuple[int, int]:
    if task == "support":
        return len(run.claims), int((run.claims["error"] != "").sum())
    rows = run.answer_judgements[run.answer_judgements["task"] == task]
    return len(rows), int((rows["error"] != "").sum())
