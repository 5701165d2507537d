"""Files of answers: what they mean, and one line for each mistake."""

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT
from workbench.components.answering.base import AnswerRequest, AnswerResources
from workbench.components.answering.recorded import RecordedGenerator
from workbench.components.embedding.embed import MemoryVectorCache
from workbench.core.errors import InputError
from workbench.core.records import Answer, Passage, Query, Variant
from workbench.llm.session import CallResources

BERTH, PILOT = Query("q1", "what is a berth"), Query("q2", "who pays the pilot")
PASSAGES = [Passage("d", 0, 1, "a"), Passage("d", 1, 2, "b")]
HANDBOOK = ROOT / "experiments" / "handbook" / "recorded" / "answers.jsonl"


@pytest.fixture
def recorded(tmp_path: Path):
    def write(*lines: object) -> RecordedGenerator:
        (tmp_path / "answers.jsonl").write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return RecordedGenerator(path=str(tmp_path / "answers.jsonl"))

    return write


def answer_of(generator: RecordedGenerator, query: Query, variant: Variant) -> Answer:
    resources = AnswerResources(MemoryVectorCache(), CallResources())
    ((place, answer),) = generator.answer([AnswerRequest(query, PASSAGES, variant)], resources)
    assert place == 0
    return answer


def test_a_line_answers_a_question_by_its_id_or_its_text(recorded) -> None:
    generator = recorded(
        {"query_id": "q1", "answer": "A place [1].", "citations": [0, 7], "confidence": 1, "refused": False, "correct": True},
        {"query": "who pays the pilot", "answer": "The ship."},
    )
    expected = Answer("A place [1].", (0,), 1, refused=False, correct=True)
    assert answer_of(generator, BERTH, Variant("retrieved")) == expected
    assert answer_of(generator, PILOT, Variant("retrieved")) == Answer("The ship.")


def test_a_line_can_say_that_the_answer_was_cut_off(recorded) -> None:
    generator = recorded(
        {"query_id": "q1", "answer": "A place for", "truncated": True}, {"query_id": "q2", "answer": "The ship.", "truncated": False}
    )
    assert answer_of(generator, BERTH, Variant()) == Answer("A place for", truncated=True)
    assert answer_of(generator, PILOT, Variant()) == Answer("The ship.", truncated=False)


def test_a_line_with_an_error_has_no_answer_and_its_reason(recorded) -> None:
    generator = recorded({"query_id": "q1", "answer": None, "error": "timeout"}, {"query_id": "q2", "answer": "The ship.", "error": None})
    assert answer_of(generator, BERTH, Variant()) == Answer(error="the recorded request failed: timeout")
    assert answer_of(generator, PILOT, Variant()) == Answer("The ship.")


def test_conditions_and_perturbations_have_answers_of_their_own(recorded) -> None:
    generator = recorded(
        {"query_id": "q1", "answer": "retrieved"},
        {"query_id": "q1", "condition": "injection", "answer": "any"},
        {"query_id": "q1", "condition": "injection", "variant": "override", "answer": "override"},
    )
    variants = [Variant(), Variant("injection", "authority"), Variant("injection", "override"), Variant("injection", "override", 2)]
    assert [answer_of(generator, BERTH, variant).text for variant in variants] == ["retrieved", "any", "override", "override"]
    assert answer_of(generator, BERTH, Variant("gold")) == Answer(error="no recorded answer")
    assert answer_of(generator, PILOT, Variant()) == Answer(error="no recorded answer")


def test_an_answer_to_an_earlier_wording_is_an_error(recorded) -> None:
    generator = recorded({"query_id": "q1", "query": "what was a berth", "answer": "A place."})
    assert answer_of(generator, BERTH, Variant()).error == "the recorded answer is to an earlier wording of the question"


def test_the_answers_of_the_handbook_are_read_as_they_are() -> None:
    generator = RecordedGenerator(path=str(HANDBOOK))
    row = json.loads(HANDBOOK.read_text("utf-8").splitlines()[0])
    answer = answer_of(generator, Query(row["query_id"], "any"), Variant(row["condition"]))
    assert (answer.text, answer.correct, answer.refused) == (row["answer"], row["correct"], row["behaviour"] == "refused")
    assert answer_of(generator, Query("hb-001", "any"), Variant("counterfactual", "after")).correct is not None


def test_the_content_is_in_the_identity_and_the_path_is_not(recorded, tmp_path: Path) -> None:
    first = recorded({"query_id": "q1", "answer": "a"}).identity()
    (tmp_path / "moved.jsonl").write_text((tmp_path / "answers.jsonl").read_text())
    assert RecordedGenerator(path=str(tmp_path / "moved.jsonl")).identity() == first
    assert recorded({"query_id": "q1", "answer": "b"}).identity() != first


def test_a_changed_file_is_read_again(recorded) -> None:
    recorded({"query_id": "q1", "answer": "a quay"}).check()
    assert answer_of(recorded({"query_id": "q1", "answer": "a longer text"}), BERTH, Variant()).text == "a longer text"


def test_a_bad_line_is_one_line(recorded, wording) -> None:
    wording(
        lambda line: recorded(line).check(),
        [
            "{'a': 1}",
            "[1]",
            {"query_id": "q1", "answr": "a"},
            {"query_id": 7, "answer": "a"},
            {"query_id": "q1", "answer": None},
            {"query_id": "q1"},
            {"answer": "a"},
            {"query_id": "q1", "answer": "a", "citations": [-1]},
            {"query_id": "q1", "answer": "a", "citations": "1"},
            {"query_id": "q1", "answer": "a", "confidence": 2},
            {"query_id": "q1", "answer": "a", "behaviour": ["kept"]},
            {"query_id": "q1", "answer": "a", "correct": "yes"},
            {"query_id": "q1", "answer": "a", "condition": "retreived"},
            {"query_id": "q1", "answer": "a", "condition": "counterfactual", "variant": "behind"},
            {"query_id": "q1", "answer": "a", "variant": "before"},
            "",
        ],
    )


def test_two_answers_to_a_question_under_a_condition_are_one_line(recorded) -> None:
    row = {"query_id": "q1", "answer": "a"}
    with pytest.raises(InputError, match=r"answers.jsonl:2 answers the query_id 'q1' under 'retrieved' again, as .*:1 does; remove one"):
        recorded(row, row).check()


def test_a_file_that_does_not_exist_is_one_line() -> None:
    with pytest.raises(InputError, match=r"nowhere.jsonl cannot be read \(No such file or directory\); correct path"):
        RecordedGenerator(path="nowhere.jsonl").check()
