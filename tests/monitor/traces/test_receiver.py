"""The receiver takes what the official exporter sends, in a real process, and refuses hostile requests without harm."""

import contextlib
import gzip
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.monitor.traces.conftest import request, span
from workbench.core.errors import InputError
from workbench.monitor.judging import evaluation_events
from workbench.monitor.trace_receiver import ReceiverLimits, TraceReceiver
from workbench.monitor.traces import read_traces

LIMITS = ReceiverLimits(body_bytes=1 << 20, request_seconds=1.0, connections=4)
ROOT = span(0, None, {"openinference.span.kind": "CHAIN", "input.value": "à quai?", "output.value": "18 EUR"})
BODY = json.dumps(request(ROOT)).encode()
JSON = {"Content-Type": "application/json; charset=utf-8"}
BINARY = {"Content-Type": "application/x-protobuf"}


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[TraceReceiver]:
    with TraceReceiver(tmp_path / "received", port=0, limits=LIMITS) as server:
        yield server


def port(receiver: TraceReceiver) -> int:
    return int(receiver.url.rpartition(":")[2])


def post(receiver: TraceReceiver, body: bytes, headers: dict[str, str], path: str = "/v1/traces") -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port(receiver), timeout=20)
    with contextlib.closing(connection):
        connection.request("POST", path, body, headers)
        reply = connection.getresponse()
        return reply.status, reply.getheader("Content-Type"), reply.read()


def raw(receiver: TraceReceiver, sent: bytes) -> bytes:
    """What the receiver answers to bytes."""
    with socket.create_connection(("127.0.0.1", port(receiver)), timeout=20) as client:
        client.sendall(sent)
        parts = []
        while part := client.recv(65536):
            parts.append(part)
    return b"".join(parts)


EXPORTER = """
import sys
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode

compression = Compression.Gzip if sys.argv[2] == "gzip" else Compression.NoCompression
provider = TracerProvider(resource=Resource({"service.name": "harbour", "service.version": "2.1.0"}))
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=sys.argv[1] + "/v1/traces", compression=compression)))
tracer = provider.get_tracer("test")
with tracer.start_as_current_span("POST /ask", attributes={"session.id": "c-1", "user.id": "u-1"}):
    documents = '[{"id":"fees.md#1","score":0.5,"content":"A night costs 18 EUR."}]'
    found = {"gen_ai.operation.name": "retrieval", "gen_ai.retrieval.query.text": "fee", "gen_ai.retrieval.documents": documents}
    with tracer.start_as_current_span("retrieval docs", attributes=found):
        pass
    asked = '[{"role":"user","parts":[{"type":"text","content":"\\\\u00e0 quai?"}]}]'
    said = '[{"role":"assistant","parts":[{"type":"text","content":"18 EUR"}]}]'
    chat = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": asked, "gen_ai.output.messages": said, "gen_ai.usage.input_tokens": 7}
    with tracer.start_as_current_span("chat m", attributes=chat) as span:
        span.set_status(Status(StatusCode.OK))
    print(format(span.get_span_context().trace_id, "032x"))
provider.shutdown()
"""


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_what_the_official_exporter_sends_from_a_process_becomes_a_row(receiver: TraceReceiver, tmp_path: Path, compression: str) -> None:
    command = [sys.executable, "-c", EXPORTER, receiver.url, compression]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    found = read_traces(tmp_path / "received")
    (row,) = found.rows
    assert found.left_out == {}
    assert row["hits"] == [{"doc_id": "fees.md#1", "text": "A night costs 18 EUR.", "score": 0.5, "hop": 0}]
    expected = {
        "id": done.stdout.strip(),
        "query": "à quai?",
        "rewritten": "fee",
        "answer": "18 EUR",
        "input_tokens": 7,
        "session": "c-1",
        "user": "u-1",
        "turn": 1,
        "versions": {"release": "2.1.0"},
    }
    assert {name: row[name] for name in expected} == expected


def test_requests_in_json_and_protobuf_are_answered_in_their_form(receiver: TraceReceiver, tmp_path: Path) -> None:
    assert post(receiver, BODY, JSON) == (200, "application/json", b"{}")
    assert post(receiver, gzip.compress(BODY), JSON | {"Content-Encoding": "gzip"}) == (200, "application/json", b"{}")
    assert post(receiver, b"", BINARY) == (200, "application/x-protobuf", b"")
    assert post(receiver, b"{}", JSON)[0] == 200
    found = read_traces(tmp_path / "received")
    assert (found.rows[0]["query"], found.left_out) == ("à quai?", {"a span that appears again": 1})


