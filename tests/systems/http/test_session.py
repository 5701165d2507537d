"""Requests to a service that works."""

import asyncio
import time

import pytest

from tests.systems.http.sessions import ANSWER, QUERY, SEARCH, answered, failure, in_session, searched, target_of
from workbench.core.records import Document, Passage, TargetHit
from workbench.systems.base import System

DOCUMENTS = [Document("a/1", "A.", "Title", {"year": 2024}), Document("b", "B."), Document("c", "C.")]
HITS = [TargetHit("cats", "Cats purr."), TargetHit("7", "Dogs bark.")]


def test_a_search_posts_the_template_and_reads_the_hits(service):
    assert searched(target_of(service, search=SEARCH)) == HITS
    assert service.requests == [("POST", "/search", {"q": QUERY.text, "n": 3})]
    assert service.headers[0]["content-type"] == "application/json"


def test_a_search_by_get_has_its_parameters_in_the_address(service):
    block = {**SEARCH, "method": "GET", "url": "search?v=2", "body": None, "params": {"q": "{query}", "k": "{k}", "tag": ["a&b", True]}}
    assert searched(target_of(service, search=block)) == HITS
    assert service.requests == [("GET", "/search?v=2&q=why+do+cats+purr%3F&k=3&tag=a%26b&tag=true", None)]


def test_more_hits_than_requested_are_cut(service):
    assert searched(target_of(service, search=SEARCH), k=1) == HITS[:1]


def test_an_answer_has_the_seconds_of_its_request(service):
    answer = answered(target_of(service, answer=ANSWER))
    assert answer.text == "They purr."
    assert answer.sources is None
    assert 0 < answer.seconds < 20


def test_an_answer_from_given_passages_sends_their_texts(service):
    target = target_of(service, answer={**ANSWER, "body": {"q": "{query}", "context": "{context}"}})
    assert target.takes_context
    answered(target, [Passage("cats", 0, 5, "Cats."), Passage("dogs", 0, 5, "Dogs.")])
    answered(target)
    assert [body for _, _, body in service.requests] == [{"q": QUERY.text, "context": ["Cats.", "Dogs."]}, {"q": QUERY.text}]


def test_a_target_without_a_slot_for_context_says_so(service):
    target = target_of(service, answer=ANSWER)
    assert not target.takes_context
    error = failure(target, lambda session: session.answer(QUERY, [Passage("cats", 0, 5, "Cats.")]))
    assert "the request of an answer has no {context}" in str(error)
    assert service.requests == []


def test_what_the_settings_do_not_name_fails_without_a_request(service):
    target = target_of(service, search=SEARCH)
    assert (target.searches, target.answers, target.ingests) == (True, False, False)
    for use in (lambda s: s.answer(QUERY), lambda s: s.ingest(DOCUMENTS), lambda s: s.remove(["a"])):
        assert "the target" in str(failure(target, use))
    assert service.requests == []


def test_documents_are_added_and_deleted_one_by_one(service):
    service.replies |= {"/documents/a%2F1": {}, "/documents/b": {}, "/documents/c": {}}
    target = target_of(
        service,
        search=SEARCH,
        ingest={"url": "documents/{doc_id}", "method": "PUT", "body": {"text": "{title} {text}", "meta": "{metadata}"}},
        remove={"url": "documents/{doc_id}"},
    )
    assert target.ingests

    async def use(session: System) -> None:
        await session.ingest(DOCUMENTS[:2])
        await session.remove(["a/1", "c"])

    in_session(target, use)
    assert service.requests == [
        ("PUT", "/documents/a%2F1", {"text": "Title A.", "meta": {"year": 2024}}),
        ("PUT", "/documents/b", {"text": " B.", "meta": {}}),
        ("DELETE", "/documents/a%2F1", None),
        ("DELETE", "/documents/c", None),
    ]


def test_documents_are_added_and_deleted_in_batches(service):
    service.replies |= {"/add": {"ok": True}, "/delete": {"ok": True}}
    target = target_of(
        service,
        search=SEARCH,
        ingest={"url": "add", "body": {"docs": "{documents}"}, "document": {"id": "{doc_id}", "t": "{text}"}, "batch": 2},
        remove={"url": "delete", "method": "POST", "body": {"ids": "{doc_ids}"}, "batch": 2},
    )

    async def use(session: System) -> None:
        await session.ingest(DOCUMENTS)
        await session.remove([document.doc_id for document in DOCUMENTS])

    in_session(target, use)
    assert [body for _, _, body in service.requests] == [
        {"docs": [{"id": "a/1", "t": "A."}, {"id": "b", "t": "B."}]},
        {"docs": [{"id": "c", "t": "C."}]},
        {"ids": ["a/1", "b"]},
        {"ids": ["c"]},
    ]


