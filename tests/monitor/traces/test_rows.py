"""The spans of a trace become one row: what counts, in which order, and what does not."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.monitor.traces.conftest import TRACE, pairs, request, span, value, write_lines
from workbench.monitor.traces import TraceRows, read_traces
from workbench.systems.recorded.traces.trace import HIDDEN, NOT_CAPTURED

ROOT = span(0, None, {"openinference.span.kind": "CHAIN", "input.value": "fee?"}, seconds=20)


def documents(name: str, *ids: str) -> dict[str, Any]:
    return {f"{name}.{place}.document.id": doc_id for place, doc_id in enumerate(ids)}


def retriever(place: int, parent: int | None, *ids: str, **fields: Any) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "RETRIEVER", "input.value": f"search {place}", **documents("retrieval.documents", *ids)}
    return span(place, parent, attributes | fields.pop("more", {}), **fields)


def model(place: int, parent: int | None, answer: str | None = None, **attributes: Any) -> dict[str, Any]:
    said = {} if answer is None else {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": answer}
    return span(place, parent, {"openinference.span.kind": "LLM", **said, **attributes})


@pytest.fixture
def read(tmp_path: Path):
    def reading(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> TraceRows:
        return read_traces(write_lines(tmp_path / "t.jsonl", request(*spans, resource=resource)))

    return reading


def one(found: TraceRows) -> dict[str, Any]:
    (row,) = found.rows
    return dict(row)


def test_several_retrievals_keep_their_order_and_rerankers_replace_those_before_them(read) -> None:
    def reranker(place: int, *ids: str) -> dict[str, Any]:
        attributes = {"openinference.span.kind": "RERANKER", **documents("reranker.output_documents", *ids)}
        return span(place, 0, attributes, seconds=0.25)

    first, second, third = retriever(1, 0, "a", "b"), retriever(2, 0, "c", "a"), retriever(4, 0, "e")
    row = one(read(third, second, reranker(3, "c", "b", "new"), first, ROOT))
    assert [(hit["doc_id"], hit["hop"]) for hit in row["hits"]] == [("c", 1), ("b", 0), ("new", 1), ("e", 2)]
    assert row["hops"] == [{"query": f"search {place}", "seconds": 0.5} for place in (1, 2, 4)]
    assert (row["rewritten"], row["retrieval_seconds"], row["reranking_seconds"]) == ("search 1", 1.5, 0.25)
    row = one(read(ROOT, first, reranker(2, "b"), third, reranker(5, "e")))
    assert [(hit["doc_id"], hit["hop"]) for hit in row["hits"]] == [("b", 0), ("e", 1)]


def test_a_retriever_inside_another_is_counted_once(read) -> None:
    row = one(read(ROOT, retriever(1, 0, "a"), retriever(2, 1, "a")))
    assert [hit["doc_id"] for hit in row["hits"]] == ["a"]
    assert len(row["hops"]) == 1
    # The outer one records nothing: the inner ones are the hops.
    outer = span(1, 0, {"openinference.span.kind": "RETRIEVER", "input.value": "all", "error.type": "x"})
    assert [hit["hop"] for hit in one(read(ROOT, outer, retriever(2, 1, "a"), retriever(3, 1, "b")))["hits"]] == [1, 2]


def test_a_retriever_of_openinference_without_documents_found_none_if_others_record_theirs(read) -> None:
    other = [item | {"traceId": "1" * 32} for item in (ROOT, retriever(2, 0, "a"))]
    found = {row["id"]: row for row in read(ROOT, retriever(1, 0), *other).rows}
    assert (found[TRACE]["hits"], found["1" * 32]["hits"]) == ([], [{"doc_id": "a", "hop": 0}])
    assert "hits" not in one(read(ROOT, retriever(1, 0)))
    empty = retriever(1, 0, more={"retrieval.documents": []})
    assert one(read(ROOT, empty))["hits"] == []


def test_ids_and_scores_come_from_the_output_or_the_metadata_of_a_document(read) -> None:
    text = {
        "retrieval.documents.0.document.content": "A night costs 18 EUR.",
        "retrieval.documents.0.document.metadata": '{"source": "fees.md"}',
    }
    assert one(read(ROOT, retriever(1, 0, more=text)))["hits"][0]["doc_id"] == "fees.md"
    scored = text | {
        "output.value": '{"documents": [{"id": 7, "page_content": "x"}]}',
        "retrieval.documents.0.document.metadata": '{"score": 0.5}',
    }
    hit = one(read(ROOT, retriever(1, 0, more=scored)))["hits"][0]
    assert hit == {"doc_id": "7", "text": "A night costs 18 EUR.", "score": 0.5, "hop": 0, "metadata": {"score": 0.5}}


def test_redacted_values_are_no_texts(read) -> None:
    hidden = span(0, None, {"openinference.span.kind": "CHAIN", "input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert read(hidden, model(1, 0)).left_out == {HIDDEN: 1}
    row = one(
        read(ROOT, retriever(1, 0, more={"retrieval.documents.0.document.content": "__REDACTED__"} | documents("retrieval.documents", "a")))
    )
    assert row["hits"] == [{"doc_id": "a", "hop": 0}]
    assert "answer" not in one(read(ROOT, model(1, 0, "__REDACTED__")))


def test_tokens_and_cost_are_summed_over_model_calls_but_not_over_the_judges_or_twice(read) -> None:
    tokens = {"llm.token_count.prompt": 10, "llm.token_count.completion": 2, "llm.cost.total": 0.25}
    root = span(0, None, {"openinference.span.kind": "CHAIN", "input.value": "fee?", **tokens}, seconds=20)
    judge = span(4, 0, {"openinference.span.kind": "EVALUATOR"})
    row = one(
        read(root, model(1, 0, "a", **tokens), model(2, 1, "a", **tokens), model(3, 0, "b", **tokens), judge, model(5, 4, "bad", **tokens))
    )
    assert (row["input_tokens"], row["output_tokens"], row["cost"], row["answer"]) == (20, 4, 0.5, "b")
    assert row["generation_seconds"] == 1.0
    # Only the sum of a whole trace is known.
    assert one(read(root, model(1, 0, "a")))["input_tokens"] == 10


def test_messages_are_structured_or_json_and_reasoning_and_tool_calls_are_no_answer(read) -> None:
    asked = [
        {"role": "user", "parts": [{"type": "text", "content": "Hello"}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "Hi"}]},
        {"role": "user", "parts": [{"type": "text", "content": "What is "}, {"type": "text", "content": "the fee?"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "18"}]},
    ]
    said = [{"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}, {"type": "text", "content": "18 EUR"}]}]
    call = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "fee", "arguments": {}}]}]
    base = {"gen_ai.operation.name": "chat"}
    first = span(
        1, 0, base | {"gen_ai.input.messages": asked, "gen_ai.output.messages": said, "gen_ai.response.finish_reasons": ["length"]}
    )
    row = one(read(span(0, None, {}, seconds=9), first))
    assert (row["query"], row["answer"], row["truncated"]) == ("What is the fee?", "18 EUR", True)
    # The last call only calls a tool.
    row = one(read(span(0, None, {}, seconds=9), first, span(2, 0, base | {"gen_ai.output.messages": call})))
    assert row["answer"] == "18 EUR"


def test_names_of_older_conventions_are_read(read) -> None:
    old = {
        "gen_ai.operation.name": "text_completion",
        "gen_ai.system": "openai",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "fee?",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "18",
        "gen_ai.usage.prompt_tokens": 3,
        "gen_ai.usage.completion_tokens": 1,
    }
    row = one(read(span(0, None, old)))
    assert [row[name] for name in ("query", "answer", "input_tokens", "output_tokens")] == ["fee?", "18", 3, 1]


def test_errors_are_those_of_the_root_or_of_the_last_failure_without_an_answer(read) -> None:
    failed = model(1, 0, **{"error.type": "RateLimitError"}) | {"status": {"code": 2, "message": "too many requests"}}
    assert one(read(ROOT, failed))["error"] == "RateLimitError: too many requests"
    assert "error" not in one(read(ROOT, failed, model(2, 0, "18")))
    event = {"name": "exception", "attributes": [{"key": "exception.type", "value": {"stringValue": "KeyError"}}]}
    assert one(read(ROOT | {"status": {"code": 2}, "events": [event]}, model(1, 0, "18")))["error"] == "KeyError"
    assert one(read(ROOT | {"status": {"code": 2}}))["error"] == "the span has an error"


def test_a_trace_without_its_root_is_read(read) -> None:
    row = one(
        read(
            retriever(1, 0, "a"),
            model(3, 0, "18", **{"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "fee?"}),
        )
    )
    assert (row["query"], row["answer"], row["seconds"]) == ("fee?", "18", 2.5)
    assert row["hits"] == [{"doc_id": "a", "hop": 0}]


def test_traces_without_a_question_are_counted_with_the_reason(read) -> None:
    assert read(span(0, None, {"http.request.method": "GET"})).left_out == {"a trace without a question": 1}
    assert read(span(0, None, {"gen_ai.operation.name": "embeddings"})).left_out == {NOT_CAPTURED: 1}
    tool = span(0, None, {"openinference.span.kind": "TOOL", "input.value": "not a question"})
    assert read(tool).left_out == {"a trace without a question": 1}


def test_a_trace_without_a_time_is_counted(read) -> None:
    assert read(ROOT | {"startTimeUnixNano": "0"}).left_out == {"a trace with no time": 1}
    assert read(ROOT | {"startTimeUnixNano": str(2**63)}).rows[0]["time"].startswith("2262-")


def test_a_conversation_keeps_its_turns_by_time(tmp_path: Path) -> None:
    def turn(place: int, session: str) -> dict[str, Any]:
        attributes = {"openinference.span.kind": "CHAIN", "input.value": f"q{place}", "session.id": session}
        return request(span(place, None, attributes) | {"traceId": f"{place + 1:032x}"})

    rows = read_traces(write_lines(tmp_path / "t.jsonl", turn(2, "a"), turn(1, "b"), turn(0, "a"))).rows
    assert [(row["query"], row["session"], row["turn"]) for row in rows] == [("q0", "a", 1), ("q1", "b", 1), ("q2", "a", 2)]


def test_spans_that_call_each_other_end(read) -> None:
    loop = [model(place, (place + 1) % 3, "x", **{"llm.input_messages.0.message.role": "user"}) for place in range(3)]
    assert read(*loop).left_out == {"a trace without a question": 1}
    chain = [ROOT, *(span(place, place - 1, {}, seconds=0) for place in range(1, 600)), model(600, 599, "18")]
    assert one(read(*chain))["query"] == "fee?"


def test_a_trace_of_very_many_nested_spans_ends_and_the_spans_beyond_are_counted(read) -> None:
    found = read(ROOT, *(model(place + 1, place) for place in range(12_000)))
    assert one(found)["query"] == "fee?"
    assert found.left_out == {"a span beyond the first 10,000 of a trace": 2_001}


def test_user_session_and_versions_come_from_any_span(read) -> None:
    about = {
        "session.id": "s",
        "metadata": '{"user_id": "u", "release": "3", "prompt_version": "p1", "ls_provider": "x", "configuration": "fixed-256"}',
        "tag.tags": ["web", "index:2026-11", "prompt_version:p0"],
    }
    row = one(read(ROOT, model(1, 0, "18", **about), resource={"service.version": "2"}))
    assert (row["session"], row["user"], row["configuration"]) == ("s", "u", "fixed-256")
    assert row["versions"] == {"release": "2", "prompt": "p1", "index": "2026-11"}


def test_evaluations_on_spans_are_kept_once_and_thumbs_are_feedback(read) -> None:
    def rated(prefix: str, **fields: Any) -> dict[str, Any]:
        return {f"{prefix}s.0.{prefix.removeprefix('trace.')}.{name}": item for name, item in fields.items()}

    whole = rated("trace.evaluation", name="helpful", score=1.0, annotator_kind="CODE")
    thumb = rated("annotation", name="user-feedback", score=0, explanation="wrong berth")
    row = one(read(ROOT, model(1, 0, "18", **whole, **thumb), retriever(2, 0, "a", more=whole)))
    assert row["evaluations"] == [{"name": "helpful", "score": 1.0, "judge": "CODE"}]
    assert row["feedback"] == [{"kind": "thumb", "value": -1, "text": "wrong berth"}]


def test_a_message_that_langchain_serialized_is_the_answer(read) -> None:
    message = '{"type": "ai", "data": {"content": "18 EUR", "type": "ai", "name": null, "tool_calls": []}}'
    root = span(0, None, {"openinference.span.kind": "CHAIN", "input.value": '{"question": "fee?"}', "output.value": message})
    row = one(read(root))
    assert (row["query"], row["answer"]) == ("fee?", "18 EUR")


def logs(*records: tuple[int, str, dict[str, Any], dict[str, Any]]) -> dict[str, Any]:
    """Log records with a place of a span, a name, attributes and a body."""
    made = [
        {"traceId": TRACE, "spanId": f"{place + 1:016x}", "eventName": name, "attributes": pairs(attributes), "body": value(body)}
        for place, name, attributes, body in records
    ]
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": made}]}]}


ASKED = [{"role": "user", "parts": [{"type": "text", "content": "fee?"}]}]
SAID = [{"role": "assistant", "parts": [{"type": "text", "content": "18 EUR"}]}]
DETAILS = "gen_ai.client.inference.operation.details"


def test_messages_that_are_events_are_those_of_their_span(tmp_path: Path) -> None:
    chat = span(1, 0, {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 3})
    whole = {"gen_ai.input.messages": ASKED, "gen_ai.output.messages": SAID}
    each = [
        (1, "gen_ai.system.message", {}, {"content": "Be short."}),
        (1, "gen_ai.user.message", {}, {"content": "fee?"}),
        (1, "gen_ai.choice", {}, {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "18 EUR"}}),
    ]
    for events in (logs((1, DETAILS, whole, {})), logs(*each)):
        # A folder has the files of both signals, in any order.
        found = read_traces(write_lines(tmp_path / "a.jsonl", events), write_lines(tmp_path / "b.jsonl", request(span(0, None, {}), chat)))
        assert [one(found)[name] for name in ("query", "answer", "input_tokens")] == ["fee?", "18 EUR", 3]
        assert found.left_out == {}
    event = {"name": DETAILS, "attributes": pairs({name: json.dumps(messages) for name, messages in whole.items()})}
    found = read_traces(write_lines(tmp_path / "c.jsonl", request(span(0, None, {}), chat | {"events": [event]})))
    assert [one(found)[name] for name in ("query", "answer")] == ["fee?", "18 EUR"]


def test_a_message_of_a_span_that_is_not_recorded_is_counted(tmp_path: Path) -> None:
    events = logs((7, "gen_ai.choice", {}, {"message": {"content": "x"}}), (0, "app.started", {}, {}))
    found = read_traces(write_lines(tmp_path / "a.jsonl", request(ROOT), events))
    expected = {"a log record of another kind": 1, "a log record with messages of a span that is not recorded": 1}
    assert (len(found.rows), found.left_out) == (1, expected)


def test_an_evaluation_of_a_conversation_is_at_its_last_turn_once(tmp_path: Path) -> None:
    about = {"session.id": "s", "session.evaluations.0.evaluation.name": "solved", "session.evaluations.0.evaluation.score": 1.0}
    turns = [
        request(span(place, None, {"openinference.span.kind": "CHAIN", "input.value": "q", **about}) | {"traceId": f"{place + 1:032x}"})
        for place in range(3)
    ]
    rows = read_traces(write_lines(tmp_path / "t.jsonl", *turns)).rows
    assert [row.get("evaluations") for row in rows] == [None, None, [{"name": "solved", "score": 1.0}]]


def test_the_second_of_two_rerankers_replaces_the_first(read) -> None:
    def reranker(place: int, *ids: str) -> dict[str, Any]:
        return span(place, 0, {"openinference.span.kind": "RERANKER", **documents("reranker.output_documents", *ids)})

    row = one(read(ROOT, retriever(1, 0, "a", "b", "c"), reranker(2, "c", "b"), reranker(3, "b"), retriever(4, 0, "d")))
    assert [(hit["doc_id"], hit["hop"]) for hit in row["hits"]] == [("b", 0), ("d", 1)]


def test_documents_and_errors_that_only_the_output_of_the_application_has(read) -> None:
    output = json.dumps({"answer": "18 EUR", "documents": [{"id": "fees.md"}]})
    assert one(read(span(0, None, {"input.value": "fee?", "output.value": output})))["hits"] == [{"doc_id": "fees.md", "hop": 0}]
    row = one(read(span(0, None, {"input.value": "fee?", "output.value": '{"error": "no index"}'})))
    assert (row["error"], row.get("answer")) == ("no index", None)
    plain = {"input.value": "fee?", "output.value": '{"fee": 18}', "output.mime_type": "text/plain"}
    assert one(read(span(0, None, plain)))["answer"] == '{"fee": 18}'


def test_names_of_attributes_that_are_made_to_be_long_are_names(read) -> None:
    made = {"openinference.span.kind": "CHAIN", "input.value": "fee?", "a." * 100_000: 1, "." * 50: 1, "..": 2, "": 3}
    made |= {f"retrieval.documents.{10**9 - place}.document.id": "x" for place in range(3)} | {"input": "other", "metadata.1": 5}
    assert one(read(span(0, None, made)))["query"] == "fee?"
    # A list whose places are no numbers that Python reads.
    assert read(span(0, None, {"input.value": "fee?", f"a.{'9' * 5000}": 1})).left_out == {"a span that cannot be read": 1}


def test_the_error_of_a_span_is_read_without_the_keys_of_the_environment(read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_API_KEY", secret := "k-9f8e7d6c5b4a")
    headers = {"http.request.header.authorization": f"Bearer {secret}", "url.full": f"https://host/v1?key={secret}"}
    attributes = {"openinference.span.kind": "CHAIN", "input.value": "fee?", **headers}
    row = one(read(span(0, None, attributes, status={"code": 2, "message": f"401: wrong key {secret}"})))
    assert row["error"] == "401: wrong key …"
    assert secret not in str(row)
