"""A server over the pipes of a process or HTTP, which is connected again after its process or its session ended, a few times."""

import asyncio
import contextvars
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from tempfile import TemporaryFile
from typing import Any, TextIO, cast

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client import Transport
from mcp.client.session import SamplingFnT
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CONNECTION_CLOSED, CallToolResult, Tool
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import JsonValue

from workbench.core.errors import error_line
from workbench.core.operating_system import grouped
from workbench.core.text.formatting import plural
from workbench.core.text.printable import printable
from workbench.llm.models.http import LARGEST_HITS, ConnectError, HttpRoute, Response, Timeout, asynchronous_client, redirection
from workbench.systems.base import TargetDownError, TargetError
from workbench.systems.mcp.settings import McpSettings

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
        self._stderr = cast(TextIO, TemporaryFile("w+", encoding="utf-8", errors="replace", newline=""))  # noqa: SIM115  # closed by close()
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
        program, *arguments = grouped([self._target.program, *self._target.args])
        parameters = StdioServerParameters(command=program, args=arguments, env=environment, encoding_error_handler="replace")
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


# Stopping a process takes at most 6.5 seconds: the input that it has not read, its own end, SIGTERM, SIGKILL.
_CLOSING = 15


class McpConnection:
    """A client and the task that holds it open, because the task that opens a client must also close it. `ended` is set when the server has ended its session."""

    def __init__(self, client: Client, ended: asyncio.Event, context: contextvars.Context) -> None:
        self.client, self._ended = client, ended
        self._scope = anyio.CancelScope()
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # A request of the server is handled in the context of this task, which must not be that of one question.
        self._task = asyncio.create_task(self._hold(), context=context)

    async def opened(self, seconds: float) -> None:
        """Wait until the client is connected. Raises TimeoutError, or the error of the connection. It is closed then."""
        try:
            await asyncio.wait({self._task, self._ready}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if not self._ready.done():
                await self.close()
        if not self._ready.done():
            if self._task.done() and not self._task.cancelled() and (error := self._task.exception()):
                while isinstance(error, BaseExceptionGroup):
                    error = error.exceptions[0]
                raise error
            raise TimeoutError(f"no connection within {seconds:g} seconds")

    async def close(self) -> None:
        """Disconnect, and end the process of the server."""
        self._scope.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSING)
        if not self._task.done():
            self._task.cancel()
        elif not self._task.cancelled():
            self._task.exception()

    @property
    def one_at_a_time(self) -> bool:
        """True if requests of the server do not say which call they belong to."""
        return self.client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS

    def lost(self, error: Exception) -> bool:
        """Return True if an error of a call means that no further call can succeed."""
        if self._task.done() or self._ended.is_set() or isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError):
            return True
        return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED

    async def _hold(self) -> None:
        with self._scope:
            async with self.client:
                self._ready.set_result(None)
                await anyio.sleep_forever()


_TRIES = 2
_PAUSES = (0.0, 0.2, 1.0, 3.0)


class McpServer:
    """The connection to a server, opened when it is needed. Requests can run at the same time."""

    def __init__(self, target: McpSettings, sampling: SamplingFnT | None) -> None:
        self._target = target
        self._link = ServerLink(target, sampling)
        self.cleaned = self._link.cleaned
        self._mode = target.mode
        self._connection: McpConnection | None = None
        self._context = contextvars.copy_context()
        self._opening = asyncio.Lock()
        # Called with each connection that replaces a lost one.
        self.restore: Callable[[McpConnection], Awaitable[None]] | None = None
        # How often in a row the connection was lost.
        self._losses = 0

    async def connection(self) -> McpConnection:
        """Return the open connection, connecting first if necessary. Raises TargetDownError if that fails."""
        async with self._opening:
            while self._connection is None:
                if self._losses > self._target.restarts:
                    raise TargetDownError(self._down(f"the connection was lost {plural(self._losses, 'time')} in a row"))
                await asyncio.sleep(_PAUSES[min(self._losses, len(_PAUSES) - 1)])
                try:
                    self._connection = await self._reopen() if self._losses else await self._open()
                except TargetDownError:
                    # A server that is started again needs a moment. One that was never reached is not waited for.
                    if not 0 < self._losses < self._target.restarts:
                        raise
                    self._losses += 1
            return self._connection

    async def call(self, tool: str, arguments: Mapping[str, JsonValue]) -> CallToolResult:
        """Call a tool, again if the process of the server or its session ended meanwhile. Raises TargetError if it fails."""
        for _ in range(_TRIES):
            connection = await self.connection()
            try:
                result = await connection.client.call_tool(tool, dict(arguments))
            except Exception as error:  # the package raises errors of many libraries
                if not connection.lost(error):
                    self._losses = 0
                    raise TargetError(f"the tool {tool!r} failed: {self.cleaned(_message(error))}") from error
                async with self._opening:
                    # It is closed once, however many requests it had.
                    if self._connection is connection:
                        self._connection = None
                        self._losses += 1
                        await connection.close()
            else:
                self._losses = 0
                return result
        raise TargetError(self._down(f"the connection was lost during this request, {plural(_TRIES, 'time')}"))

    async def tools(self) -> list[Tool]:
        """Return the tools of the server. Raises TargetDownError if it does not list them in time."""
        connection = await self.connection()
        try:
            async with asyncio.timeout(self._target.start_timeout):
                page = await connection.client.list_tools()
                tools = list(page.tools)
                while page.next_cursor:
                    page = await connection.client.list_tools(cursor=page.next_cursor)
                    tools += page.tools
        except TimeoutError:
            raise TargetDownError(self._down(f"it did not list its tools within {self._target.start_timeout:g} seconds")) from None
        except Exception as error:
            raise TargetDownError(self._down(f"it cannot list its tools: {self.cleaned(_message(error))}")) from error
        return tools

    async def close(self) -> None:
        """Disconnect, and end the process of the server."""
        if self._connection:
            await self._connection.close()
        self._link.close()

    async def _open(self) -> McpConnection:
        """Open a connection. A server that ends when it is asked for the newest protocol is asked for the older one."""
        ended = asyncio.Event()
        connection = McpConnection(self._link.client(self._mode, ended), ended, self._context)
        try:
            await connection.opened(self._target.start_timeout)
        except Exception as error:
            if self._mode == "auto" and isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
                self._mode = "legacy"
                return await self._open()
            raise TargetDownError(self._down(f"it cannot be reached: {self.cleaned(_message(error))}")) from error
        return connection

    async def _reopen(self) -> McpConnection:
        connection = await self._open()
        try:
            if self.restore:
                await self.restore(connection)
        except BaseException as error:
            await connection.close()
            if not isinstance(error, Exception):
                raise
            raise TargetDownError(self._down(f"it does not take its documents again: {self.cleaned(_message(error))}")) from error
        return connection

    def _down(self, reason: str) -> str:
        return f"the MCP server of {self._target.name!r}: {reason}{self._link.trouble()}"


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, MCPError | TimeoutError | TargetError) else error_line(error)