def test_ingesting_waits_until_the_service_says_that_documents_can_be_found(service):
    states = iter([{"indexed": 1}, {"indexed": 1}, {"indexed": 2}])
    service.replies |= {"/add": {}, "/state": lambda: next(states)}
    block = {"url": "add", "body": {"ids": "{doc_ids}"}, "ready": {"url": "state", "path": "$.indexed", "equals": 2}}
    in_session(target_of(service, search=SEARCH, ingest=block), lambda session: session.ingest(DOCUMENTS))
    assert [path for _, path, _ in service.requests] == ["/add", "/state", "/state", "/state"]


def test_waiting_for_an_index_is_bounded(service):
    service.replies |= {"/add": {}, "/state": {"indexed": False}}
    block = {"url": "add", "body": {"ids": "{doc_ids}"}, "ready": {"url": "state", "path": "$.indexed", "seconds": 0.2}}
    error = failure(target_of(service, search=SEARCH, ingest=block), lambda session: session.ingest(DOCUMENTS))
    assert str(error) == "the documents cannot be found after 0.2 seconds: $.indexed is not true"


def test_a_service_that_marks_a_failed_ingestion_is_believed(service):
    service.replies |= {"/add": {"errors": 2}}
    block = {"url": "add", "body": {"ids": "{doc_ids}"}, "degraded": [{"path": "$.errors", "equals": 2}]}
    error = failure(target_of(service, search=SEARCH, ingest=block), lambda session: session.ingest(DOCUMENTS))
    assert str(error).endswith("/add: the reply is marked as degraded: $.errors is 2")


def test_requests_of_a_session_run_at_the_same_time(service):
    waiting = []

    def meet() -> object:
        waiting.append(1)
        end = time.monotonic() + 20
        while len(waiting) < 4 and time.monotonic() < end:
            time.sleep(0.005)
        return {"results": []} if len(waiting) == 4 else {"alone": True}

    service.replies["/search"] = meet

    async def use(session: System) -> list[object]:
        return list(await asyncio.gather(*(session.search(QUERY, 3) for _ in range(4))))

    assert in_session(target_of(service, search=SEARCH), use) == [[]] * 4


@pytest.mark.parametrize(
    ("path", "output"),
    [
        ("/query", {"answer": "Yes.", "sources": [{"id": "a", "content": "A."}]}),
        ("/query", {"answer": "Yes.", "documents": [{"document_id": "a", "text": "A."}]}),
        ("/query", {"response": "Yes.", "results": [{"metadata": {"doc_id": "a"}, "page_content": "A."}]}),
        ("/invoke", {"output": {"answer": "Yes.", "context": [{"page_content": "A.", "metadata": {"doc_id": "a"}, "type": "Document"}]}}),
    ],
)
def test_presets_read_the_usual_forms_of_answers(service, path, output):
    service.replies[path] = output
    answer = answered(target_of(service, preset=path[1:].replace("invoke", "langserve")))
    assert answer.text == "Yes."
    assert [(hit.doc_id, hit.text) for hit in answer.sources] == [("a", "A.")]


@pytest.mark.parametrize("reply", [{"answer": "Yes.", "sources": ["a", "b"]}, {"answer": "Yes.", "hits": [{"id": "a"}, {"id": "b"}]}])
def test_the_preset_query_reads_sources_that_are_ids(service, reply):
    service.replies["/query"] = reply
    answer = answered(target_of(service, preset="query"))
    assert [hit.doc_id for hit in answer.sources] == ["a", "b"]


def test_the_preset_query_reads_what_the_service_says_about_its_answer(service):
    answer = answered(target_of(service, preset="query"))
    assert (answer.refused, answer.confidence) == (False, 0.8)
    assert service.requests == [("POST", "/query", {"query": QUERY.text, "k": 10})]


@pytest.mark.parametrize("reply", [{"hits": [{"id": "a"}]}, {"documents": ["a"]}, [{"doc_id": "a"}]])
def test_the_preset_query_searches(service, reply):
    service.replies["/query"] = reply
    target = target_of(service, preset="query", search={})
    assert (target.searches, target.answers) == (True, False)
    assert [hit.doc_id for hit in searched(target)] == ["a"]


def test_the_preset_langserve_reads_a_retriever_and_a_chat_model(service):
    service.replies["/invoke"] = {"output": [{"page_content": "A.", "metadata": {"doc_id": "a"}}]}
    assert [(hit.doc_id, hit.text) for hit in searched(target_of(service, preset="langserve", search={}))] == [("a", "A.")]
    service.replies["/invoke"] = {"output": {"content": "Yes.", "type": "ai"}}
    assert answered(target_of(service, preset="langserve")).text == "Yes."
    service.replies["/invoke"] = {"output": "Yes."}
    assert answered(target_of(service, preset="langserve")).text == "Yes."


def test_the_preset_openai_chat_asks_a_compatible_server(service):
    message = {"role": "assistant", "content": "Yes."}
    usage = {"prompt_tokens": 5, "completion_tokens": 1}
    service.replies["/v1/chat/completions"] = {"model": "rag-1", "choices": [{"message": message}], "usage": usage}
    answer = answered(target_of(f"{service.host}/v1", preset="openai-chat", model="rag"))
    assert (answer.text, answer.model, answer.input_tokens, answer.output_tokens, answer.sources) == ("Yes.", "rag-1", 5, 1, None)
    assert service.requests[0][2] == {"model": "rag", "messages": [{"role": "user", "content": QUERY.text}]}


