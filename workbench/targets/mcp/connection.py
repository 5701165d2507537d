"""An open client of an MCP server. It lives in a task of its own, because the task that opens it must also close it."""

import asyncio
import contextvars

import anyio
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

# Stopping a process takes at most 6.5 seconds: what it has not read, an end of its own, SIGTERM, SIGKILL.
_CLOSING = 15


class McpConnection:
    """A client and the task that holds it open. `ended` is set when the server has ended its session."""

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
                raise _first(error)
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
        """Return whether requests of the server do not say which call they belong to."""
        return self.client.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS

    def lost(self, error: Exception) -> bool:
        """Return whether an error of a call means that no further call can succeed."""
        if self._task.done() or self._ended.is_set() or isinstance(error, anyio.ClosedResourceError | anyio.BrokenResourceError):
            return True
        return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED

    async def _hold(self) -> None:
        with self._scope:
            async with self.client:
                self._ready.set_result(None)
                await anyio.sleep_forever()


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
