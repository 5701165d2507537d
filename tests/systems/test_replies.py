"""Hits and answers in the JSON of replies."""

from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from workbench.core.records import TargetHit
from workbench.systems.base import TargetError
from workbench.systems.replies import AnswerPaths, HitPaths, ReplySign

ROWS = {"results": [{"id": 3, "body": "Cats.", "score": 1}, {"id": "b", "body": None, "score": None}], "took": 1}
# As Chroma replies to one question.
COLUMNS = {"ids": [["a", "b"]], "documents": [["A.", "B."]], "metadatas": [[None, {"page": 1}]], "distances": [[0.1, 0.2]]}


def line_of(paths: HitPaths | AnswerPaths, reply: Any) -> str:
    with pytest.raises(TargetError) as caught:
        paths.read(reply)
    line = str(caught.value)
    assert "\n" not in line
    return line


def fault_of(model: type[BaseModel], settings: dict[str, Any]) -> str:
    """Return the first fault: older versions of pydantic name one for each member of a union."""
    with pytest.raises(ValidationError) as caught:
        model(**settings)
    return caught.value.errors()[0]["msg"]


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


def test_a_wrong_path_is_named_with_the_keys_of_the_reply(wording):
    wording(
        lambda settings: HitPaths(**settings).read(ROWS),
        [
            {"hits": "$.result", "id": "id"},
            {"hits": "$.result[*]", "id": "id"},
            {"hits": "$.took", "id": "id"},
            {"hits": "$.results", "id": "doc_id"},
            {"hits": "$.results", "id": "id", "score": "body"},
            {"hits": "$.results", "text": "body"},
            {"hits": ["$.hits", "$.documents"], "id": "id"},
        ],
        TargetError,
    )


def test_wrong_columns_are_named(wording):
    wording(
        lambda settings: HitPaths(columns=True, **settings).read(COLUMNS),
        [{"id": "$.ids"}, {"id": "$.ids[1]"}, {"id": "$.ids[0]", "text": "$.documents"}, {"id": "$.ids[0]", "text": "$.documents[0][:1]"}],
        TargetError,
    )


@pytest.mark.parametrize("reply", [3, "text", ["a"], True])
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


def test_a_content_of_parts_is_a_text():
    paths = AnswerPaths(text="$.message.content")
    parts = [{"type": "thinking", "thinking": "No?"}, {"type": "text", "text": "Ye"}, {"type": "text", "text": "s."}]
    assert paths.read({"message": {"content": parts}}).text == "Yes."
    assert (
        line_of(paths, {"message": {"content": [{"type": "image_url"}]}}) == "the answer has a part of type 'image_url', which is no text"
    )


@pytest.mark.parametrize(
    "parts",
    [
        [{"text": "No?", "thought": True}, {"text": "Yes."}],
        [{"text": "Yes."}],
        [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "No?"}]}, {"type": "message", "content": [{"text": "Yes."}]}],
    ],
)
def test_parts_without_a_type_and_messages_among_them_are_read(parts):
    assert AnswerPaths(text="$.parts").read({"parts": parts}).text == "Yes."


def test_sources_at_alternative_paths_may_be_missing():
    paths = AnswerPaths(text="$.answer", sources={"hits": ["$.sources", "$.context"], "id": "id"})
    assert paths.read({"answer": "Yes."}).sources is None
    assert paths.read({"answer": "Yes.", "context": []}).sources == ()
    single = AnswerPaths(text="$.answer", sources={"hits": "$.sources", "id": "id"})
    assert line_of(single, {"answer": "Yes."}) == "the reply has no $.sources; its keys are answer"


def test_a_wrong_path_of_an_answer_is_named(wording):
    cases = [("text", {"text": None}), ("text", {"other": 1}), ("refused", {"text": "a", "refused": "no"}), ("confidence", {"text": "a"})]
    wording(lambda case: AnswerPaths(**{"text": "$.text", case[0]: f"$.{case[0]}"}).read(case[1]), cases, TargetError)


