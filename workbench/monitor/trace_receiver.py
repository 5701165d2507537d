"""Receive traces and logs over OTLP/HTTP and append them to a folder, which `read_traces` reads.

Source: open-telemetry/opentelemetry-proto, `docs/specification.md`, OTLP/HTTP.
"""

import json
import socket
import threading
import time
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from workbench.core.environment import is_local
from workbench.core.errors import InputError
from workbench.core.files import append_lines
from workbench.data.lines import parse_json
from workbench.monitor.traces import LINE_LIMIT
from workbench.systems.recorded.traces.otlp import OtlpSignal, protobuf_json

# By path the signal, and the list in a request of it.
_SIGNALS: dict[str, tuple[OtlpSignal, str]] = {"/v1/traces": ("traces", "resourceSpans"), "/v1/logs": ("logs", "resourceLogs")}
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
# How much of a body that is too large is read, so that its client can read the reply.
_DISCARDED = 128 << 20
_STEP = 1 << 16


@dataclass(frozen=True, slots=True)
class ReceiverLimits:
    """The largest body in bytes, as it is sent and unpacked, the seconds of a request, and the connections at a time.

    One body is converted at a time. If it is made of millions of empty messages, it takes up to 130 times its size in memory. An application whose
    requests are larger can send fewer spans in each (`OTEL_BSP_MAX_EXPORT_BATCH_SIZE`).
    """

    body_bytes: int = 4 << 20
    request_seconds: float = 15.0
    connections: int = 16


class RefusedRequestError(Exception):
    """A request that is not accepted, with the HTTP status and the reason."""


