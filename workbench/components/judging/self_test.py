"""The known-answer self-test of judges: cases, the judge's scores, and the role that they qualify it for, kept in the store.

`relevance.jsonl` contains queries, each with a passage that answers it and one that does not. `faithfulness.jsonl` contains
one-claim answers with a context. Most unfaithful ones differ by one word from a faithful twin (`pair`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import Judge, Judgement, JudgeRequest, Task
from workbench.core.errors import InputError, WorkbenchError
from workbench.core.fingerprint import fingerprint, require_unchanged
from workbench.core.records import Passage
from workbench.core.storage.result_store import ResultWriter, Store

AUROC_AT_LEAST, ONE_CLASS_AT_MOST, SCORED_AT_LEAST = 0.65, 0.9, 0.9
UNSCORED = "the judge gave no score"


@dataclass(frozen=True, kw_only=True)
class KnownCase:
    """A case with one bound: `min_score` if a judge should approve, `max_score` if not."""

    case_id: str
    kind: str
    context: str
    min_score: float | None = None
    max_score: float | None = None

    def met(self, score: float) -> bool:
        """Check that a score is within the bound (inclusive)."""
        return (self.min_score is None or score >= self.min_score) and (self.max_score is None or score <= self.max_score)


@dataclass(frozen=True, kw_only=True)
class RelevanceCase(KnownCase):
    """A passage and a query. A relevant passage scores at least 0.8, an off-topic one at most 0.2."""

    query: str


@dataclass(frozen=True, kw_only=True)
class FaithfulnessCase(KnownCase):
    """A one-claim answer and its context. A faithful answer scores at least 0.9, any other below 0.3."""

    answer: str
    pair: str | None = None

    def met(self, score: float) -> bool:
        return super().met(score) and score != self.max_score


@dataclass(frozen=True)
class CaseResult:
    """The score of a case, whether the judge should approve it (`approves`), and `why` if the score is None."""

    case_id: str
    kind: str
    approves: bool
    score: float | None
    state: Literal["passed", "failed", "unscored"]
    why: str = ""


@dataclass(frozen=True)
class SelfTest:
    """A judge's scores of the cases."""

    rows: tuple[CaseResult, ...]

    @property
    def passed(self) -> int:
        """Cases scored within their bound."""
        return sum(row.state == "passed" for row in self.rows)

    @property
    def failed(self) -> int:
        """Cases scored outside their bound."""
        return len(self.rows) - self.passed - self.unscored

    @property
    def unscored(self) -> int:
        """Cases without a score."""
        return sum(row.score is None for row in self.rows)

    @property
    def by_kind(self) -> pd.DataFrame:
        """Tabulate kind, approves, passed, failed, unscored, mean (over scored cases, NaN if none), in order of the cases."""
        table = pd.DataFrame([vars(row) for row in self.rows]).astype({"score": float})
        states = pd.get_dummies(table["state"], dtype=int).reindex(columns=["passed", "failed", "unscored"], fill_value=0)
        kinds = table[["kind", "approves", "score"]].join(states).groupby(["kind", "approves"], sort=False)
        return kinds[list(states.columns)].sum().assign(mean=kinds["score"].mean()).reset_index()

    @property
    def auroc(self) -> float:
        """P(score of a case to approve > that of a case to reject) over scored cases, counting ties half: Mann-Whitney's U / pairs."""
        good, bad = ([row.score for row in self.rows if row.score is not None and row.approves is side] for side in (True, False))
        if not good or not bad:
            raise InputError(f"AUROC needs scored cases of both classes, not {len(good)} to approve and {len(bad)} to refuse", "see `why`")
        return float(np.sign(np.subtract.outer(good, bad)).mean() / 2 + 0.5)

    @property
    def always_yes(self) -> float:
        """The share of scores on the more frequent side of 0.5 (0.5 is a yes). 1 for a judge with only one answer."""
        answers = [row.score >= 0.5 for row in self.rows if row.score is not None]
        if not answers:
            raise InputError("no case was scored", "see `why` of the rows")
        return max(answers.count(True), answers.count(False)) / len(answers)

    @property
    def weak_kinds(self) -> tuple[str, ...]:
        """Name the kinds of which more cases fail than pass, such as `negation` for a judge that is blind to it."""
        return tuple(self.by_kind.query("failed > passed")["kind"])

    @property
    def verdict(self) -> str:
        """Return `judge`, or `not a judge: ` with the reason.

        A model is no judge below AUROC 0.65 and if over 90 % of the answers are one class, a gate measured on small local models
        (always yes: 0.44 to 0.52; word overlap: 0.56; the first usable model: 0.67), and if over 10 % of the cases are unscored,
        since a judge must not select its cases. Every usable model is weak in some kind of case: `weak_kinds` names these.
        """
        scored, cases = self.passed + self.failed, len(self.rows)
        if scored < max(1, SCORED_AT_LEAST * cases):
            return f"not a judge: only {scored} of {cases} cases were scored"
        why = [f"AUROC {self.auroc:.2f} is below {AUROC_AT_LEAST}"] if self.auroc < AUROC_AT_LEAST else []
        why += [f"{self.always_yes:.0%} of its answers are the same"] if self.always_yes > ONE_CLASS_AT_MOST else []
        return "not a judge: " + "; ".join(why) if why else "judge"


