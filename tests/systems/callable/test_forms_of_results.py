"""What functions return, as hits and answers."""

import datetime
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pydantic import BaseModel

from tests.systems.callable.conftest import answered, fields, searched
from workbench.core.records import TargetHit
from workbench.systems.base import TargetError
from workbench.systems.callable.target import PythonTarget


@dataclass
class Found:
    doc_id: str
    start: int
    end: int
    score: float = 0.5
    section: str = "pay"


class Model(BaseModel):
    answer: str
    sources: list[dict[str, Any]]
    confidence: float


Row = namedtuple("Row", "id text")


def hits(value: object, **settings: Any) -> list[TargetHit]:
    return searched(PythonTarget(name="mine", search=lambda _: value, **settings))


def test_hits_are_read_from_every_form() -> None:
    forms: list[tuple[Any, list[dict[str, Any]]]] = [
        (["a", "b"], [{"doc_id": "a"}, {"doc_id": "b"}]),
        ([7, np.int64(8)], [{"doc_id": "7"}, {"doc_id": "8"}]),
        (np.array(["a", "b"]), [{"doc_id": "a"}, {"doc_id": "b"}]),
        ([("a", 0.5), ["b", np.float32(0.25)]], [{"doc_id": "a", "score": 0.5}, {"doc_id": "b", "score": 0.25}]),
        ({"a": 0.1, "b": 0.9}, [{"doc_id": "b", "score": 0.9}, {"doc_id": "a", "score": 0.1}]),
        ({}, []),
        ([], []),
        (None, []),
        ([{"id": "a", "text": "A", "page": 3}], [{"doc_id": "a", "text": "A", "metadata": {"page": 3}}]),
        ([{"text": "A", "metadata": {"doc_id": "a"}}], [{"doc_id": "a", "text": "A", "metadata": {"doc_id": "a"}}]),
        ([({"id": "a"}, 0.5)], [{"doc_id": "a", "score": 0.5}]),
        ({"results": [{"document_id": "a", "score": 2}]}, [{"doc_id": "a", "score": 2}]),
        ({"answer": "yes", "sources": ["a"]}, [{"doc_id": "a"}]),
        ({"contexts": ["A text"]}, [{"text": "A text"}]),
        ([Found("a", 3, 9)], [{"doc_id": "a", "score": 0.5, "start": 3, "end": 9, "metadata": {"section": "pay"}}]),
        ([Row("a", "A")], [{"doc_id": "a", "text": "A"}]),
        (pd.DataFrame({"id": ["a"], "score": [0.5]}), [{"doc_id": "a", "score": 0.5}]),
        *(([{"id": "a", "score": score}], [{"doc_id": "a"}]) for score in (float("nan"), 10**400, True, "high")),
    ]
    assert [[fields(hit) for hit in hits(value)] for value, _ in forms] == [expected for _, expected in forms]


def test_texts_are_ids_or_passages_as_the_settings_say() -> None:
    assert hits(["leave"]) == [TargetHit("leave")]
    assert hits(["Leave is paid."], hits="texts") == [TargetHit(text="Leave is paid.")]
    assert hits([("Leave is paid.", 0.5)], hits="texts") == [TargetHit(text="Leave is paid.", score=0.5)]


def test_no_more_hits_than_asked_for_are_kept() -> None:
    assert [hit.doc_id for hit in hits(list("abcde"))] == ["a", "b", "c"]


def test_metadata_keeps_only_what_json_can_express() -> None:
    given = {"day": datetime.date(2026, 1, 2), "vector": np.zeros(3), "tags": ["a"], "nan": float("nan"), "page": np.int64(4)}
    given |= {"noon": np.datetime64("2026-01-02T12", "ns"), "month": np.datetime64("2026-01"), "age": np.timedelta64(5, "ns")}
    (hit,) = hits([{"id": "a", "metadata": given}])
    known = {"day": "2026-01-02", "tags": ["a"], "page": 4, "noon": "2026-01-02 12:00:00", "month": "2026-01-01"}
    assert hit.metadata == known