def test_evaluations_are_received_as_logs(receiver: TraceReceiver, tmp_path: Path) -> None:
    assert post(receiver, BODY, JSON)[0] == 200
    row = read_traces(tmp_path / "received").rows[0] | {"evaluations": [{"name": "f", "score": 1.0}]}
    assert post(receiver, next(evaluation_events([row])).encode(), JSON, "/v1/logs")[0] == 200
    assert read_traces(tmp_path / "received").rows == (row,)
    assert sorted(path.name.partition("-")[0] for path in (tmp_path / "received").iterdir()) == ["logs", "traces"]


BAD = [
    (b"garbage", JSON, "/v1/traces", 400),
    (b"[]", JSON, "/v1/traces", 400),
    (b"[" * 100_000, JSON, "/v1/traces", 400),
    (b'{"resourceSpans": NaN}', JSON, "/v1/traces", 400),
    (b'{"resourceSpans": 3}', JSON, "/v1/traces", 400),
    (b"\xff" * 50, JSON, "/v1/traces", 400),
    (b"\xff" * 50, BINARY, "/v1/traces", 400),
    (BODY, JSON | {"Content-Encoding": "gzip"}, "/v1/traces", 400),
    (gzip.compress(BODY)[:-9], JSON | {"Content-Encoding": "gzip"}, "/v1/traces", 400),
    (gzip.compress(BODY) * 2, JSON | {"Content-Encoding": "gzip"}, "/v1/traces", 400),
    (BODY, JSON | {"Content-Encoding": "br"}, "/v1/traces", 415),
    (BODY, {"Content-Type": "text/plain"}, "/v1/traces", 415),
    (BODY, {}, "/v1/traces", 415),
    (BODY, JSON, "/v1/metrics", 404),
    (gzip.compress(b" " * (2 << 20)), JSON | {"Content-Encoding": "gzip"}, "/v1/traces", 413),
    (gzip.compress(bytes(200 << 20), 1), BINARY | {"Content-Encoding": "gzip"}, "/v1/traces", 413),
]


@pytest.mark.parametrize(("body", "headers", "path", "status"), BAD, ids=range(len(BAD)))
def test_a_bad_request_is_refused_in_its_form_and_stores_nothing(
    receiver: TraceReceiver, tmp_path: Path, body, headers, path, status
) -> None:
    found, kind, reply = post(receiver, body, headers, path)
    assert found == status
    if headers.get("Content-Type") == "application/x-protobuf":
        assert kind == "application/x-protobuf"
        assert reply[:1] == b"\x12"
        assert len(reply) == reply[1] + 2
    else:
        assert kind == "application/json"
        assert json.loads(reply)["message"]
    assert not (tmp_path / "received").exists()
    assert post(receiver, BODY, JSON)[0] == 200
    assert receiver.refused == {status: 1}


def test_a_body_of_100_mb_is_answered_and_not_kept(receiver: TraceReceiver, tmp_path: Path) -> None:
    assert post(receiver, bytes(100_000_000), JSON)[0] == 413
    assert not (tmp_path / "received").exists()


