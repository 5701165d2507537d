"""A target of recorded results: what it can do, what identifies it, and the questions without a result."""

import asyncio
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import pytrec_eval

from tests.conftest import ROOT
from tests.systems.recorded.conftest import BERTH, PILOT, answer, search
from workbench.core.errors import InputError
from workbench.core.records import Answer, Passage, Query, TargetHit
from workbench.llm.session import CallResources
from workbench.systems.base import TargetDownError, TargetError, TargetResources
from workbench.systems.recorded.target import RecordedTarget
from workbench.systems.registry import TARGETS

HANDBOOK = ROOT / "experiments" / "handbook" / "recorded" / "answers.jsonl"
ROW = {"query_id": "q1", "hits": [{"doc_id": "quay", "text": "A berth is a place.", "score": 0.5, "start": 3, "end": 22}, "harbour"]}


def test_the_kind_is_registered() -> None:
    assert TARGETS["recorded"] is RecordedTarget


def test_hits_come_in_their_order_and_no_more_than_are_asked_for(recorded) -> None:
    target = recorded("run.jsonl", [ROW])
    assert list(search(target)) == [TargetHit("quay", "A berth is a place.", 0.5, 3, 22), TargetHit("harbour")]
    assert list(search(target, k=1)) == [TargetHit("quay", "A berth is a place.", 0.5, 3, 22)]


def test_a_question_is_found_by_its_id_or_by_its_text(recorded) -> None:
    target = recorded("run.jsonl", [ROW, {"query": "Who pays the pilot? ", "hits": ["pilot"]}])
    assert [hit.doc_id for hit in search(target, PILOT)] == ["pilot"]
    assert [hit.doc_id for hit in search(target, Query("q1", "any wording"))] == ["quay", "harbour"]


def test_a_question_without_a_result_is_a_failure_of_its_own(recorded) -> None:
    target = recorded("run.jsonl", [ROW, {"query_id": "q3", "answer": "a text"}, {"query_id": "q4", "query": "an old wording", "hits": []}])
    for ask, query, reason in [
        (search, PILOT, "no recorded result"),
        (answer, PILOT, "no recorded result"),
        (answer, BERTH, "no recorded answer"),
        (search, Query("q3", "x"), "no recorded hits"),
        (search, Query("q4", "x"), "the recorded result is to an earlier wording of the question"),
    ]:
        with pytest.raises(TargetError, match=f"^{reason}$"):
            ask(target, query)
    assert list(search(target, Query("q4", "an old wording"))) == []


def test_a_row_with_an_error_is_a_failure_with_its_reason_and_keeps_its_hits(recorded) -> None:
    broken = [
        {"query_id": "q2", "error": "timeout", "answer": None},
        {"query_id": "q3", "hits": ["pilot"], "error": "quota", "answer": "Pil"},
    ]
    target = recorded("run.jsonl", [ROW, *broken, {"query_id": "q4", "hits": [], "answer": "a", "error": None}])
    for ask, query, reason in [(search, "q2", "timeout"), (answer, "q2", "timeout"), (answer, "q3", "quota")]:
        with pytest.raises(TargetError, match=f"^the recorded request failed: {reason}$"):
            ask(target, Query(query, "x"))
    assert list(search(target, Query("q3", "x"))) == [TargetHit("pilot")]
    assert answer(target, Query("q4", "x")).text == "a"


def test_an_answer_has_its_sources_or_else_the_hits(recorded) -> None:
    rows = [
        {
            "query_id": "q1",
            "hits": ["a", "b"],
            "answer": "A place.",
            "sources": ["b"],
            "refused": False,
            "confidence": 0.5,
            "truncated": True,
        },
        {"query_id": "q2", "hits": ["a", "b"], "answer": "The ship.", "behaviour": "refused"},
    ]
    target = recorded("answers.jsonl", rows)
    assert answer(target) == Answer(text="A place.", sources=(TargetHit("b"),), refused=False, confidence=0.5, truncated=True)
    assert answer(target, PILOT) == Answer(text="The ship.", sources=(TargetHit("a"), TargetHit("b")), refused=True)


def test_a_recorded_answer_cannot_be_given_a_context(recorded) -> None:
    target = recorded("answers.jsonl", [{"query_id": "q1", "answer": "A place."}])
    assert not target.takes_context
    with pytest.raises(TargetError, match="cannot be given a context"):
        answer(target, BERTH, [Passage("d", 0, 1, "a")])