@pytest.mark.parametrize(
    ("choice", "truncated"),
    [({"finish_reason": "length"}, True), ({"finish_reason": "stop"}, False), ({"finish_reason": None}, None), ({}, None)],
)
def test_the_preset_openai_chat_reads_whether_an_answer_was_cut_off(service, choice, truncated):
    message = {"role": "assistant", "content": "Yes, and"}
    service.replies["/v1/chat/completions"] = {"choices": [{"message": message, **choice}]}
    assert answered(target_of(f"{service.host}/v1", preset="openai-chat", model="rag")).truncated is truncated


TOOL = [{"id": "1", "type": "function", "function": {"name": "search", "arguments": "{}"}}]
BROKEN = [
    ({"content": "It opens in"}, "network_error", "the reply broke off (network_error) (2 tries)"),
    ({"content": ""}, "error", "the reply broke off (error) (2 tries)"),
    ({"content": None}, "abort", "the reply broke off (abort) (2 tries)"),
    ({"content": "It opens in"}, "content_filter", "the provider's safety filter refused the answer"),
    ({"content": None, "refusal": "I cannot help."}, "stop", "the provider's safety filter refused the answer"),
    ({"content": "Let me look.", "tool_calls": TOOL}, "tool_calls", "the model called a tool in place of an answer"),
    ({"content": "Let me look.", "tool_calls": TOOL}, "stop", "the model called a tool in place of an answer"),
    ({"content": "", "tool_calls": TOOL}, None, "the model called a tool in place of an answer"),
    ({"content": ""}, "length", "the answer is empty because it used all of its tokens"),
    (
        {"content": "", "reasoning_content": "In May?"},
        "length",
        "the reply is reasoning without an answer because it used all of its tokens",
    ),
    ({"content": None, "reasoning": "In May?"}, "length", "the reply is reasoning without an answer because it used all of its tokens"),
    ({"content": " ", "thinking": "In May?"}, "stop", "the reply is reasoning without an answer"),
    ({"content": [{"type": "thinking", "thinking": "In May?"}]}, "stop", "the reply is reasoning without an answer"),
]


@pytest.mark.parametrize(("message", "finish", "expected"), BROKEN)
def test_a_chat_that_ended_without_an_answer_is_a_failure_with_its_reason(service, monkeypatch, message, finish, expected):
    monkeypatch.setattr("workbench.systems.http.session.back_off", lambda *_: 0)
    service.replies["/v1/chat/completions"] = {"choices": [{"message": message, "finish_reason": finish}]}
    error = failure(target_of(f"{service.host}/v1", preset="openai-chat", model="rag"))
    assert str(error).partition("completions: ")[2] == expected
    assert len(service.requests) == (2 if "2 tries" in expected else 1)


@pytest.mark.parametrize("finish", ["stop", None])
def test_an_empty_content_of_a_complete_reply_is_an_empty_answer(service, finish):
    message = {"role": "assistant", "content": "", "tool_calls": [], "reasoning_content": ""}
    service.replies["/v1/chat/completions"] = {"choices": [{"message": message, "finish_reason": finish}]}
    assert answered(target_of(f"{service.host}/v1", preset="openai-chat", model="rag")).text == ""


def test_the_preset_query_reads_why_the_model_stopped(service):
    service.replies["/query"] = {"answer": "It opens in", "finish_reason": "length"}
    assert answered(target_of(service, preset="query")).truncated is True
    service.replies["/query"] = {"answer": "", "reasoning": "In May?"}
    assert str(failure(target_of(service, preset="query"))).endswith("the reply is reasoning without an answer")
    service.replies["/query"] = {"reasoning": "In June?", "response": "In May."}
    assert answered(target_of(service, preset="query")).text == "In May."


def test_a_reply_of_any_service_can_say_why_its_model_stopped(service):
    block = {"url": "answer", "body": {"q": "{query}"}, "reply": {"text": "$.text", "finish_reason": "$.why"}}
    for why, truncated in (("MAX_TOKENS", True), ("end_turn", False)):
        service.replies["/answer"] = {"text": "Yes, and", "why": why}
        assert answered(target_of(service, answer=block)).truncated is truncated


def test_a_block_replaces_single_fields_of_a_preset(service):
    target = target_of(service, preset="query", answer={"url": "answer", "body": {"question": "{query}"}})
    assert answered(target).text == "They purr."
    assert service.requests == [("POST", "/answer", {"question": QUERY.text})]


def test_a_block_can_have_an_address_of_its_own(service, new_service):
    other = new_service()
    target = target_of(service, search={**SEARCH, "url": f"{other.host}/search"}, answer=ANSWER)
    searched(target)
    answered(target)
    assert [path for _, path, _ in other.requests] == ["/search"]
    assert [path for _, path, _ in service.requests] == ["/answer"]