C = TypeVar("C", bound=KnownCase)


def self_test(score: Callable[[C], float | None], cases: Sequence[C]) -> SelfTest:
    """Score each case from 0 to 1 (InputError otherwise). None or a WorkbenchError leaves it unscored."""

    def result(case: C) -> CaseResult:
        try:
            value = score(case)
        except WorkbenchError as error:
            return case_result(case, None, str(error))
        return case_result(case, value)

    return SelfTest(tuple(map(result, cases)))


def case_result(case: KnownCase, value: float | None, why: str = UNSCORED) -> CaseResult:
    """Return the result of a case with a score from 0 to 1 (InputError otherwise), or None and `why`."""
    identity = (case.case_id, case.kind, case.min_score is not None)
    if value is None:
        return CaseResult(*identity, None, "unscored", why)
    if not 0 <= value <= 1:
        raise InputError(f"the judge scored case {case.case_id!r} {value}", "a score is a number from 0 to 1, or None")
    return CaseResult(*identity, float(value), "passed" if case.met(value) else "failed")


@cache
def relevance_cases() -> tuple[RelevanceCase, ...]:
    """The queries and passages, in order of `case_id`."""
    return tuple(RelevanceCase(**row) for row in _rows("relevance.jsonl"))


@cache
def faithfulness_cases() -> tuple[FaithfulnessCase, ...]:
    """The contexts and answers, in order of `case_id`."""
    return tuple(FaithfulnessCase(**row) for row in _rows("faithfulness.jsonl"))


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text("utf-8").split("\n") if line]


Role = Literal["judge", "score"]

# Raised when equal judgements begin to give another result.
_VERSION = 1
# The tasks with known answers.
_CASES: Mapping[Task, Callable[[], Sequence[KnownCase]]] = {"support": faithfulness_cases, "context_relevance": relevance_cases}


@dataclass(frozen=True)
class Trust:
    """The `role` of a judge in a task, the `reason`, and the measurements of its self-test.

    `auroc` is the probability that a case to approve scores higher than one to reject, `polarity` the same for the two cases of a pair that
    differ in a few words or share a question: below 0.5, yes means no. `always_yes` is the share of the more frequent answer, `repeatability` the share
    of equal answers in a second pass, for judges that call a model. `passed`, `failed` and `unscored` count cases; `weak_kinds` are those with more
    failures than passes. All are None, 0 or empty if there are no known answers for the task.
    """

    task: Task
    judge: str
    role: Role
    reason: str
    auroc: float | None = None
    polarity: float | None = None
    always_yes: float | None = None
    repeatability: float | None = None
    passed: int = 0
    failed: int = 0
    unscored: int = 0
    weak_kinds: tuple[str, ...] = ()
    failed_calls: int = 0

    @property
    def tested(self) -> bool:
        """True if there are known answers for the task."""
        return self.task in _CASES


def trust(judge: Judge, task: Task, resources: AnswerResources, store: Store) -> Trust:
    """Qualify a judge for a task, from the store or by a test, which the next run repeats if calls failed.

    A judge that gives no verdicts is a score. So is one whose test has an AUROC below 0.65, over 90 % equal answers, over 10 % cases without a score, or
    a polarity below 0.5. A judge with verdicts is not tested for a task without known answers, and keeps its name.
    """
    if task not in _CASES:
        return replace(_untested(judge, task), reason=_without_verdicts(judge) or "not tested: there are no known answers for this task")
    cases = _CASES[task]()
    known, identity = [asdict(case) for case in cases], judge.identity(task)

    def compute(writer: ResultWriter) -> None:
        found = run_self_test(judge, task, resources)
        require_unchanged(f"the judge {judge.label}", identity, judge.identity(task))
        writer.values("trust", asdict(found))
        if found.failed_calls:
            writer.mark_incomplete()

    entry = store.obtain("self_tests", fingerprint(_VERSION, task, identity, judge.label, known), compute)
    values = entry.values("trust")
    return Trust(**{**values, "weak_kinds": tuple(values["weak_kinds"])})