@pytest.mark.parametrize(
    ("row", "can"),
    [
        ({"hits": ["a"]}, (True, False, False)),
        ({"hits": [{"doc_id": "a", "start": 0, "end": 2}]}, (True, False, True)),
        ({"hits": [{"text": "a"}], "answer": "b"}, (True, True, True)),
        ({"answer": "b"}, (False, True, False)),
    ],
)
def test_the_file_says_what_the_target_can_do(recorded, row: dict[str, object], can: tuple[bool, bool, bool]) -> None:
    target = recorded("run.jsonl", [{"query_id": "q1"} | row])
    assert (target.searches, target.answers, target.gives_text) == can


def test_parquet_is_read_as_json_lines(tmp_path: Path) -> None:
    rows = [ROW | {"hits": [ROW["hits"][0], {"doc_id": "harbour"}], "answer": None}, {"query_id": "q2", "hits": [], "answer": "The ship."}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "run.parquet")
    target = RecordedTarget(name="other", path=str(tmp_path / "run.parquet"), format="parquet")
    assert list(search(target)) == [TargetHit("quay", "A berth is a place.", 0.5, 3, 22), TargetHit("harbour")]
    assert (list(search(target, PILOT)), answer(target, PILOT).text) == ([], "The ship.")


def test_a_trec_run_has_the_order_of_trec_eval_whatever_its_ranks_say(recorded) -> None:
    target = recorded("bm25.run", "q1 Q0 b 1 0.8 tag\nq2 Q0 c 1 3 tag\nq1 Q0 a%20b 2 0.9 tag\n")
    assert list(search(target)) == [TargetHit("a b", score=0.9), TargetHit("b", score=0.8)]
    lines, random = [], np.random.default_rng(5)
    names = [f"d{number}" for number in range(30)]
    # Scores that tie, some only as 32-bit floats, and ranks that mean nothing.
    scores = dict(zip(names, (random.integers(0, 9, 30) / 7 + random.integers(0, 2, 30) * 1e-12).tolist(), strict=True))
    for rank, name in enumerate(names, 1):
        lines.append(f"q1 Q0 {name} {rank} {scores[name]!r} tag\n")
    order = [hit.doc_id for hit in search(recorded("ties.run", "".join(lines)), k=30)]
    for name in names:
        found = pytrec_eval.RelevanceEvaluator({"q1": {name: 1}}, {"recip_rank"}).evaluate({"q1": scores})
        assert 1 / found["q1"]["recip_rank"] == pytest.approx(order.index(name) + 1)
    target = recorded("bm25.run", "q1 Q0 b 2 0.8 tag\nq2 Q0 c 1 3 tag\nq1 Q0 a%20b 1 0.9 tag\n")
    assert (target.answers, target.gives_text, target.identity()["format"]) == (False, False, "trec")


def test_a_question_without_a_line_in_a_trec_run_found_nothing_and_one_marked_as_not_scored_failed(recorded) -> None:
    target = recorded("bm25.run", "q7 Q0 a 1 0.9 tag\nq2 Q0 not-scored 1 0 tag\n")
    assert list(search(target, BERTH)) == []
    with pytest.raises(TargetError, match="the run has the line not-scored"):
        search(target, PILOT)
    empty = recorded("empty.run", "")
    assert (empty.searches, list(search(empty))) == (True, [])


def test_an_empty_list_of_hits_found_nothing_and_a_missing_row_was_not_asked(recorded) -> None:
    target = recorded("run.jsonl", [{"query_id": "q1", "hits": []}, {"query_id": "q3", "hits": ["a"]}])
    assert list(search(target, BERTH)) == []
    with pytest.raises(TargetError, match="no recorded result"):
        search(target, PILOT)


def test_answers_of_the_handbook_are_read_under_the_context_that_was_retrieved() -> None:
    rows = [json.loads(line) for line in HANDBOOK.read_text("utf-8").splitlines()]
    retrieved = next(row for row in rows if row.get("condition", "retrieved") == "retrieved")
    target = RecordedTarget(name="other", path=str(HANDBOOK))
    assert answer(target, Query(retrieved["query_id"], "any")).text == retrieved["answer"]


