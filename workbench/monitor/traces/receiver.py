"""Receive traces and logs over OTLP/HTTP and append them to a folder, which `read_traces` reads.

Source: open-telemetry/opentelemetry-proto, `docs/specification.md`, OTLP/HTTP.
"""

import errno
import json
import os
import socket
import threading
import time
import zlib
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import FileIO
from pathlib import Path
from typing import Any

from workbench.datasets.lines import parse_json
from workbench.errors import InputError
from workbench.monitor.traces.reading import LINE_LIMIT
from workbench.targets.recorded.traces.otlp import OtlpSignal, protobuf_json

_PATHS: dict[str, OtlpSignal] = {"/v1/traces": "traces", "/v1/logs": "logs"}
_LISTS = {"traces": "resourceSpans", "logs": "resourceLogs"}
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_STEP = 1 << 16


@dataclass(frozen=True, slots=True)
class ReceiverLimits:
    """The largest body in bytes, as it is sent and unpacked, how much of a larger one is read before the reply, and the seconds of a request.

    A file is closed, and the next begun, when it has `file_bytes`. One body is converted at a time; if it is made of millions of empty messages, it
    takes up to 75 times its size in memory.
    """

    body_bytes: int = 20 << 20
    discarded_bytes: int = 128 << 20
    request_seconds: float = 15.0
    connections: int = 16
    file_bytes: int = 64 << 20


class RefusedRequestError(Exception):
    """A request that is not accepted, with the HTTP status and the reason."""


class TraceReceiver:
    """A server that appends what exporters of OpenTelemetry send to files in a folder, between `with` and its end.

    It listens on this machine alone, unless `host` is another address and `remote` is true: whoever reaches it can fill the disk. Raises
    InputError if the address cannot be used.
    """

    def __init__(
        self, folder: str | Path, port: int = 4318, host: str = "127.0.0.1", remote: bool = False, limits: ReceiverLimits | None = None
    ) -> None:
        if not remote and host not in ("127.0.0.1", "localhost"):
            raise InputError(f"{host} can be reached from other machines", "leave host out, or set remote=True")
        self._files = _SignalFiles(Path(folder), (limits or ReceiverLimits()).file_bytes)
        try:
            self._server = _OtlpServer((host, port), self._files, limits or ReceiverLimits())
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
        self._files.close()


class _SignalFiles:
    """Files of JSON lines, one for each signal at a time. Each line is one write, so that a killed process loses none that was confirmed."""

    def __init__(self, folder: Path, limit: int) -> None:
        self._folder, self._limit, self._lock = folder, limit, threading.Lock()
        self._open: dict[OtlpSignal, FileIO] = {}

    def append(self, signal: OtlpSignal, line: bytes) -> None:
        """Append a line. After an error, the next line begins another file, since this one can end in a part of a line."""
        with self._lock:
            file, whole = self._open.pop(signal, None) or self._new(signal), False
            try:
                whole = file.write(line) == len(line)
            finally:
                if whole and file.tell() < self._limit:
                    self._open[signal] = file
                else:
                    file.close()
        if not whole:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        with self._lock:
            while self._open:
                self._open.popitem()[1].close()

    def _new(self, signal: OtlpSignal) -> FileIO:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{signal}-{time.time_ns()}-{os.getpid()}.jsonl"
        return FileIO(self._folder / name, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))


