"""The attribution of reports on answers of known cause: with the labels as judge, and with the offline judge."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.faultbench.answers import LabelledAnswer, planted_answers, recorded_answers
from benchmarks.faultbench.cases import NONE, PlantedCase
from benchmarks.faultbench.evaluation import evaluate
from benchmarks.faultbench.judged import by_judges, by_labels, judged_answers
from workbench.components.answering.base import AnswerResources
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.sentence_splitter import SentenceSplitter
from workbench.components.judging.settings import Judging
from workbench.core.records import Dataset
from workbench.core.storage.vector_cache import VectorCache
from workbench.llm.session import CallResources
from workbench.measures.attribution.answer_causes import JudgeRoles
from workbench.measures.attribution.causes import OWN_CAUSES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def planted(cases: tuple[PlantedCase, ...]) -> tuple[LabelledAnswer, ...]:
    return planted_answers(cases)


@pytest.fixture(scope="module")
def recorded(handbook: Dataset) -> tuple[LabelledAnswer, ...]:
    return recorded_answers(handbook, ROOT / "experiments" / "handbook" / "recorded" / "answers.jsonl")


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("attribution_page", ROOT / "docs" / "attribution.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_with_labels_as_judge_causes_are_recovered_and_right_answers_not_blamed(planted: tuple[LabelledAnswer, ...]) -> None:
    quality = evaluate(by_labels(planted))
    assert [each.cause for each in quality.causes] == list(OWN_CAUSES)
    assert all(each.cases >= 40 and each.recall.value >= 0.85 for each in quality.causes)
    assert quality.macro_f1.value >= 0.9
    assert quality.sound >= 100
    assert quality.false_blame.value <= 0.05


def test_of_two_faults_the_earlier_layer_is_named(cases: tuple[PlantedCase, ...]) -> None:
    doubles = by_labels(planted_answers([case for case in cases if len(case.broken) == 2]))
    assert sum(each.cause == each.attributed for each in doubles) >= 0.95 * len(doubles) > 30


def test_recorded_faults_have_their_causes_and_attacked_answers_none(recorded: tuple[LabelledAnswer, ...]) -> None:
    assert len(recorded) == 270
    assert {each.cause for each in recorded} == {
        "rank",
        "refusal",
        "contradiction",
        "unsupported",
        "off_topic",
        "unused",
        "unrefused",
        NONE,
    }
    assert all(each.cause == each.attributed for each in by_labels(recorded))


def test_the_page_is_what_the_command_writes(
    writer: ModuleType, planted: tuple[LabelledAnswer, ...], recorded: tuple[LabelledAnswer, ...]
) -> None:
    text = (ROOT / "docs" / "attribution.md").read_text("utf-8")
    parts = {"planted-labels": writer.tables(by_labels(planted)), "recorded-labels": writer.summary(by_labels(recorded))}
    assert writer.page(text, parts) == text
    assert all(text.count(line(part)) == 1 for part in writer.PARTS for line in (writer.begin, writer.end))


def test_a_score_names_only_causes_that_need_no_judge_of_claims(recorded: tuple[LabelledAnswer, ...], tmp_path: Path) -> None:
    overlap = OverlapJudge()
    judging = Judging(claims=SentenceSplitter(), support=overlap, relevance=overlap, correctness=overlap)
    answers = [*recorded[:12], *(each for each in recorded if each.cause in ("refusal", "unrefused"))][:24]
    judged = judged_answers(answers, judging, AnswerResources(VectorCache(tmp_path / "vectors"), CallResources()))
    named = by_judges(answers, judged, JudgeRoles(claims=False, relevance=False))
    assert {each.attributed for each in named} <= {"rank", "refusal", "unrefused", "unsure", NONE}
    assert all(each.attributed == each.cause for each in named if each.cause in ("refusal", "unrefused"))


def test_a_judge_that_fails_leaves_a_planted_failure_unsure(cases: tuple[PlantedCase, ...]) -> None:
    unsure = planted_answers([case for case in cases if case.broken == ("unsure",)])
    assert unsure
    assert not any(each.judged for each in unsure)
    assert {each.attributed for each in by_labels(unsure)} == {"unsure"}
    right = planted_answers([case for case in cases if case.case_id.endswith("unjudged")])
    assert {each.attributed for each in by_labels(right)} == {NONE}