def test_the_content_and_the_format_identify_it_and_the_path_does_not(recorded, tmp_path: Path) -> None:
    first = recorded("run.jsonl", [ROW]).identity()
    assert recorded("moved.jsonl", [ROW], name="another", format="jsonl").identity() == first
    assert recorded("run.jsonl", [ROW | {"answer": "A place."}]).identity() != first
    assert str(tmp_path) not in json.dumps(first)
    ragas = [{"user_input": "What is a berth?", "response": "A place."}]
    ids = [recorded("a.jsonl", ragas, **settings).identity() for settings in ({}, {"fields": {"answer": "user_input"}})]
    assert ids[0] != ids[1]


def test_a_changed_file_is_read_again(recorded) -> None:
    assert answer(recorded("a.jsonl", [{"query_id": "q1", "answer": "a quay"}])).text == "a quay"
    assert answer(recorded("a.jsonl", [{"query_id": "q1", "answer": "a longer text"}])).text == "a longer text"


def test_a_file_that_is_gone_stops_the_session(recorded) -> None:
    target = recorded("run.jsonl", [ROW])
    os.remove(target.path)
    with pytest.raises(InputError, match=r"target 'other': .*run.jsonl cannot be read \(No such file or directory\); correct path"):
        target.check()

    async def open_session() -> None:
        async with target.session(TargetResources(CallResources())):
            raise AssertionError

    with pytest.raises(TargetDownError, match="cannot be read"):
        asyncio.run(open_session())


def test_a_folder_in_place_of_a_file_is_one_line(tmp_path: Path) -> None:
    for name in ("run.jsonl", "run.json", "run.csv", "run.parquet", "run.trec"):
        (tmp_path / name).mkdir()
        with pytest.raises(InputError) as error:
            RecordedTarget(name="other", path=str(tmp_path / name)).check()
        assert len(error.value.lines) == 1
        assert str(tmp_path / name) in str(error.value)


def test_a_bad_line_is_one_line(recorded, wording) -> None:
    wording(
        lambda line: recorded("run.jsonl", [line]).check(),
        [
            "{'a': 1}",
            {"query_id": "q1", "hit": []},
            {"query_id": "q1"},
            {"hits": []},
            {"query_id": "q1", "hits": {"doc_id": "a"}},
            {"query_id": "q1", "hits": [{"id": "a"}]},
            {"query_id": "q1", "hits": ["a", {"score": 1}]},
            {"query_id": "q1", "hits": [{"doc_id": "a", "score": "1"}]},
            {"query_id": "q1", "hits": [{"doc_id": "a", "score": 10**400}]},
            {"query_id": "q1", "hits": [{"doc_id": "a", "start": 3, "end": 3}]},
            {"query_id": "q1", "hits": [{"doc_id": "a", "end": 3}]},
            {"query_id": "q1", "answer": "a", "sources": [" "]},
            {"query_id": "q1", "hits": [], "condition": "retreived"},
            {"query_id": "q1", "answer": "a", "condition": "gold"},
            {"query_id": "q1", "error": 500},
            {"query_id": "q1", "error": " "},
            "",
        ],
    )


def test_two_results_of_a_question_are_one_line_and_equal_ones_are_one_result(recorded) -> None:
    assert search(recorded("run.jsonl", [ROW, ROW]))
    with pytest.raises(InputError, match=r"run.jsonl:2 has another result for the id 'q1' of .*run.jsonl:1; remove one of them, or choose"):
        recorded("run.jsonl", [ROW, ROW | {"hits": []}]).check()


def test_settings_without_use_and_a_bad_run_are_one_line(recorded) -> None:
    with pytest.raises(InputError, match="is read as trec, which has no use for where; leave it out, or set format"):
        recorded("a.run", "q1 Q0 d 1 1 t", where={"a": "b"}).check()
    with pytest.raises(InputError, match="is read as jsonl, which has no use for fields"):
        recorded("run.jsonl", [ROW], fields={"question": "q"}).check()
    with pytest.raises(InputError, match=r"a.run:1 has 2 fields, not the 6 of"):
        recorded("a.run", "q1 d").check()
    with pytest.raises(InputError, match=r"fields.questoin"):
        recorded("run.jsonl", [ROW], fields={"questoin": "q"})
