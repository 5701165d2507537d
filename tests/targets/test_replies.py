"""Hits and answers in the JSON of replies."""

from typing import Any

import pytest
from pydantic import ValidationError

from workbench.targets.base import TargetError, TargetHit
from workbench.targets.replies import AnswerPaths, DegradedMarker, HitPaths

ROWS = {"results": [{"id": 3, "body": "Cats.", "score": 1}, {"id": "b", "body": None, "score": None}], "took": 1}
# As Chroma replies to one question.
COLUMNS = {"ids": [["a", "b"]], "documents": [["A.", "B."]], "metadatas": [[None, {"page": 1}]], "distances": [[0.1, 0.2]]}


def line_of(paths: HitPaths | AnswerPaths, reply: Any) -> str:
    with pytest.raises(TargetError) as caught:
        paths.read(reply)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_hits_are_read_from_a_list_of_records():
    paths = HitPaths(hits="$.results", id="id", text="$.body", score="score")
    assert paths.read(ROWS) == [TargetHit("3", "Cats.", 1.0), TargetHit("b")]


def test_hits_are_read_from_parallel_lists():
    paths = HitPaths(columns=True, id="$.ids[0]", text="$.documents[0]", metadata="$.metadatas[0]", score="$.distances[0]")
    assert paths.read(COLUMNS) == [TargetHit("a", "A.", 0.1), TargetHit("b", "B.", 0.2, metadata={"page": 1})]


def test_hits_are_read_from_lists_of_ids_or_texts_alone():
    assert HitPaths(hits="$.ids[0]", id="$").read(COLUMNS) == [TargetHit("a"), TargetHit("b")]
    assert HitPaths(text="$").read(['{"not": "parsed"}']) == [TargetHit(text='{"not": "parsed"}')]


def test_a_path_with_a_wildcard_or_a_filter_names_the_hits_one_by_one():
    reply = {"groups": [{"hits": [{"id": "a", "t": "x"}]}, {"hits": [{"id": "b", "t": "y"}]}]}
    assert HitPaths(hits="$.groups[*].hits[*]", id="id").read(reply) == [TargetHit("a"), TargetHit("b")]
    assert HitPaths(hits="$.groups[*].hits[?@.t == 'y']", id="id").read(reply) == [TargetHit("b")]


@pytest.mark.parametrize(
    ("path", "reply"),
    [
        ("$.r", {"r": []}),
        ("$.r", {"r": None}),
        ("$.r[*]", {"r": []}),
        ("$.r[?@.t == 'x']", {"r": [{"t": "y"}]}),
        ("$.g[*].r[*]", {"g": []}),
    ],
)
def test_an_empty_list_has_no_hits(path, reply):
    assert HitPaths(hits=path, id="id").read(reply) == []


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"hits": "$.result", "id": "id"}, "the reply has no $.result; its keys are results and took"),
        ({"hits": "$.result[*]", "id": "id"}, "the reply has no $.result[*]; its keys are results and took"),
        ({"hits": "$.took", "id": "id"}, "$.took of the reply is 1, not a list"),
        ({"hits": "$.results", "id": "doc_id"}, "no hit of the reply has doc_id; of the first, its keys are id, body and score"),
        ({"hits": "$.results", "id": "id", "score": "body"}, "body of hit 1 is the text 'Cats.', not a finite number"),
        ({"hits": "$.results", "text": "body"}, "hit 2 of the reply has no id, text or metadata that could name its document"),
        ({"hits": ["$.hits", "$.documents"], "id": "id"}, "the reply has no $.hits or $.documents; its keys are results and took"),
    ],
)
def test_a_wrong_path_is_named_with_the_keys_of_the_reply(settings, line):
    assert line_of(HitPaths(**settings), ROWS) == line


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"id": "$.ids"}, "value 1 of $.ids of the reply is a list of 2, not a text or a whole number"),
        ({"id": "$.ids[1]"}, "the reply has no $.ids[1]; its keys are ids, documents, metadatas and distances"),
        ({"id": "$.ids[0]", "text": "$.documents"}, "value 1 of $.documents of the reply is a list of 2, not a text"),
        ({"id": "$.ids[0]", "text": "$.documents[0][:1]"}, "the reply has 2 values of id but 1 of text"),
    ],
)
def test_wrong_columns_are_named(settings, line):
    assert line_of(HitPaths(columns=True, **settings), COLUMNS) == line


@pytest.mark.parametrize("reply", [3, "text", None, [], True])
def test_a_reply_that_is_no_mapping_is_described(reply):
    assert line_of(HitPaths(hits="$.results", id="id"), reply).startswith("the reply has no $.results; it is ")


@pytest.mark.parametrize("score", [True, "high", float("nan"), float("inf"), 10**400, [1]])
def test_a_score_that_is_no_finite_number_is_refused(score):
    assert line_of(HitPaths(id="id", score="score"), [{"id": "a", "score": score}]).endswith("not a finite number")


def test_the_first_alternative_of_the_right_type_counts_and_none_has_to_exist():
    paths = HitPaths(id=["doc_id", "id", "$"], score=["score", "similarity"])
    assert paths.read([{"doc_id": {"x": 1}, "id": "a", "similarity": 0.5}]) == [TargetHit("a", score=0.5)]
    assert paths.read(["a", "b"]) == [TargetHit("a"), TargetHit("b")]


