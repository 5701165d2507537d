"""Qualify each judge by its self-test on cases with known answers, made once and kept in the store."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import Judge, Judgement, JudgeRequest, Task
from workbench.components.judging.known_answers import (
    CaseResult,
    FaithfulnessCase,
    KnownCase,
    RelevanceCase,
    SelfTest,
    case_result,
    faithfulness_cases,
    relevance_cases,
)
from workbench.core.errors import WorkbenchError
from workbench.core.fingerprint import fingerprint, require_unchanged
from workbench.core.records import Passage
from workbench.core.storage.result_store import ResultWriter, Store

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
        found = self_tested(judge, task, resources)
        require_unchanged(f"the judge {judge.label}", identity, judge.identity(task))
        writer.values("trust", asdict(found))
        if found.failed_calls:
            writer.mark_incomplete()

    entry = store.obtain("self_tests", fingerprint(_VERSION, task, identity, judge.label, known), compute)
    values = entry.values("trust")
    return Trust(**{**values, "weak_kinds": tuple(values["weak_kinds"])})


def self_tested(judge: Judge, task: Task, resources: AnswerResources) -> Trust:
    """Test a judge on the known answers of a task: all cases at once, and again without the cache if it calls a model."""
    cases = _CASES[task]()
    judgements = _judgements(judge, task, resources)
    test = SelfTest(tuple(_result(case, judgement) for case, judgement in zip(cases, judgements, strict=True)))
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


def _result(case: KnownCase, judgement: Judgement) -> CaseResult:
    return case_result(case, judgement.score, judgement.error or "the judge gave no score")


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