def test_the_length_must_be_given_and_a_number(receiver: TraceReceiver) -> None:
    start = b"POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\n"
    assert b" 411 " in raw(receiver, start + b"\r\n").splitlines()[0]
    for length in (b"", b"Content-Length: 5\r\n"):
        assert b" 411 " in raw(receiver, start + length + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n").splitlines()[0]
    for length in (b"-1", b"x", b"1e3", b"9" * 50, "²".encode()):
        assert b" 400 " in raw(receiver, start + b"Content-Length: " + length + b"\r\n\r\n").splitlines()[0]
    assert b" 501 " in raw(receiver, b"GET /v1/traces HTTP/1.1\r\n\r\n").splitlines()[0]
    assert raw(receiver, b"\x16\x03\x01garbage\r\n\r\n")
    assert b" 431 " in raw(receiver, start + b"a: b\r\n" * 200 + b"\r\n").splitlines()[0]
    assert b" 414 " in raw(receiver, b"POST /" + b"a" * 70_000).splitlines()[0]
    assert receiver.refused == {411: 3, 400: 6, 501: 1, 431: 1, 414: 1}


def test_a_link_in_the_folder_is_not_followed(receiver: TraceReceiver, tmp_path: Path) -> None:
    assert post(receiver, BODY, JSON)[0] == 200
    (file,) = (tmp_path / "received").iterdir()
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert post(receiver, BODY, JSON)[0] == 503


def test_a_pipe_in_the_folder_does_not_block(receiver: TraceReceiver, tmp_path: Path) -> None:
    assert post(receiver, BODY, JSON)[0] == 200
    (file,) = (tmp_path / "received").iterdir()
    file.unlink()
    os.mkfifo(file)
    assert post(receiver, BODY, JSON)[0] == 503
    reading = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    assert post(receiver, BODY, JSON)[0] == 503
    os.close(reading)


def test_a_slow_client_is_ended_and_others_are_told_to_come_again(receiver: TraceReceiver) -> None:
    full, ended = threading.Barrier(LIMITS.connections + 1), []

    def drip() -> None:
        """Send a byte now and then, which alone would never exceed a time limit."""
        with socket.create_connection(("127.0.0.1", port(receiver)), timeout=0.05) as client:
            client.sendall(b"POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
            full.wait(20)
            for _ in range(400):
                with contextlib.suppress(TimeoutError):
                    ended.append(client.recv(4096))
                    return
                with contextlib.suppress(OSError):
                    client.sendall(b" ")

    threads = [threading.Thread(target=drip) for _ in range(LIMITS.connections)]
    for thread in threads:
        thread.start()
    full.wait(20)
    busy = raw(receiver, b"")
    for thread in threads:
        thread.join(30)
    assert b" 503 " in busy.splitlines()[0]
    assert b"Retry-After: 1" in busy
    assert receiver.refused[503] == 1
    assert [b" 408 " in reply.splitlines()[0] for reply in ended] == [True] * LIMITS.connections
    statuses = []
    for _ in range(100):
        with contextlib.suppress(OSError, http.client.HTTPException):
            statuses.append(post(receiver, BODY, JSON)[0])
        if 200 in statuses:
            break
        time.sleep(0.05)
    assert 200 in statuses


def test_a_client_that_stops_sending_is_told_so(receiver: TraceReceiver, tmp_path: Path) -> None:
    start = b"POST /v1/traces HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    assert b" 408 " in raw(receiver, start).splitlines()[0]
    assert b" 411 " in raw(receiver, b"POST /v1/traces HTTP/1.1\r\nContent-").splitlines()[0]
    assert not (tmp_path / "received").exists()


def test_it_stops_although_a_client_is_connected(tmp_path: Path) -> None:
    with TraceReceiver(tmp_path, port=0, limits=ReceiverLimits(request_seconds=600)) as receiver:
        client = socket.create_connection(("127.0.0.1", port(receiver)), timeout=20)
        client.sendall(b"POST /v1/traces HTTP/1.1\r\n")
        assert post(receiver, BODY, JSON)[0] == 200
    client.close()
    assert [thread.name for thread in threading.enumerate() if thread.name == "otlp-receiver"] == []
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port(receiver)), timeout=5)


def test_files_are_private_and_a_line_after_one_that_was_cut_off_is_read(receiver: TraceReceiver, tmp_path: Path) -> None:
    post(receiver, BODY, JSON)
    (file,) = (tmp_path / "received").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    with file.open("ab") as opened:
        opened.write(BODY[:50])
    post(receiver, json.dumps(request(ROOT | {"traceId": "1" * 32})).encode(), JSON)
    found = read_traces(tmp_path / "received")
    assert (len(found.rows), found.left_out) == (2, {"a line that is not JSON": 1})


def test_a_folder_that_cannot_be_written_is_a_reply_to_try_again(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with TraceReceiver(tmp_path / "file" / "r", port=0) as receiver:
        assert post(receiver, BODY, JSON)[0] == 503


def test_it_listens_on_this_machine_alone_unless_asked(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"0.0.0.0 can be reached from other machines; leave host out, or set remote=True"):
        TraceReceiver(tmp_path, port=0, host="0.0.0.0")
    with TraceReceiver(tmp_path, port=0) as receiver:
        assert receiver.url.startswith("http://127.0.0.1:")
        with pytest.raises(InputError, match="choose another port"):
            TraceReceiver(tmp_path, port=port(receiver))
    with TraceReceiver(tmp_path, port=0, host="0.0.0.0", remote=True) as receiver:
        assert post(receiver, BODY, JSON)[0] == 200