def test_an_answer_is_read_with_what_comes_with_it():
    paths = AnswerPaths(
        text="$.answer",
        sources={"hits": "$.sources", "id": "id"},
        refused="$.refused",
        confidence="$.sure",
        model="$.model",
        input_tokens="$.usage.in",
        output_tokens="$.usage.out",
    )
    answer = paths.read(
        {"answer": "Yes.", "sources": [{"id": 1}], "refused": False, "sure": 0.5, "model": "m", "usage": {"in": 3, "out": 2}}
    )
    assert (answer.text, answer.sources, answer.refused, answer.confidence) == ("Yes.", (TargetHit("1"),), False, 0.5)
    assert (answer.model, answer.input_tokens, answer.output_tokens) == ("m", 3, 2)


def test_several_texts_of_one_path_are_joined():
    reply = {"content": [{"type": "text", "text": "Ye"}, {"type": "tool"}, {"type": "text", "text": "s."}]}
    assert AnswerPaths(text="$.content[?@.type == 'text'].text").read(reply).text == "Yes."


def test_sources_at_alternative_paths_may_be_missing():
    paths = AnswerPaths(text="$.answer", sources={"hits": ["$.sources", "$.context"], "id": "id"})
    assert paths.read({"answer": "Yes."}).sources is None
    assert paths.read({"answer": "Yes.", "context": []}).sources == ()
    single = AnswerPaths(text="$.answer", sources={"hits": "$.sources", "id": "id"})
    assert line_of(single, {"answer": "Yes."}) == "the reply has no $.sources; its keys are answer"


@pytest.mark.parametrize(
    ("field", "reply", "line"),
    [
        ("text", {"text": None}, "$.text of the reply is null, not a text"),
        ("text", {"other": 1}, "the reply has no $.text; its keys are other"),
        ("refused", {"text": "a", "refused": "no"}, "$.refused of the reply is the text 'no', not true or false"),
        ("confidence", {"text": "a"}, "the reply has no $.confidence; its keys are text"),
    ],
)
def test_a_wrong_path_of_an_answer_is_named(field, reply, line):
    assert line_of(AnswerPaths(**{"text": "$.text", field: f"$.{field}"}), reply) == line


@pytest.mark.parametrize(
    ("marker", "reply", "line"),
    [
        ({"path": "$.method", "in": ["error", "timeout"]}, {"method": "timeout"}, "$.method is the text 'timeout'"),
        ({"path": "$.ok", "equals": False}, {"ok": False}, "$.ok is false"),
        ({"path": "$.answer", "is_null": True}, {"answer": None}, "$.answer is null"),
        ({"path": "$.answer", "is_null": True}, {}, "$.answer is missing"),
        ({"path": "$.steps[*].state", "equals": "failed"}, {"steps": [{"state": "done"}, {"state": "failed"}]}, "is the text 'failed'"),
    ],
)
def test_a_degraded_reply_fails_with_its_marker_before_anything_is_read(marker, reply, line):
    for paths in (AnswerPaths(text="$.nowhere", degraded=[marker]), HitPaths(hits="$.nowhere", id="id", degraded=[marker])):
        assert line_of(paths, reply).startswith("the reply is marked as degraded: ")
        assert line_of(paths, reply).endswith(line)


def test_one_and_true_are_different_marks():
    assert AnswerPaths(text="$.a", degraded=[{"path": "$.n", "equals": True}]).read({"a": "x", "n": 1}).text == "x"


@pytest.mark.parametrize("settings", [{}, {"equals": None}, {"equals": 1, "is_null": True}, {"in": []}, {"in": [1], "equals": 1}])
def test_a_marker_has_exactly_one_test(settings):
    with pytest.raises(ValidationError, match="give exactly one of equals"):
        DegradedMarker(path="$.a", **settings)


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"hits": "$.a"}, "at least one of id, text and metadata"),
        ({"hits": "$[", "id": "id"}, "is no JSONPath such as"),
        ({"hits": "$.a | $.b", "id": "id"}, "write a list of paths"),
        ({"hits": "$.a", "columns": True, "id": "$.b"}, "leave out hits with columns: true"),
        ({"id": ""}, "at least 1 character"),
    ],
)
def test_settings_that_cannot_read_a_hit_are_refused(settings, line):
    with pytest.raises(ValidationError, match=line.replace("$", r"\$")):
        HitPaths(**settings)


def test_settings_survive_a_round_trip():
    paths = AnswerPaths(text="$.a", sources={"hits": "$.s", "id": ["id", "$"]}, degraded=[{"path": "$.m", "in": [1]}])
    assert AnswerPaths(**paths.model_dump(mode="json")) == paths


def test_a_reply_that_is_nested_too_deeply_is_one_line():
    deep: Any = {"id": 1}
    for _ in range(5000):
        deep = [deep]
    assert line_of(HitPaths(hits="$..id", id="$"), deep) == "$..id cannot be read from the reply, which is nested too deeply"
