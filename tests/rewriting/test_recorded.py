"""Reply files: what they mean, and one line for each mistake."""

import json
from pathlib import Path

import pytest

from workbench.errors import ExperimentError, InputError
from workbench.experiment.read import experiment_of
from workbench.records import Query
from workbench.rewriting.base import RewrittenText
from workbench.rewriting.recorded import RecordedRewriter

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


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{'a': 1}", r"replies.jsonl:1 is not JSON .*double quotes"),
        ("[1]", r"replies.jsonl:1 is a list, not an object"),
        (
            {"query_id": "q1", "rewrite": ["a"]},
            r"replies.jsonl:1 has the key 'rewrite' \(did you mean 'rewrites'\?\); a reply has query_id",
        ),
        ({"query_id": "q1", "rewrites": "a"}, "replies.jsonl:1 has rewrites that are not a list of texts; write for example"),
        ({"query_id": "q1", "rewrites": [" "]}, "replies.jsonl:1 has rewrites that are not a list of texts"),
        ({"query_id": 7, "rewrites": ["a"]}, "replies.jsonl:1 has a number as query_id; write a text"),
        ({"query_id": "q1", "document": ""}, "replies.jsonl:1 has a blank text as document; write a text"),
        ({"query_id": "q1", "document": "a", "keep_original": "yes"}, "replies.jsonl:1 has keep_original 'yes'; write true or false"),
        ({"rewrites": ["a"]}, "replies.jsonl:1 names no question; write its id as query_id"),
        ({"query_id": "q1"}, "replies.jsonl:1 has neither rewrites nor document; write one of them"),
        ({"query_id": "q1", "rewrites": ["a"], "document": "b"}, "replies.jsonl:1 has both rewrites and document; write one of them"),
    ],
)
def test_a_bad_line_is_one_line_when_the_experiment_is_read(recorded, line: object, says: str) -> None:
    rewriter = recorded(line)
    settings = {
        "name": "recorded",
        "dataset": {"kind": "golden", "path": "nowhere"},
        "pipeline": {"retrieval": {"kind": "bm25"}, "rewrite": {"kind": "recorded", "path": rewriter.path}},
    }
    with pytest.raises(ExperimentError, match=f"^rewrite: .*{says}") as error:
        experiment_of(settings, "here")
    assert len(error.value.lines) == 1


def test_a_file_that_does_not_exist_is_one_line() -> None:
    with pytest.raises(InputError, match=r"nowhere.jsonl cannot be read \(No such file or directory\); correct path"):
        RecordedRewriter(path="nowhere.jsonl").check()


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (GOOD[:1], r"replies.jsonl has no reply for the question 'q2' \('who pays the pilot'\); add a line for each question"),
        ([*GOOD, {"query_id": "q3", "document": "a"}], r"replies.jsonl:3: no question has the query_id 'q3'.*; remove the line"),
        ([*GOOD, {"query": "why", "document": "a"}], "replies.jsonl:3: no question has the text 'why'; remove the line"),
        (
            [{**GOOD[0], "query": "an older wording"}, GOOD[1]],
            "replies.jsonl:1: the question 'q1' is now 'what is a berth', not 'an older wording'",
        ),
        ([*GOOD, GOOD[0]], "replies.jsonl:3 replies to the query_id 'q1' again, as .*replies.jsonl:1 does; remove one of them"),
        (
            [*GOOD, {"query": "who pays the pilot", "document": "a"}],
            "replies.jsonl:3 .*replies.jsonl:2",
        ),
    ],
)
def test_replies_that_do_not_fit_the_questions_are_one_line(recorded, lines: list[object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        recorded(*lines).check_questions(QUESTIONS)


def test_a_changed_file_is_read_again(recorded) -> None:
    recorded(*GOOD).check_questions(QUESTIONS)
    assert recorded(GOOD[1], {"query_id": "q1", "document": "a quay"}).rewrite(QUESTIONS)[0] == (RewrittenText("a quay", "document"),)
