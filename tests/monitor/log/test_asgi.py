"""A real service behind the middleware: the same bytes with and without it, and what is logged of them."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.monitor.written_log import losses, rows, wait_for
from workbench.monitor.log.fields import row_fault

# An application of FastAPI, with the middleware if a folder is given.
SERVICE = """
import asyncio, json, socket, sys
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
import workbench as wb
from workbench.monitor.log import asgi
from workbench.monitor.log.asgi import LoggedRoute, QueryLogMiddleware
from workbench.systems.replies import AnswerPaths, HitPaths

app, log = FastAPI(), None
asgi.COPIED_BYTES = 2_000
HITS = [{"id": f"d{number}", "body": "text", "score": 1 / number} for number in (1, 2)]

@app.post("/ask")
def ask(body: dict):
    if log: log.current.set(model="m")
    return {"request_id": "r1", "results": HITS, "answer": {"text": body["question"].upper()}}

@app.post("/refused")
def refused(body: dict):
    return JSONResponse({"detail": "no"}, 503)

@app.post("/fails")
def fails(body: dict):
    raise ValueError("no index")

@app.post("/broken")
def broken(body: dict):
    return Response(b"{", media_type="application/json")

@app.post("/degraded")
def degraded(body: dict):
    return {"message": "try later"}

@app.post("/events")
async def events(body: dict):
    async def parts():
        yield "data: " + json.dumps({"request_id": "r2", "results": HITS}) + "\\n\\n"
        for word in body["question"].split():
            await asyncio.sleep(0.05)
            yield "data: " + json.dumps({"answer": {"text": word}}) + "\\n\\n"
        yield "data: [DONE]\\n\\n"
    return StreamingResponse(parts(), media_type="text/event-stream")

@app.post("/text")
async def text(body: dict):
    async def parts():
        for word in body["question"].split():
            yield word
    return StreamingResponse(parts(), media_type="text/plain")

@app.post("/breaks")
async def breaks(body: dict):
    async def parts():
        yield "begun"
        raise ValueError("broke off")
    return StreamingResponse(parts(), media_type="text/plain")

@app.post("/unlogged")
async def unlogged(request: Request):
    return PlainTextResponse(await request.body())

if len(sys.argv) > 1:
    log = wb.QueryLog(sys.argv[1])
    route = LoggedRoute(
        query=("question",), user="user", session="$.chat.id", id="request_id",
        hits=HitPaths(hits="results", id="id", text="body", score="score"), answer=AnswerPaths(text="answer.text"),
    )
    loose = LoggedRoute(query=("question",))
    paths = {"/ask": route, "/refused": route, "/fails": route, "/broken": route, "/degraded": route, "/events": route, "/text": loose, "/breaks": loose}
    app.add_middleware(QueryLogMiddleware, log=log, routes=paths)
