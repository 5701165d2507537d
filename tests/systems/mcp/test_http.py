"""Servers over HTTP that send something else than the protocol."""

import pytest

from tests.loopback import Loopback, LoopbackHandler, serving
from tests.systems.http.sessions import failure

from .conftest import notes


class Other(LoopbackHandler):
    def do_GET(self) -> None:  # noqa: N802
        self.reply(405, {})

    def do_DELETE(self) -> None:  # noqa: N802
        self.reply(405, {})


@pytest.fixture
def serve(monkeypatch):
    yield from serving(monkeypatch, lambda: Loopback(Other))


FAULTS = [
    (
        {"status": 302, "headers": {"location": "http://127.0.0.1:1/"}},
        "ConnectError: status 302 redirects to http://127.0.0.1:1/, which is not",
    ),
    (
        {"status": 307},
        "ConnectError: status 307 redirects without an address (no Location), which is not followed; write the final address as url",
    ),
    ({"raw": b" " * (16 * 2**20 + 1)}, "ReplyTooLargeError: more than 16 MB in one reply"),
    ({"raw": b"{}", "headers": {"content-encoding": "gzip"}}, "CompressedReplyError: a compressed reply"),
]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize(("fault", "reason"), FAULTS, ids=["elsewhere", "nowhere", "large", "compressed"])
def test_a_reply_that_is_none_is_one_line(serve, mode, fault, reason):
    server = serve()
    server.faults, server.lasting = [fault], True
    line = str(failure(notes(mode=mode, url=f"{server.host}/mcp", restarts=0)))
    assert line.startswith(f"the MCP server of 'notes': it cannot be reached: {reason}")