def test_another_form_of_hits_is_an_error_that_names_it_and_the_accepted_forms(wording) -> None:
    values = {
        "a text": "leave",
        "a set": {"a", "b"},
        "a number": 3,
        "a mapping without hits": {"status": "ok", "code": 3},
        "an object without hits": Model(answer="A", sources=[{"x": []}], confidence=1),
        "a list of None": [None],
        "a pair of texts": [("a", "b")],
        "a score alone": [{"score": 0.5}],
        "a list of an empty text": [""],
        "an empty id": [{"doc_id": ""}],
        "an id of bytes": [{"doc_id": b"a"}],
        "an id in a list": [{"id": ["a", 1], "score": 0.5}],
        "an id with digits after the point": [({"document_id": 1.5}, 0.5)],
        "an id that is a mapping": [Found({"a": 1}, 3, 9)],
        "an id that is an array": [{"doc_id": np.array([1, 2])}],
        "an id that is a duration": [{"doc_id": np.timedelta64(1, "ns")}],
        "bytes": [b"a"],
        "scores that are durations": {"a": np.timedelta64(1, "ns"), "b": np.timedelta64(2, "ns")},
        "a pair of an id and a duration": [("a", np.timedelta64(1, "ns"))],
    }
    wording(hits, values, TargetError)


# The item of a time of numpy in nanoseconds is a whole number.
@pytest.mark.parametrize(
    "score",
    [
        *(datetime.timedelta(1), datetime.date(2026, 1, 2), datetime.time(1), pd.Timedelta(1), pd.Timestamp(1), b"1"),
        *(np.timedelta64(1, "ns"), np.timedelta64(1, "D"), np.datetime64("2026-01-02", "ns"), np.datetime64("2026-01-02")),
    ],
)
def test_a_time_and_bytes_are_no_score(score: object) -> None:
    for hit in ({"id": "a", "score": score}, {"node": {"id": "a"}, "similarity": score}):
        with pytest.raises(TargetError, match=rf"^the score of a hit is {type(score).__name__}, not a number$"):
            hits([hit])
    for value in ([("a", score)], {"a": score}):
        with pytest.raises(TargetError, match=f"{'a hit is tuple' if isinstance(value, list) else 'the result is no list of hits'}"):
            hits(value)


def answer(value: object) -> Any:
    return answered(PythonTarget(name="mine", answer=lambda _: value))


def test_answers_are_read_from_every_form() -> None:
    forms: list[tuple[Any, str, list[str] | None]] = [
        ("Yes.", "Yes.", None),
        (("Yes.", ["a"]), "Yes.", ["a"]),
        (("Yes.", None), "Yes.", None),
        ({"answer": "Yes.", "sources": [{"id": "a"}]}, "Yes.", ["a"]),
        ({"result": "Yes.", "source_documents": []}, "Yes.", []),
        ({"answer": "Yes.", "context": "a prompt"}, "Yes.", None),
        (Model(answer="Yes.", sources=[{"id": "a"}], confidence=0.5), "Yes.", ["a"]),
        ({"answer": {"content": [{"type": "text", "text": "Y"}, {"type": "text", "text": "es."}]}}, "Yes.", None),
        ({"answer": None, "refused": True}, "", None),
        ("", "", None),
    ]
    found = [answer(value) for value, *_ in forms]
    sources = [None if each.sources is None else [hit.doc_id for hit in each.sources] for each in found]
    assert list(zip([each.text for each in found], sources, strict=True)) == [form[1:] for form in forms]


DOUBT = "It opens in May, or in June, and Martha has the keys."
TEXT = {"type": "text", "text": "Nobody knows."}


