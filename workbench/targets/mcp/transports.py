"""Transports of the protocol: the pipes of a process with an environment of named variables, or HTTP."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TextIO, cast

from mcp import Client, StdioServerParameters
from mcp.client import Transport
from mcp.client.session import SamplingFnT
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from workbench.models.http import LARGEST_HITS, ConnectError, HttpRoute, Response, Timeout, asynchronous_client, redirection
from workbench.printable import printable
from workbench.targets.mcp.settings import McpSettings

_RUNNER = str(Path(__file__).with_name("process_group.py"))
_PATIENCE = 30
_TAIL = 4_000
_LINE = 200
_SESSION, _UNKNOWN_SESSION = "mcp-session-id", 404
# A server may print on stdout, where only messages belong: the package logs each line with a traceback.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class ServerLink:
    """The way to a server, and what is known about its failures: the last line of stderr of a process, or the last status of HTTP."""

    def __init__(self, target: McpSettings, sampling: SamplingFnT | None) -> None:
        self._target, self._sampling = target, sampling
        self._secrets = target.secrets()
        # The process writes into the file itself, so it needs a real one.
        self._stderr = cast(TextIO, TemporaryFile("w+", encoding="utf-8", errors="replace"))  # noqa: SIM115  # closed by close()
        self._status: int | None = None

    def client(self, mode: str, ended: asyncio.Event) -> Client:
        """Return a client that is not connected yet. `ended` is set when the server says by HTTP that it does not know the session."""
        transport = self._process() if self._target.transport == "stdio" else self._address(ended)
        return Client(transport, mode=mode, sampling_callback=self._sampling, cache=None)

    def trouble(self) -> str:
        """Return the last line of stderr or the last status of HTTP in brackets, or an empty text. It contains no value of a variable."""
        if self._status is not None:
            return f" (HTTP status {self._status})"
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - _TAIL))
        lines = [line.strip() for line in self._stderr.read().splitlines() if line.strip()]
        return f" (its last line: {self.cleaned(lines[-1])})" if lines else ""

    def cleaned(self, message: str) -> str:
        """Return a message of the server as one short line without the values of the variables that it got."""
        return " ".join(printable(message[:_TAIL], self._secrets).split())[:_LINE]

    def close(self) -> None:
        """Delete what the process has written on stderr."""
        self._stderr.close()

    def _process(self) -> Transport:
        # The package adds PATH, HOME, LOGNAME, SHELL, TERM and USER, and nothing else.
        environment = {name: os.environ[name] for name in self._target.env}
        program = [self._target.program, *self._target.args]
        parameters = StdioServerParameters(
            command=sys.executable, args=["-I", "-S", _RUNNER, *program], env=environment, encoding_error_handler="replace"
        )
        return stdio_client(parameters, errlog=self._stderr)

    @asynccontextmanager
    async def _address(self, ended: asyncio.Event) -> AsyncIterator[tuple[Any, Any]]:
        headers = {header: os.environ[name] for header, name in self._target.headers_env.items()}
        # A caller limits the time of each request as a whole.
        limits = Timeout(_PATIENCE, read=None)

        async def note(response: Response) -> None:
            # The package reads the body of a redirect as a reply.
            if redirected := redirection(response):
                raise ConnectError(f"{redirected}, which is not followed; write the final address as url")
            # The package also asks whether there is a stream of notifications, which most servers refuse.
            if response.request.method == "POST":
                self._status = response.status_code if response.status_code >= 400 else None
                # Any answer with this status, by the specification; the package sees only those without an error of the protocol.
                if response.status_code == _UNKNOWN_SESSION and _SESSION in response.request.headers:
                    ended.set()

        route, hooks = HttpRoute(self._target.url, LARGEST_HITS), {"response": [note]}
        client = asynchronous_client(route, headers=headers, timeout=limits, event_hooks=hooks)
        async with client, streamable_http_client(self._target.url, http_client=client) as streams:
            yield streams