class TraceReceiver:
    """A server that appends the requests of OpenTelemetry exporters to files in a folder, one a day and signal, inside its `with` block.

    It listens on this machine alone, unless `host` is another address and `remote` is true: any client can fill the disk. Raises
    InputError if the address cannot be used.
    """

    def __init__(
        self, folder: str | Path, port: int = 4318, host: str = "127.0.0.1", remote: bool = False, limits: ReceiverLimits | None = None
    ) -> None:
        if not remote and not is_local(f"//{host}"):
            raise InputError(f"{host} can be reached from other machines", "leave host out, or set remote=True")
        try:
            self._server = _OtlpServer((host, port), Path(folder), limits or ReceiverLimits())
        except (OSError, OverflowError) as error:
            raise InputError(f"{host}:{port} cannot be listened on ({error})", "choose another port, or 0 for any free one") from None
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, name="otlp-receiver")

    @property
    def url(self) -> str:
        """Return the address for `OTEL_EXPORTER_OTLP_ENDPOINT`."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def refused(self) -> dict[int, int]:
        """Return how many requests were refused with each HTTP status."""
        return dict(self._server.refused)

    def __enter__(self) -> "TraceReceiver":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop, and finish the requests that were received in full."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _OtlpServer(ThreadingHTTPServer):
    # Closing waits for the threads of requests.
    daemon_threads = False

    def __init__(self, address: tuple[str, int], folder: Path, limits: ReceiverLimits) -> None:
        self.folder, self.limits = folder, limits
        self.converting, self.refused = threading.Lock(), Counter[int]()
        self._deadlines: dict[socket.socket, float] = {}
        super().__init__(address, _OtlpHandler)

    def append(self, signal: OtlpSignal, line: bytes) -> None:
        """Append a line in one write, so that a killed process loses none that was confirmed. Raises OSError if the disk is full."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / f"{signal}-{datetime.now(UTC).date()}.jsonl"
        # The line before can be cut off, by a full disk.
        append_lines(path, line + b"\n", 0o600)

    def process_request(self, request: Any, client_address: Any) -> None:
        if len(self._deadlines) >= self.limits.connections:
            self.refused[503] += 1
            with suppress(OSError):
                request.sendall(b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
            self.shutdown_request(request)
            return
        self._deadlines[request] = time.monotonic() + self.limits.request_seconds
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        # Before the client sees the end: its next request needs the place.
        self._deadlines.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """End the reading of connections that took too long, however slowly a client sends."""
        self._end(time.monotonic())

    def server_close(self) -> None:
        self._end(float("inf"))
        super().server_close()

    def _end(self, now: float) -> None:
        for connection in [connection for connection, deadline in list(self._deadlines.items()) if deadline <= now]:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RD)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that are gone."""


class _OtlpHandler(BaseHTTPRequestHandler):
    server: _OtlpServer
    server_version, sys_version = "workbench", ""

    def setup(self) -> None:
        # A client that does not read its reply. One that does not send is ended before.
        self.request.settimeout(self.server.limits.request_seconds + 1)
        super().setup()

    def log_message(self, *_: object) -> None:
        pass

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        # Requests that are not HTTP, or use another method than POST.
        self.server.refused[code] += 1
        super().send_error(code, message, explain)

    def do_POST(self) -> None:
        """Append the body of a request to the file of its signal."""
        try:
            body, path = self._body(), self.path.partition("?")[0]
            if path not in _SIGNALS:
                raise RefusedRequestError(404, f"post to {' or '.join(_SIGNALS)}")
            # One body at a time, since it takes many times its size in memory.
            with self.server.converting:
                if line := _line(body, *_SIGNALS[path], self.headers, self.server.limits.body_bytes):
                    self.server.append(_SIGNALS[path][0], line)
        except RefusedRequestError as refused:
            self._reply(*refused.args)
        except OSError as error:
            self._reply(503, f"cannot be stored ({error.strerror})")
        else:
            self._reply(200)

    def _body(self) -> bytes:
        """Read the body in full, or as much of a larger one as lets the client read the reply."""
        length, most = self.headers.get("Content-Length"), self.server.limits.body_bytes
        if length is None or "Transfer-Encoding" in self.headers:
            raise RefusedRequestError(411, "Content-Length is missing")
        if not (length.isascii() and length.isdigit() and len(length) < 20):
            raise RefusedRequestError(400, "Content-Length is not a number")
        if (size := int(length)) > most:
            left = min(size, _DISCARDED)
            while left > 0 and (part := self.rfile.read(min(left, _STEP))):
                left -= len(part)
            raise RefusedRequestError(413, f"a body has at most {most} bytes")
        body = self.rfile.read(size)
        if len(body) < size:
            raise RefusedRequestError(408, "the body did not arrive in time")
        return body

    def _reply(self, status: int, reason: str = "") -> None:
        """Reply with an empty response, or with a `Status` message that has the reason, in the form of the request."""
        text = " ".join(reason.encode("ascii", "replace").decode().split())[:120]
        if (kind := _content_type(self.headers)) == _PROTOBUF:
            # Field 2 is the message.
            body = bytes((0x12, len(text))) + text.encode() if text else b""
        else:
            kind, body = _JSON, json.dumps({"message": text} if text else {}).encode()
        self.server.refused.update([status] if status != 200 else [])
        with suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if status == 503:
                self.send_header("Retry-After", "1")
            self.end_headers()
            self.wfile.write(body)


def _content_type(headers: Message) -> str:
    return headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _line(body: bytes, signal: OtlpSignal, name: str, headers: Message, most: int) -> bytes:
    """Return a body as one line of JSON, or nothing if it has no spans or log records."""
    kind, encoding = _content_type(headers), headers.get("Content-Encoding", "identity").lower()
    if kind not in (_JSON, _PROTOBUF) or encoding not in ("gzip", "identity"):
        raise RefusedRequestError(415, f"send {_PROTOBUF} or {_JSON}, as it is or as gzip")
    try:
        body = _unpacked(body, most) if encoding == "gzip" else body
        value = protobuf_json(body, signal) if kind == _PROTOBUF else parse_json(body.decode())
        if not isinstance(value, dict) or not isinstance(items := value.get(name, []), list):
            raise ValueError(f"it has no list {name}")
        line = json.dumps({name: items}, ensure_ascii=False, separators=(",", ":")).encode() if items else b""
    except (ValueError, RecursionError, zlib.error) as error:
        raise RefusedRequestError(400, f"the body is not {kind}: {error}") from None
    if len(line) > LINE_LIMIT:
        raise RefusedRequestError(413, f"as JSON the body has more than {LINE_LIMIT} bytes")
    return line


def _unpacked(body: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj(31)
    unpacked = unpacker.decompress(body, most + 1)
    if len(unpacked) > most:
        raise RefusedRequestError(413, f"a body has at most {most} bytes when it is unpacked")
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("the compressed body is cut off, or goes on")
    return unpacked
