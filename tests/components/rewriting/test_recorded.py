"""Reply files: what they mean, and one line for each mistake."""

import json
from pathlib import Path

import pytest

from workbench.components.rewriting.base import RewrittenText
from workbench.components.rewriting.recorded import RecordedRewriter
from workbench.core.errors import ExperimentError, InputError
from workbench.core.records import Query
from workbench.runner.experiment.read import experiment_of

QUESTIONS = [Query("q1", "what is a berth"), Query("q2", "who pays the pilot")]
GOOD = [
    {"query_id": "q1", "rewrites": ["berth", "mooring"], "keep_original": True},
    {"query": "who pays the pilot", "document": "The ship pays."},
]


@pytest.fixture
def recorded(tmp_path: Path):
    def write(*lines: object) -> RecordedRewriter:
        (tmp_path / "replies.jsonl").write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return RecordedRewriter(path=str(tmp_path / "replies.jsonl"))

    return write


def test_a_reply_replaces_or_joins_the_question(recorded) -> None:
    texts = recorded(*GOOD).rewrite(QUESTIONS)
    assert [list(each) for each in texts] == [
        [RewrittenText("what is a berth"), RewrittenText("berth"), RewrittenText("mooring")],
        [RewrittenText("The ship pays.", "document")],
    ]


def test_the_content_is_in_the_identity_and_the_path_is_not(recorded, tmp_path: Path) -> None:
    first = recorded(*GOOD).identity()
    (tmp_path / "moved.jsonl").write_text((tmp_path / "replies.jsonl").read_text())
    assert RecordedRewriter(path=str(tmp_path / "moved.jsonl")).identity() == first
    assert recorded(*GOOD[::-1]).identity() != first


def test_a_bad_line_is_one_line_when_the_experiment_is_read(recorded, wording) -> None:
    def read(line: object) -> None:
        pipeline = {"retrieval": {"kind": "bm25"}, "rewrite": {"kind": "recorded", "path": recorded(line).path}}
        experiment_of({"name": "recorded", "dataset": {"kind": "golden", "path": "nowhere"}, "pipeline": pipeline}, "here")

    wording(
        read,
        [
            "{'a': 1}",
            "[1]",
            {"query_id": "q1", "rewrite": ["a"]},
            {"query_id": "q1", "rewrites": "a"},
            {"query_id": "q1", "rewrites": [" "]},
            {"query_id": 7, "rewrites": ["a"]},
            {"query_id": "q1", "document": ""},
            {"query_id": "q1", "document": "a", "keep_original": "yes"},
            {"rewrites": ["a"]},
            {"query_id": "q1"},
            {"query_id": "q1", "rewrites": ["a"], "document": "b"},
        ],
        ExperimentError,
    )


def test_a_file_that_does_not_exist_is_one_line() -> None:
    with pytest.raises(InputError, match=r"nowhere.jsonl cannot be read \(No such file or directory\); correct path"):
        RecordedRewriter(path="nowhere.jsonl").check()


def test_replies_that_do_not_fit_the_questions_are_one_line(recorded, wording) -> None:
    wording(
        lambda lines: recorded(*lines).check_questions(QUESTIONS),
        {
            "a question without a reply": GOOD[:1],
            "an unknown id": [*GOOD, {"query_id": "q3", "document": "a"}],
            "an unknown text": [*GOOD, {"query": "why", "document": "a"}],
            "an older wording": [{**GOOD[0], "query": "an older wording"}, GOOD[1]],
            "an id twice": [*GOOD, GOOD[0]],
            "an id and its text": [*GOOD, {"query": "who pays the pilot", "document": "a"}],
        },
    )


def test_a_changed_file_is_read_again(recorded) -> None:
    recorded(*GOOD).check_questions(QUESTIONS)
    assert recorded(GOOD[1], {"query_id": "q1", "document": "a quay"}).rewrite(QUESTIONS)[0] == (RewrittenText("a quay", "document"),)