def test_a_degraded_reply_fails_with_its_marker_before_anything_is_read(wording):
    def line(case):
        marker, reply = case
        found = line_of(HitPaths(hits="$.nowhere", id="id", degraded=[marker]), reply)
        assert line_of(AnswerPaths(text="$.nowhere", degraded=[marker]), reply) == found
        return found

    wording(
        line,
        [
            ({"path": "$.method", "in": ["error", "timeout"]}, {"method": "timeout"}),
            ({"path": "$.ok", "equals": False}, {"ok": False}),
            ({"path": "$.answer", "is_null": True}, {"answer": None}),
            ({"path": "$.answer", "is_null": True}, {}),
            ({"path": "$.steps[*].state", "equals": "failed"}, {"steps": [{"state": "done"}, {"state": "failed"}]}),
        ],
        None,
    )


def test_one_and_true_are_different_marks():
    assert AnswerPaths(text="$.a", degraded=[{"path": "$.n", "equals": True}]).read({"a": "x", "n": 1}).text == "x"


def test_a_marker_has_exactly_one_test(wording):
    wording(
        lambda settings: fault_of(ReplySign, {"path": "$.a"} | settings),
        [{}, {"equals": None}, {"equals": 1, "is_null": True}, {"in": []}, {"in": [1], "equals": 1}],
        None,
    )


def test_settings_that_cannot_read_a_hit_are_refused(wording):
    wording(
        lambda settings: fault_of(HitPaths, settings),
        [
            {"hits": "$.a"},
            {"hits": "$.a | $.b", "id": "id"},
            {"hits": "$.a", "columns": True, "id": "$.b"},
            {"id": ""},
        ],
        None,
    )
    with pytest.raises(ValidationError, match="is no JSONPath such as"):
        HitPaths(hits="$[", id="id")


def test_settings_survive_a_round_trip():
    paths = AnswerPaths(text="$.a", sources={"hits": "$.s", "id": ["id", "$"]}, degraded=[{"path": "$.m", "in": [1]}])
    assert AnswerPaths(**paths.model_dump(mode="json")) == paths


def test_a_reply_that_is_nested_too_deeply_is_one_line():
    deep: Any = {"id": 1}
    for _ in range(5000):
        deep = [deep]
    assert line_of(HitPaths(hits="$..id", id="$"), deep) == "$..id cannot be read from the reply, which is nested too deeply"


@pytest.mark.parametrize("reply", [None, {}, [], {"r": []}, {"r": None}, {"r": {}}, {"status": "no match"}, {"status": "none"}])
def test_a_reply_that_says_that_nothing_was_found_has_no_hits(reply):
    signs = [ReplySign(path="$.status", **{"in": ["no match", "none"]})]
    assert HitPaths(hits="$.r", id="id", empty=signs).read({"r": [{"id": "a"}]}) == [TargetHit("a")]
    assert HitPaths(hits="$.r.h" if reply == {"r": {}} else "$.r", id="id", empty=signs).read(reply) == []


def test_parallel_lists_without_a_list_for_the_question_have_no_hits():
    assert HitPaths(columns=True, id="$.ids[0]", text="$.documents[0]").read({"ids": [], "documents": []}) == []


@pytest.mark.parametrize("reply", [{"took": 3}, {"r": 3}, {"r": ""}, {"q": None}, "", 0, False])
def test_a_reply_of_another_form_is_a_failure(reply):
    assert line_of(HitPaths(hits="$.r", id="id"), reply)


def test_a_sign_of_a_failure_precedes_one_that_nothing_was_found():
    paths = HitPaths(hits="$.r", id="id", degraded=[ReplySign(path="$.e", equals=1)], empty=[ReplySign(path="$.r", is_null=True)])
    assert line_of(paths, {"e": 1}) == "the reply is marked as degraded: $.e is 1"
    assert paths.read({"e": 0}) == []
