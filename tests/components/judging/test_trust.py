"""What judges may be called: decided by known answers, once for each judge."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest

from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.components.judging.base import Judge, Judgement, JudgeRequest
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.self_test import faithfulness_cases, relevance_cases, run_self_test, trust
from workbench.core.errors import ModelError
from workbench.core.storage.result_store import Store
from workbench.llm.session import CallResources

RESOURCES = AnswerResources(MemoryVectorCache(), CallResources())
KNOWN = {(case.context, case.answer): case for case in faithfulness_cases()} | {
    (case.context, case.query): case for case in relevance_cases()
}


class Oracle(Judge):
    """A judge that knows the answers, and judges other tasks, too."""

    calls: ClassVar[list[int]] = []

    kind: Literal["oracle"] = "oracle"

    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        self.calls.append(len(requests))
        for place, request in enumerate(requests):
            yield place, self.one(request)

    def one(self, request: JudgeRequest) -> Judgement:
        case = KNOWN[request.passages[0].text, request.claim or request.question]
        return Judgement(float(case.min_score is not None))


class Inverted(Oracle):
    kind: Literal["inverted"] = "inverted"

    def one(self, request: JudgeRequest) -> Judgement:
        return Judgement(1 - (super().one(request).score or 0))


class Yes(Oracle):
    kind: Literal["yes"] = "yes"

    def one(self, request: JudgeRequest) -> Judgement:
        return Judgement(1.0)


class Failing(Oracle):
    kind: Literal["failing"] = "failing"

    def one(self, request: JudgeRequest) -> Judgement:
        return Judgement(error="the server is down")


class WrongKey(Oracle):
    kind: Literal["wrong-key"] = "wrong-key"

    def one(self, request: JudgeRequest) -> Judgement:
        raise ModelError("the key is wrong", "set another")


class Moody(Oracle):
    """Calls a model, and changes its mind about a quarter of the cases."""

    calls_model: ClassVar[bool] = True

    kind: Literal["moody"] = "moody"

    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        self.calls.append(len(requests))
        for place, request in enumerate(requests):
            score = self.one(request).score or 0
            yield place, Judgement(1 - score if len(self.calls) % 2 == 0 and place % 4 == 0 else score)


@pytest.fixture(autouse=True)
def no_calls() -> None:
    Oracle.calls.clear()


@pytest.mark.parametrize(("task", "cases"), [("support", 96), ("context_relevance", 64)])
def test_a_judge_that_knows_the_answers_is_a_judge(task: Literal["support", "context_relevance"], cases: int) -> None:
    found = run_self_test(Oracle(), task, RESOURCES)
    assert (found.role, found.reason, found.auroc, found.polarity) == ("judge", "", 1, 1)
    assert (found.passed, found.failed, found.unscored, found.weak_kinds) == (cases, 0, 0, ())
    assert (found.always_yes, found.repeatability) == (0.5, None)


@pytest.mark.parametrize(
    ("judge", "reason"),
    [
        (Inverted(), "AUROC 0.00 is below 0.65"),
        (Yes(), "AUROC 0.50 is below 0.65; 100% of its answers are the same"),
        (Failing(), "only 0 of 96 cases were scored"),
        (WrongKey(), "only 0 of 96 cases were scored"),
    ],
)
def test_a_judge_that_fails_its_test_is_a_score(judge: Judge, reason: str) -> None:
    found = run_self_test(judge, "support", RESOURCES)
    assert (found.role, found.reason) == ("score", reason)


def test_overlap_is_a_score_whatever_its_test_says() -> None:
    support, relevance = (run_self_test(OverlapJudge(), task, RESOURCES) for task in ("support", "context_relevance"))
    assert {support.role, relevance.role} == {"score"}
    assert support.reason == relevance.reason == "`overlap` is a score, not a judge"
    assert round(support.auroc or 0, 2) == 0.61
    assert round(relevance.auroc or 0, 2) == 0.95
    assert {"negation", "entity", "number"} <= set(support.weak_kinds)


def test_a_judge_that_calls_a_model_is_asked_twice_without_the_cache() -> None:
    found = run_self_test(Moody(), "support", RESOURCES)
    assert Oracle.calls == [96, 96]
    assert (found.role, found.repeatability) == ("judge", 0.75)


def test_a_test_is_made_once_and_kept(tmp_path: Path) -> None:
    first = trust(Oracle(), "support", RESOURCES, Store(tmp_path))
    assert trust(Oracle(), "support", RESOURCES, Store(tmp_path)) == first
    assert Oracle.calls == [96]
    assert trust(Inverted(), "support", RESOURCES, Store(tmp_path)).role == "score"


def test_a_test_with_failed_calls_is_repeated(tmp_path: Path) -> None:
    first = trust(Failing(), "support", RESOURCES, Store(tmp_path))
    assert (first.unscored, first.auroc) == (96, None)
    trust(Failing(), "support", RESOURCES, Store(tmp_path))
    assert Oracle.calls == [96, 96]


def test_a_task_without_known_answers_is_not_tested(tmp_path: Path) -> None:
    found = trust(Oracle(), "correctness", RESOURCES, Store(tmp_path))
    assert (found.role, found.reason, found.auroc, found.tested) == (
        "judge",
        "not tested: there are no known answers for this task",
        None,
        False,
    )
    assert trust(OverlapJudge(), "correctness", RESOURCES, Store(tmp_path)) == replace(
        found, judge="overlap", role="score", reason="`overlap` is a score, not a judge"
    )
    assert Oracle.calls == []
