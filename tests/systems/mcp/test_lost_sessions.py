"""Servers over HTTP that forget their sessions, as those that are started again or limit their age."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.loopback import serving_application
from tests.systems.mcp.conftest import NOTES, during, notes
from tests.systems.mcp.test_session import CATS, DOGS, QUERY
from workbench.systems.base import System, TargetDownError

UNKNOWN = b'{"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "Session not found"}}'
# Errors of the protocol, as from the SDKs for Python and TypeScript, and a plain text, as from that for Go.
BODIES = [(b"application/json", UNKNOWN), (b"text/plain", b"session not found")]


class ForgetfulServer:
    """A notes server that forgets its sessions and its notes when it is told to, and then is out of order for some requests."""

    def __init__(self, module: Any, kind: bytes, body: bytes) -> None:
        self.module, self._kind, self._body = module, kind, body
        module.store = module.NoteStore()
        self._application = module.server.streamable_http_app()
        self._known, self._forgotten, self.broken = set[bytes](), set[bytes](), 0

    def forget(self, broken: int = 0) -> None:
        self._forgotten |= self._known
        self.module.store, self.broken = self.module.NoteStore(), broken

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        session = dict(scope.get("headers", ())).get(b"mcp-session-id")
        status = 404 if session in self._forgotten else 503 if scope["type"] == "http" and self.broken > 0 else 0
        if not status:
            self._known |= {session} if session else set()
            await self._application(scope, receive, send)
            return
        self.broken -= status == 503
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", self._kind)]})
        await send({"type": "http.response.body", "body": self._body if status == 404 else b""})


@pytest.fixture(params=BODIES, ids=["protocol", "plain"])
def forgetful(served: Callable[[Path], tuple[Any, str]], request: pytest.FixtureRequest) -> Iterator[tuple[ForgetfulServer, str]]:
    server = ForgetfulServer(served(NOTES)[0], *request.param)
    with serving_application(server) as address:
        yield server, f"{address}/mcp"


async def found(session: System) -> list[str | None]:
    return [hit.doc_id for hit in await session.search(QUERY, 5)]


def test_a_server_that_forgot_the_session_gets_the_documents_again_and_serves_all_questions(forgetful: tuple[ForgetfulServer, str]) -> None:
    server, url = forgetful

    async def work(session: System) -> None:
        await session.ingest([CATS, DOGS])
        for broken in (0, 0, 1):
            server.forget(broken)
            assert await asyncio.gather(*(found(session) for _ in range(3))) == [["cats", "dogs"]] * 3

    during(notes(mode="legacy", url=url), work)


def test_a_server_that_stays_away_is_given_up(forgetful: tuple[ForgetfulServer, str]) -> None:
    server, url = forgetful

    async def work(session: System) -> None:
        server.forget(broken=1_000)
        with pytest.raises(TargetDownError, match=r"'notes': it cannot be reached: .* \(HTTP status 503\)"):
            await found(session)

    during(notes(mode="legacy", url=url, restarts=2), work)