class _OtlpServer(ThreadingHTTPServer):
    # Closing waits for the threads of requests.
    daemon_threads = False

    def __init__(self, address: tuple[str, int], files: _SignalFiles, limits: ReceiverLimits) -> None:
        self.files, self.limits = files, limits
        self.parsing, self.refused = threading.Lock(), Counter[int]()
        self._free = threading.BoundedSemaphore(limits.connections)
        self._deadlines: dict[socket.socket, float] = {}
        super().__init__(address, _OtlpHandler)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.refused[503] += 1
            with suppress(OSError):
                request.sendall(b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n")
            self.shutdown_request(request)
            return
        self._deadlines[request] = time.monotonic() + self.limits.request_seconds
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._deadlines.pop(request, None)
            self._free.release()

    def service_actions(self) -> None:
        self._end(time.monotonic())

    def server_close(self) -> None:
        self._end(float("inf"))
        super().server_close()

    def _end(self, now: float) -> None:
        """End the reading of connections that took too long, however slowly a client sends."""
        for connection, deadline in list(self._deadlines.items()):
            if deadline <= now:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Leave clients alone that are gone."""


class _OtlpHandler(BaseHTTPRequestHandler):
    server: _OtlpServer
    server_version = "workbench"
    sys_version = ""

    def setup(self) -> None:
        # A client that does not read its reply.
        self.request.settimeout(self.server.limits.request_seconds)
        super().setup()

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        """Append the body of a request to the files of its signal."""
        try:
            signal = _PATHS.get(self.path.partition("?")[0])
            body = self._body()
            if signal is None:
                raise RefusedRequestError(404, f"post to {' or '.join(_PATHS)}")
            line = self._line(body, signal)
            if line:
                self.server.files.append(signal, line)
        except RefusedRequestError as refused:
            self._refuse(*refused.args)
        except OSError as error:
            self._refuse(503, f"cannot be stored ({error.strerror})")
        else:
            self._reply(200)

    def _body(self) -> bytes:
        """Read the body in full, or as much of a larger one as lets the client read the reply."""
        length, limits = self.headers.get("Content-Length"), self.server.limits
        if length is None or "Transfer-Encoding" in self.headers:
            raise RefusedRequestError(411, "Content-Length is missing")
        if not (length.isascii() and length.isdigit() and len(length) < 20):
            raise RefusedRequestError(400, "Content-Length is not a number")
        size = int(length)
        kept, rest = (size, 0) if size <= limits.body_bytes else (0, min(size, limits.discarded_bytes))
        body = self.rfile.read(kept)
        while rest > 0 and (part := self.rfile.read(min(rest, _STEP))):
            rest -= len(part)
        if size > limits.body_bytes:
            raise RefusedRequestError(413, f"a body has at most {limits.body_bytes} bytes")
        if len(body) < size:
            raise RefusedRequestError(408, "the body did not arrive in time")
        return body

    def _line(self, body: bytes, signal: OtlpSignal) -> bytes:
        kind, limit = _content_type(self.headers), self.server.limits.body_bytes
        encoding = self.headers.get("Content-Encoding", "identity").lower()
        if kind not in (_JSON, _PROTOBUF) or encoding not in ("gzip", "identity"):
            raise RefusedRequestError(415, f"send {_PROTOBUF} or {_JSON}, as it is or as gzip")
        try:
            # One body at a time, since it takes many times its size in memory.
            with self.server.parsing:
                body = _unpacked(body, limit) if encoding == "gzip" else body
                value = protobuf_json(body, signal) if kind == _PROTOBUF else parse_json(body.decode())
                if not isinstance(value, dict) or not isinstance(value.get(_LISTS[signal], []), list):
                    raise ValueError(f"it has no list {_LISTS[signal]}")
                items = value.get(_LISTS[signal])
                line = json.dumps({_LISTS[signal]: items}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" if items else b""
        except (ValueError, RecursionError, zlib.error) as error:
            raise RefusedRequestError(400, f"the body is not {kind}: {error}") from None
        if len(line) > LINE_LIMIT:
            raise RefusedRequestError(413, f"as JSON the body has more than {LINE_LIMIT} bytes")
        return line

    def _refuse(self, status: int, reason: str) -> None:
        self.server.refused[status] += 1
        self._reply(status, reason)

    def _reply(self, status: int, reason: str = "") -> None:
        """Reply with an empty response, or with a `Status` message that has the reason, in the form of the request."""
        text = " ".join(reason.encode("ascii", "replace").decode().split())[:120]
        if _content_type(self.headers) == _PROTOBUF:
            # Field 2 is the message.
            kind, body = _PROTOBUF, bytes((0x12, len(text))) + text.encode() if text else b""
        else:
            kind, body = _JSON, json.dumps({"message": text} if text else {}).encode()
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


def _unpacked(body: bytes, limit: int) -> bytes:
    unpacker = zlib.decompressobj(31)
    unpacked = unpacker.decompress(body, limit + 1)
    if len(unpacked) > limit:
        raise RefusedRequestError(413, f"a body has at most {limit} bytes when it is unpacked")
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("the compressed body is cut off, or goes on")
    return unpacked