def run_self_test(judge: Judge, task: Task, resources: AnswerResources) -> Trust:
    """Test a judge on the known answers of a task: all cases at once, and again without the cache if it calls a model."""
    cases = _CASES[task]()
    judgements = _judgements(judge, task, resources)
    rows = (case_result(case, judged.score, judged.error or UNSCORED) for case, judged in zip(cases, judgements, strict=True))
    test = SelfTest(tuple(rows))
    again = _judgements(judge, task, replace(resources, calls=replace(resources.calls, cache=None))) if judge.calls_model else []
    scored = {row.approves for row in test.rows if row.score is not None} == {True, False}
    polarity = _polarity(cases, test) if scored else None
    why = _without_verdicts(judge) or test.verdict.removeprefix("judge").removeprefix("not a judge: ")
    if not why and polarity is not None and polarity < 0.5:
        why = f"its yes may mean no: it prefers the case to approve in only {polarity:.0%} of the pairs"
    return replace(
        _untested(judge, task),
        role="score" if why else "judge",
        reason=why,
        auroc=test.auroc if scored else None,
        polarity=polarity,
        always_yes=test.always_yes if scored else None,
        repeatability=_repeatability(test, again),
        passed=test.passed,
        failed=test.failed,
        unscored=test.unscored,
        weak_kinds=test.weak_kinds,
        failed_calls=sum(bool(judgement.error) and not judgement.replied for judgement in judgements),
    )


def _untested(judge: Judge, task: Task) -> Trust:
    return Trust(task, judge.label, "judge" if judge.gives_verdicts else "score", "")


def _without_verdicts(judge: Judge) -> str:
    return "" if judge.gives_verdicts else f"`{judge.kind}` is a score, not a judge"


def known_answers(task: Task) -> Sequence[KnownCase]:
    """Return the cases with known answers for a task, empty if there are none."""
    return _CASES[task]() if task in _CASES else ()


def known_answer_request(case: KnownCase, task: Task) -> JudgeRequest:
    """Return the request to judge a case."""
    passages = (Passage(case.case_id, 0, len(case.context), case.context),)
    if isinstance(case, RelevanceCase):
        return JudgeRequest(task, case.query, passages=passages)
    answer = case.answer if isinstance(case, FaithfulnessCase) else ""
    return JudgeRequest(task, "", answer, answer, passages)


def _judgements(judge: Judge, task: Task, resources: AnswerResources) -> list[Judgement]:
    """Return the judgement of each case. An error that ends all calls leaves the cases unscored."""
    requests = [known_answer_request(case, task) for case in _CASES[task]()]
    found = [Judgement(error="the judge gave no judgement")] * len(requests)
    try:
        for place, judgement in judge.judge(requests, resources):
            found[place] = judgement
    except WorkbenchError as error:
        found = [judgement if judgement.score is not None else Judgement(error=str(error)) for judgement in found]
    return found


def _polarity(cases: Sequence[KnownCase], test: SelfTest) -> float:
    """Return the share of pairs in which the case to approve scores higher than the case to reject, ties counted half."""
    scores = {row.case_id: row.score for row in test.rows}
    better = [
        (one > other) + 0.5 * (one == other)
        for good, bad in _pairs(cases)
        if (one := scores[good]) is not None and (other := scores[bad]) is not None
    ]
    return sum(better) / len(better) if better else 0.5


def _pairs(cases: Sequence[KnownCase]) -> list[tuple[str, str]]:
    """Return the ids of each case to approve and a case to reject that differs from it in a few words, or has the same question."""
    good = {case.query: case.case_id for case in cases if isinstance(case, RelevanceCase) and case.min_score is not None}
    pairs = [(good[case.query], case.case_id) for case in cases if isinstance(case, RelevanceCase) and case.max_score is not None]
    return pairs + [(case.pair, case.case_id) for case in cases if isinstance(case, FaithfulnessCase) and case.pair]


def _repeatability(test: SelfTest, again: Sequence[Judgement]) -> float | None:
    """Return the share of cases that are on the same side of 0.5 twice, None without a second pass."""
    both = [(row.score, other.score) for row, other in zip(test.rows, again, strict=False)]
    sides = [(one >= 0.5) == (other >= 0.5) for one, other in both if one is not None and other is not None]
    return sum(sides) / len(sides) if sides else None
