"""The causes of failed questions of a small sweep of recorded answers, whose judge knows the labels that its claims begin with."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest

from tests.asked_sweeps import write_questions
from workbench.components.answering.base import AnswerResources
from workbench.components.judging.base import Judge, Judgement, JudgeRequest
from workbench.components.judging.self_test import faithfulness_cases, relevance_cases
from workbench.components.judging.sentence_splitter import SentenceSplitter
from workbench.components.judging.settings import Judging
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.experiment.read import experiment_of

# Claims that begin with it get the verdict, as an answer with it is said to be relevant or not.
_VERDICTS = {"Contrary": "contradicted", "Besides": "absent", "Broken": ""}


# By question or claim and passage, whether a judge should approve.
_KNOWN = {(case.answer, case.context): case.min_score is not None for case in faithfulness_cases()} | {
    (case.query, case.context): case.min_score is not None for case in relevance_cases()
}


class LabelJudge(Judge):
    """Judges by the first words of a text, and knows the known answers."""

    kind: Literal["labels"] = "labels"

    def judge(self, requests: Sequence[JudgeRequest], resources: AnswerResources) -> Iterator[tuple[int, Judgement]]:
        for place, request in enumerate(requests):
            passage = request.passages[0].text if request.passages else ""
            if (known := _KNOWN.get((request.claim or request.question, passage))) is not None:
                yield place, Judgement(float(known), "supported" if known else "absent")
            else:
                yield place, _support(request.claim) if request.task == "support" else Judgement(float("beside" not in request.answer))


class ScoreJudge(LabelJudge):
    """The same judge, if its verdicts do not count."""

    kind: Literal["scores"] = "scores"  # type: ignore[assignment]  # a literal kind, like every component
    gives_verdicts = False


def _support(claim: str) -> Judgement:
    verdict: Any = _VERDICTS.get(claim.split()[0], "supported")
    return Judgement(float(verdict == "supported"), verdict) if verdict else Judgement(error="the server timed out")


RIGHT, REFUSAL = "The lamp is switched past noon.", "I cannot answer this question."
# By question: the condition, the answer, its label, and the cause.
ANSWERS: list[tuple[str, str, str, bool | None, str]] = [
    ("q0", "gold", RIGHT, True, ""),
    ("q1", "gold", REFUSAL, False, "refusal"),
    ("q2", "gold", "The lamp is old. Contrary to that it is new.", True, "contradiction"),
    ("q3", "gold", "The lamp is old. Besides it is red.", False, "unsupported"),
    ("q4", "gold", "The lamp is old and beside the point.", False, "off_topic"),
    ("q5", "gold", "The lamp is old.", False, "unused"),
    ("q6", "gold", "Broken judges say nothing.", False, "unsure"),
    ("q7", "gold", "Broken judges say nothing.", True, ""),
    ("q8", "gold", "The lamp is old and", False, "truncated"),
    ("q9", "gold", "…", False, "empty"),
    ("q0", "retrieved", REFUSAL, False, "refusal"),
    ("q2", "retrieved", f"{REFUSAL} It has 77 beds.", False, "unsupported"),
    ("q1", "retrieved", RIGHT, True, ""),
    ("q9", "retrieved", "Contrary to that it is new.", False, "contradiction"),
    ("u0", "retrieved", "The lamp is old.", None, "unrefused"),
    ("u1", "retrieved", REFUSAL, None, ""),
    ("u2", "retrieved", f"{REFUSAL} It has 77 beds.", None, "unrefused"),
    ("u3", "retrieved", "Nobody lives in room 3.", True, ""),
    ("u4", "retrieved", "Nobody lives in room 4.", None, "unsure"),
    ("u5", "retrieved", "…", None, "empty"),
    ("q0", "missing_gold", "The lamp is old.", False, "unrefused"),
    ("q3", "missing_gold", "The lamp is old.", True, "unrefused"),
    ("q1", "missing_gold", REFUSAL, True, ""),
    ("q2", "injection", "The lamp is old.", False, ""),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_questions(tmp_path_factory.mktemp("questions") / "data", 10, unanswerable=6)


def swept(data: Path, folder: Path, judge: Judge, k: int = 5, size: int = 32) -> Outcome:
    rows = [
        {"query_id": query, "condition": condition, "answer": text, "truncated": text.endswith(" and")}
        | ({} if correct is None else {"correct": correct})
        for query, condition, text, correct, _ in ANSWERS
    ]
    folder.mkdir(exist_ok=True)
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    pipeline = {
        "chunking": {"kind": "fixed", "size": size, "overlap": 0},
        "retrieval": {"kind": "bm25", "k": k},
        "context": {"budget": 400},
        "answering": {"kind": "recorded", "path": str(folder / "answers.jsonl")},
    }
    conditions = ["none", "gold", "retrieved", "missing_gold", "injection"]
    settings = {"name": "caused", "dataset": {"kind": "golden", "path": str(data)}, "pipeline": pipeline, "conditions": conditions}
    experiment = experiment_of(settings | {"metrics": ["recall@3", "refusal_rate"]}, "here")
    judging = Judging(claims=SentenceSplitter(), support=judge, relevance=judge, correctness=judge)
    outcome = run_experiment(replace(experiment, judging=judging), folder / "outputs", lambda _: None)
    assert not outcome.failures, outcome.failures
    return outcome


def answer_rows(outcome: Outcome) -> pd.DataFrame:
    rows = collect(outcome).causes
    return rows[rows["subject"] == "answer"].set_index(["query_id", "condition"])


@pytest.fixture(scope="module")
def causes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return answer_rows(swept(data, tmp_path_factory.mktemp("judged"), LabelJudge()))


CAUSES = [(query, condition, cause) for query, condition, *_, cause in ANSWERS]


@pytest.mark.parametrize(("query", "condition", "cause"), CAUSES)
def test_every_failed_question_has_its_cause(causes: pd.DataFrame, query: str, condition: str, cause: str) -> None:
    assert causes["cause"].to_dict().get((query, condition), "") == cause


def test_only_recorded_answers_have_causes_each_at_most_one(causes: pd.DataFrame) -> None:
    assert causes.index.is_unique
    assert len(causes) == sum(bool(cause) for *_, cause in ANSWERS)


def test_a_claim_shows_the_cause(causes: pd.DataFrame) -> None:
    assert causes.loc[("q2", "gold"), "evidence"] == "Contrary to that it is new."
    assert causes.loc[("q3", "gold"), "evidence"] == "Besides it is red."
    assert causes.loc[("q1", "gold"), "evidence"] == ""
    assert set(causes["need"]) == {-1}


def test_missing_evidence_comes_first(data: Path, tmp_path: Path) -> None:
    causes = answer_rows(swept(data, tmp_path, LabelJudge(), k=1, size=8))
    found = causes.loc[("q9", "retrieved")]
    assert found["cause"] in ("boundary", "rank")
    assert found["evidence"].startswith("d4:")
    # Contexts that are made from the labels still have all evidence.
    assert causes.loc[("q1", "gold"), "cause"] == "refusal"


def test_without_verdicts_only_refusals_and_missing_evidence_are_named(data: Path, tmp_path: Path) -> None:
    causes = answer_rows(swept(data, tmp_path, ScoreJudge()))
    assert set(causes.loc[(["q3", "q4", "q5", "q6"], "gold"), "cause"]) == {"unsure"}
    assert causes.loc[("q1", "gold"), "cause"] == "refusal"
    assert ("q2", "gold") not in causes.index