listening = socket.socket()
listening.bind(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical", ws="none")).run(sockets=[listening])
"""
# Two servers start, which takes seconds.
pytestmark = pytest.mark.slow
QUESTION = {"question": "who pays?", "user": "ann", "chat": {"id": 7}}


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, Path]]:
    """The addresses of the service without and with the middleware, and the folder of the log."""
    folder = tmp_path_factory.mktemp("log")
    root = Path(__file__).parents[3]
    processes = [
        subprocess.Popen([sys.executable, "-c", SERVICE, *arguments], stdout=subprocess.PIPE, text=True, cwd=root)
        for arguments in ((), (str(folder),))
    ]
    try:
        addresses = []
        for process in processes:
            assert process.stdout
            port = int(process.stdout.readline())
            wait_for(lambda: _listens(port))  # noqa: B023
            addresses.append(f"http://127.0.0.1:{port}")
        yield addresses[0], addresses[1], folder
    finally:
        for process in processes:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def ask(services: tuple[str, str, Path], path: str, body: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Ask both services. The replies are the same; return the rows and the losses that were logged for this one."""
    plain, logging, folder = services
    before, lost = len(rows(folder)), losses(folder)
    replies = []
    for address in (plain, logging):
        given: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
        try:
            reply = httpx2.post(address + path, timeout=20, **given)
            replies.append((reply.status_code, {**reply.headers, "date": ""}, reply.content))
        except httpx2.HTTPError as error:
            replies.append((type(error).__name__, {}, b""))
    assert replies[0] == replies[1]
    found: Callable[[], dict[str, int]] = lambda: {  # noqa: E731
        reason: count - lost.get(reason, 0) for reason, count in losses(folder).items() if count > lost.get(reason, 0)
    }
    if path != "/unlogged":
        wait_for(lambda: len(rows(folder)) > before or "request" in found())
    new = rows(folder)[before:]
    assert [row_fault(row) for row in new] == [""] * len(new)
    return new, found()


def test_a_reply_is_logged_by_its_paths(services: tuple[str, str, Path]) -> None:
    (row,), lost = ask(services, "/ask", QUESTION)
    assert lost == {}
    assert row.pop("time")
    assert row.pop("seconds") > 0
    assert row == {
        "id": "r1",
        "query": "who pays?",
        "user": "ann",
        "session": "7",
        "model": "m",
        "answer": "WHO PAYS?",
        "hits": [{"hop": 0, "doc_id": "d1", "text": "text", "score": 1.0}, {"hop": 0, "doc_id": "d2", "text": "text", "score": 0.5}],
    }


def test_events_of_a_stream_are_joined(services: tuple[str, str, Path]) -> None:
    (row,), lost = ask(services, "/events", QUESTION)
    assert lost == {}
    assert (row["id"], row["answer"], [hit["doc_id"] for hit in row["hits"]]) == ("r2", "whopays?", ["d1", "d2"])
    assert row["seconds"] > 0.1


def test_a_stream_arrives_part_by_part(services: tuple[str, str, Path]) -> None:
    with httpx2.stream("POST", services[1] + "/events", json={"question": "a b c d e f g h i j"}, timeout=20) as reply:
        moments = [time.monotonic() for _ in reply.iter_lines()]
    assert moments[-1] - moments[0] > 0.3
    wait_for(lambda: any(row["query"].endswith("j") for row in rows(services[2])))


def test_a_plain_text_is_the_answer(services: tuple[str, str, Path]) -> None:
    (row,), _ = ask(services, "/text", QUESTION)
    assert row["answer"] == "whopays?"
    assert "hits" not in row


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/refused", "HTTP 503"),
        ("/fails", "ValueError: no index"),
        ("/degraded", "the reply has no results"),
        ("/breaks", "ValueError: broke off"),
    ],
)
def test_a_failed_request_is_logged_with_its_error(services: tuple[str, str, Path], path: str, error: str) -> None:
    (row,), _ = ask(services, path, QUESTION)
    assert row["error"].startswith(error)
    assert row["query"] == "who pays?"


def test_a_reply_that_cannot_be_read_leaves_the_question(services: tuple[str, str, Path]) -> None:
    (row,), _ = ask(services, "/broken", QUESTION)
    assert "answer" not in row
    (row,), _ = ask(services, "/text", {"question": "word " * 300})
    assert "answer" in row
    (row,), _ = ask(services, "/ask", {"question": "x" * 1_950})
    assert "answer" not in row
    wait_for(lambda: losses(services[2]).get("reply") == 2)


@pytest.mark.parametrize(
    "body", [b"no json", json.dumps({"question": "x" * 3_000}).encode(), b'{"other": 1}', b'{"question": 1.5}', b"[" * 1_500, b""]
)
def test_a_request_without_a_readable_question_is_counted(services: tuple[str, str, Path], body: bytes) -> None:
    new, lost = ask(services, "/ask", body)
    assert new == []
    assert lost == {"request": 1}


def test_other_paths_are_not_touched(services: tuple[str, str, Path]) -> None:
    assert ask(services, "/unlogged", b"x" * 100_000) == ([], {})
    assert ask(services, "/unlogged", QUESTION) == ([], {})
