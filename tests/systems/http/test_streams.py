"""Answers that arrive as server-sent events."""

from typing import Any

import pytest

from tests.systems.http.service import events
from tests.systems.http.sessions import QUERY, answered, failure, target_of

PLAIN = {"url": "answer", "body": {"q": "{query}"}, "reply": {"text": "$.text"}, "stream": {}}


def chunk(**delta: Any) -> dict[str, Any]:
    return {"model": "rag-1", "choices": [{"index": 0, "delta": delta}]}


def reason(target) -> str:
    return str(failure(target)).partition(": ")[2]


def test_chunks_of_an_openai_compatible_server_are_joined(service):
    usage = {"model": "rag-1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    service.faults = [events(chunk(role="assistant", content=""), chunk(content="Par"), chunk(content="is"), chunk(), usage, "[DONE]")]
    answer = answered(target_of(service, preset="openai-chat-stream", model="rag"))
    assert (answer.text, answer.model, answer.input_tokens, answer.output_tokens, answer.truncated) == ("Paris", "rag-1", 5, 2, None)
    assert service.requests[0][2] == {"model": "rag", "messages": [{"role": "user", "content": QUERY.text}], "stream": True}


@pytest.mark.parametrize("last", [(), ({"model": "rag-1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},)])
def test_a_stream_that_stops_at_the_token_limit_is_cut_off(service, last):
    end = {"model": "rag-1", "choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
    service.faults = [events(chunk(content="Par"), end, *last, "[DONE]")]
    assert answered(target_of(service, preset="openai-chat-stream", model="rag")).truncated is True


def ended(finish: str, **delta: Any) -> dict[str, Any]:
    return {"model": "rag-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def test_parts_of_reasoning_in_a_stream_are_no_answer(service):
    thought = chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "Rome?"}]}])
    service.faults = [events(thought, chunk(content=[{"type": "text", "text": "Par"}]), chunk(content="is"), ended("stop"), "[DONE]")]
    assert answered(target_of(service, preset="openai-chat-stream")).text == "Paris"
    service.faults = [events(chunk(role="assistant", content=""), thought, ended("length"), "[DONE]")]
    expected = "the reply is reasoning without an answer because it used all of its tokens"
    assert reason(target_of(service, preset="openai-chat-stream")).endswith(expected)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([{"content": ""}, {"reasoning_content": "Rome?"}], "the reply is reasoning without an answer"),
        ([{"reasoning": "Rome?"}], "the reply is reasoning without an answer"),
        ([{"content": ""}, {"tool_calls": [{"index": 0}]}], "the model called a tool in place of an answer"),
    ],
)
def test_a_stream_without_a_text_says_what_it_has_instead(service, parts, expected):
    service.faults = [events(*[chunk(**part) for part in parts], ended("stop"), "[DONE]")]
    assert reason(target_of(service, preset="openai-chat-stream")).endswith(expected)


def test_a_stream_whose_model_broke_off_is_asked_again(service, monkeypatch):
    monkeypatch.setattr("workbench.systems.http.session.back_off", lambda *_: 0)
    broken = events(chunk(content="Par"), ended("error", content=""), "[DONE]")
    service.faults = [broken, events(chunk(content="Paris"), ended("stop"), "[DONE]")]
    assert answered(target_of(service, preset="openai-chat-stream")).text == "Paris"
    service.faults = [broken] * 2
    assert reason(target_of(service, preset="openai-chat-stream")).endswith("the reply broke off (error) (2 tries)")


@pytest.mark.parametrize(
    "event",
    [
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": {"code": 502, "message": "upstream"}}]},
        {"error": {"message": "upstream", "code": 502}},
        {"type": "error", "message": "upstream", "status": 502},
    ],
)
def test_an_error_in_an_event_is_that_of_the_stream_and_repeated_where_it_may_pass(service, monkeypatch, event):
    monkeypatch.setattr("workbench.systems.http.session.back_off", lambda *_: 0)
    service.faults = [events(chunk(content="The "), event, "[DONE]")] * 2
    assert reason(target_of(service, preset="openai-chat-stream")).endswith("the stream reports an error: upstream (2 tries)")


def test_the_stream_of_langserve_has_text_and_documents(service):
    names = {0: "metadata", 1: "data", 2: "data", 3: "data", 4: "end"}
    context = {"context": [{"page_content": "A.", "metadata": {"doc_id": "a"}}]}
    service.faults = [events({"run_id": "1"}, context, '"Par"', {"answer": "is"}, "null", names=names)]
    answer = answered(target_of(service, preset="langserve-stream"))
    assert answer.text == "Paris"
    assert [(hit.doc_id, hit.text) for hit in answer.sources] == [("a", "A.")]
    assert service.requests[0][:2] == ("POST", "/stream")


def test_plain_events_are_text_also_if_they_look_like_json(service):
    service.faults = [events("There are ", "42", " cats, ", '{"so": 1}')]
    assert answered(target_of(service, answer=PLAIN)).text == 'There are 42 cats, {"so": 1}'


def test_sources_and_marks_are_read_from_the_events(service):
    block = {
        **PLAIN,
        "stream": {"delta": "$.token", "end": "stop"},
        "reply": {
            "text": "$.text",
            "sources": {"hits": "$.events[*].sources[*]", "id": "id"},
            "confidence": "$.events[-1].sure",
            "degraded": [{"path": "$.events[*].method", "in": ["fallback"]}],
        },
    }
    sources = {"sources": [{"id": "a"}, {"id": "b"}]}
    service.faults = [events(sources, {"token": "Yes."}, {"sure": 0.5}, "stop")]
    answer = answered(target_of(service, answer=block))
    assert (answer.text, [hit.doc_id for hit in answer.sources], answer.confidence) == ("Yes.", ["a", "b"], 0.5)
    service.faults = [events(sources, {"token": "Yes.", "method": "fallback"}, {"sure": 0.5}, "stop")]
    assert "degraded: $.events[*].method is the text 'fallback'" in reason(target_of(service, answer=block))


def test_what_follows_the_end_is_not_read(service):
    service.faults = [events(chunk(content="Paris"), "[DONE]", "{not JSON")]
    assert answered(target_of(service, preset="openai-chat-stream")).text == "Paris"


def test_a_stream_that_fails_is_one_line(service, wording):
    def reason_of(fault):
        service.faults = [fault]
        return reason(target_of(service, preset="openai-chat-stream"))

    faults = {
        "no end": events(chunk(content="Par")),
        "an error in an event": events(chunk(content="Par"), {"error": {"message": "out of memory"}}),
        "an event of an error": events(chunk(content="Par"), {"message": "it broke"}, names={1: "error"}),
        "no JSON": events("{not JSON"),
        "no content": events(chunk(role="assistant"), "[DONE]"),
        "no events": events("[DONE]"),
        "JSON": {"raw": b'{"choices": []}'},
        "HTML": {"raw": b"<html><title>Sign in</title>", "headers": {"content-type": "text/html"}},
        "16 MB": events("x" * (16 * 2**20)),
    }
    wording(reason_of, faults, None)
    assert len(service.requests) == len(faults)


def test_a_stream_that_breaks_off_is_asked_again(service):
    service.faults = [
        {"cut": b'data: {"token": "Par"}\n\n', "headers": {"content-type": "text/event-stream"}},
        events({"token": "Paris"}, "stop"),
    ]
    assert answered(target_of(service, answer={**PLAIN, "stream": {"delta": "$.token", "end": "stop"}})).text == "Paris"