@pytest.mark.parametrize(
    "value",
    [
        {"answer": [{"type": "reasoning", "text": DOUBT}, TEXT]},
        {"content": [{"text": DOUBT, "thought": True}, {"text": "Nobody knows."}]},
        {"content": [{"type": "thinking", "thinking": DOUBT}, {"type": "redacted_thinking", "data": "x"}, TEXT]},
        {"output": [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": DOUBT}]}, {"type": "message", "content": [TEXT]}]},
        {"output": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": DOUBT}]}, {"type": "message", "content": [TEXT]}]},
        {"answer": {"content": ["Nobody ", {"type": "text", "text": {"value": "knows."}}, {"type": "reference", "reference_ids": [1]}]}},
    ],
)
def test_a_content_of_parts_is_read_without_its_reasoning(value: Any) -> None:
    assert answer(value).text == "Nobody knows."


@pytest.mark.parametrize("kind", ["tool_result", "search_result", "image_url"])
def test_a_content_with_a_part_that_is_no_text_is_no_answer(kind: str) -> None:
    with pytest.raises(TargetError, match=f"the answer has a part of type '{kind}', which is no text"):
        answer({"content": [{"type": kind, "content": "A page of the handbook."}, TEXT]})


def test_an_answer_may_report_confidence_refusal_and_the_use_of_a_model() -> None:
    found = answer(
        {"answer": "No.", "confidence": 0.25, "refused": False, "input_tokens": 9, "output_tokens": 2, "model": "m", "cost": 0.5}
    )
    assert (found.confidence, found.refused, found.input_tokens, found.output_tokens, found.model, found.cost) == (
        0.25,
        False,
        9,
        2,
        "m",
        0.5,
    )


def test_an_answer_may_report_that_it_was_cut_off() -> None:
    values: list[tuple[Any, bool | None]] = [
        ({"answer": "No, and", "truncated": True}, True),
        ({"answer": "No, and", "finish_reason": "length"}, True),
        ({"answer": "No.", "finish_reason": "stop"}, False),
        ({"content": "No, and", "response_metadata": {"stop_reason": "max_tokens"}}, True),
        ({"answer": "No."}, None),
        ("No.", None),
    ]
    assert [answer(value).truncated for value, _ in values] == [truncated for _, truncated in values]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"answer": "", "finish_reason": "length"}, "the answer is empty because it used all of its tokens"),
        ({"answer": "", "reasoning": "In May?"}, "the reply is reasoning without an answer"),
        ({"answer": None, "reasoning": "In May?"}, "the reply is reasoning without an answer"),
        ({"content": [{"type": "thinking", "thinking": "In May?"}]}, "the reply is reasoning without an answer"),
        ({"content": "", "additional_kwargs": {"reasoning_content": "In May?"}}, "the reply is reasoning without an answer"),
        ({"answer": "It opens in", "finish_reason": "network_error"}, r"the reply broke off \(network_error\)"),
        ({"content": "It", "response_metadata": {"finish_reason": "RECITATION"}}, "the provider's safety filter refused the answer"),
        ({"content": "Let me look.", "tool_calls": [{"name": "search"}]}, "the model called a tool in place of an answer"),
        ({"content": "I look.", "stop_reason": "tool_use"}, "the model called a tool in place of an answer"),
    ],
)
def test_a_reply_that_is_no_answer_is_an_error_with_its_reason(value: Any, expected: str) -> None:
    with pytest.raises(TargetError, match=expected):
        answer(value)


class Failed:
    """A reply of a client, with an error in place of its text."""

    answer, error = None, RuntimeError("no such collection")


@pytest.mark.parametrize(
    "value",
    [
        {"error": "no such collection"},
        {"answer": "Sorry, something went wrong.", "error": {"message": "no such collection", "code": 429}},
        {"answer": "", "status": "error", "message": "no such collection"},
        {"success": False, "detail": "no such collection"},
        '{"error": {"message": "no such collection"}}',
        ({"answer": "Sorry.", "error": "no such collection"}, []),
        Failed(),
    ],
)
def test_a_result_that_declares_an_error_is_that_error(value: Any) -> None:
    with pytest.raises(TargetError, match="the result is an error: no such collection"):
        answer(value)


@pytest.mark.parametrize(
    "value", [{"results": [], "status": 503, "message": "away"}, {"documents": [], "error": "away"}, {"error": "away"}]
)
def test_no_hits_beside_an_error_are_that_error(value: Any) -> None:
    with pytest.raises(TargetError, match="the result is an error: away"):
        hits(value)


def test_an_empty_text_of_a_complete_reply_is_an_empty_answer() -> None:
    values = [{"answer": ""}, {"answer": "", "finish_reason": "stop"}, {"content": "", "tool_calls": []}, ("", [])]
    assert [answer(value).text for value in values] == [""] * len(values)


def test_another_form_of_an_answer_is_an_error_that_names_it_and_the_accepted_forms(wording) -> None:
    wording(answer, [None, ["a"], {"reply": "Yes."}, {"answer": None}, (3, ["a"]), ("Yes.", "a"), Found("a", 1, 2)], TargetError)
