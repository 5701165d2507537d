"""Replies in usual forms are read without paths, and routes that are none are refused when the middleware is made."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.monitor.written_log import losses, rows
from workbench.core.errors import InputError
from workbench.monitor.log.asgi import LoggedRoute, QueryLogMiddleware

SOURCES = [{"doc_id": "d1", "text": "The company pays.", "score": 0.5}]


def asked(folder: Path, reply: bytes, kind: bytes = b"application/json", **set_by_the_handler: Any) -> dict[str, Any]:
    """Return the row of a question to an application of ASGI, called as a server calls it."""
    log = wb.QueryLog(folder)

    async def application(_: Any, receive: Any, send: Any) -> None:
        await receive()
        log.current.set(**set_by_the_handler)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]})
        await send({"type": "http.response.body", "body": reply})

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"question": "who pays?"}'}

    async def send(_: Any) -> None:
        pass

    asyncio.run(QueryLogMiddleware(application, log, {"/ask": LoggedRoute()})({"type": "http", "path": "/ask"}, receive, send))
    log.close()
    (row,) = rows(folder)
    return row


def test_answer_and_sources_of_a_json_reply_are_read(tmp_path: Path) -> None:
    row = asked(tmp_path, json.dumps({"answer": "The company.", "sources": SOURCES}).encode())
    assert (row["query"], row["answer"], row["sources"]) == ("who pays?", "The company.", SOURCES)
    assert losses(tmp_path) == {}


def test_what_a_handler_sets_stays(tmp_path: Path) -> None:
    row = asked(tmp_path, json.dumps({"answer": "The company.", "hits": SOURCES}).encode(), answer="as it is shown")
    assert (row["answer"], row["hits"]) == ("as it is shown", SOURCES)


def test_the_parts_of_events_are_joined(tmp_path: Path) -> None:
    events = b'data: {"answer": "The "}\n\ndata: {"answer": "company."}\n\ndata: [DONE]\n\n'
    assert asked(tmp_path, events, b"text/event-stream")["answer"] == "The company."


def test_a_reply_without_a_usual_name_is_counted_and_its_question_logged(tmp_path: Path) -> None:
    row = asked(tmp_path, b'{"outcome": 3}')
    assert row["query"] == "who pays?"
    assert not row.keys() & {"answer", "hits", "error"}
    assert losses(tmp_path) == {"reply": 1}


def test_a_stream_of_very_many_events_is_counted_and_its_question_logged(tmp_path: Path) -> None:
    assert len(asked(tmp_path / "read", b'data: {"answer": "a"}\n\n' * 5_000, b"text/event-stream")["answer"]) == 5_000
    assert losses(tmp_path / "read") == {}
    assert "answer" not in asked(tmp_path / "counted", b'data: {"answer": "a"}\n\n' * 5_001, b"text/event-stream")
    assert losses(tmp_path / "counted") == {"reply": 1}


@pytest.mark.parametrize("scope", [{"type": "http", "path": ["/ask"]}, {"type": "http"}, {}])
def test_a_wrong_scope_is_the_application_s(tmp_path: Path, scope: dict[str, Any]) -> None:
    seen = []

    async def application(*given: Any) -> None:
        seen.append(given)

    asyncio.run(QueryLogMiddleware(application, wb.QueryLog(tmp_path), {"/ask": LoggedRoute()})(scope, None, None))  # type: ignore[arg-type]
    assert seen == [(scope, None, None)]


@pytest.mark.parametrize("routes", [{"ask": LoggedRoute()}, {"/ask": {}}, {"/ask": LoggedRoute}, ["/ask"], None])
def test_routes_are_logged_routes_by_path(tmp_path: Path, routes: Any) -> None:
    with pytest.raises(InputError, match="routes are no LoggedRoute by path"):
        QueryLogMiddleware(lambda *_: None, wb.QueryLog(tmp_path), routes)
