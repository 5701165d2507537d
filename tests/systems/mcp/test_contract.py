"""A server that cannot be used is found at the start, and the reason names the fix."""

import asyncio
import re
import time
from typing import Any

import pytest

from tests.loopback import Loopback, LoopbackHandler, closed_port, serving
from tests.systems.mcp.conftest import TOOLS, during, notes
from workbench.core.errors import InputError
from workbench.systems.base import System, TargetDownError
from workbench.systems.mcp.target import McpTarget

SEARCH = TOOLS["search"]


async def nothing(_: System) -> None:
    await asyncio.sleep(0)


def search(tool: str = "semantic_search", **arguments: Any) -> dict[str, Any]:
    return {**TOOLS["search"], "tool": tool, "arguments": arguments}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (
            {"search": search("semantic_serch", query="{query}")},
            "no tool 'semantic_serch' (did you mean 'semantic_search'?); its tools are",
        ),
        (
            {"search": search(query="{query}", limt="{k}")},
            "'semantic_search' has no argument 'limt' (did you mean 'limit'?); it has query and limit",
        ),
        ({"search": search("create_note", title="{query}")}, "the tool 'create_note' needs the argument 'content'"),
    ],
)
def test_tools_and_their_arguments_are_checked_at_the_start(settings: dict[str, Any], reason: str, notes_url: str) -> None:
    with pytest.raises(TargetDownError, match=re.escape(reason)):
        during(notes(url=notes_url, **settings), nothing)


def test_a_process_that_ends_at_once_is_reported_with_its_last_line_without_secrets(secret: str) -> None:
    crash = "import os; raise SystemExit(f'no license for {os.environ[\"SECRET_KEY\"]}')"
    with pytest.raises(TargetDownError) as raised:
        during(McpTarget(name="strange", command="python", args=("-c", crash), env=["SECRET_KEY"], search=SEARCH), nothing)
    message = str(raised.value)
    assert "'strange': it cannot be reached" in message
    assert "no license for" in message
    assert secret not in message


@pytest.mark.parametrize(
    "args",
    [
        ("--api-key", "sk-aB3xY9zQ7LmN"),
        ("--api-key=sk-aB3xY9zQ7LmN",),
        ("--header", "Authorization: Bearer sk-aB3xY9zQ7LmN"),
        ("https://me:aB3xY9zQ7@host/mcp",),
        ("https://host/mcp?token=aB3xY9zQ7",),
    ],
)
def test_a_key_in_the_arguments_is_refused_and_not_repeated(args: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="args contain what looks like a key; name an environment variable") as raised:
        McpTarget(name="strange", command="python", args=args, search=SEARCH)
    assert "aB3xY9zQ7" not in str(raised.value)


def test_options_named_like_keys_have_words_paths_and_numbers() -> None:
    args = ("--token", "--key=title", "--api-key", "/run/secrets/key", "--max-token", "400", "--key")
    assert McpTarget(name="strange", command="python", args=args, search=SEARCH).args == args


def test_paths_words_and_addresses_for_a_process_are_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"DOCS": "/srv/docs", "MODE": "production", "PORT": "8080", "SITE": "https://docs.example.com/", "LOGIN": "Bearer hunter22"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    target = McpTarget(name="strange", command="python", env=[*values], search=SEARCH)
    assert target.secrets() == ("Bearer hunter22", "hunter22")


def test_a_process_that_never_speaks_is_given_up_and_ended() -> None:
    silent = ("-c", "import time; time.sleep(60)")
    started = time.monotonic()
    with pytest.raises(TargetDownError, match=r"no connection within 0\.5 seconds"):
        during(McpTarget(name="strange", command="python", args=silent, start_timeout=0.5, search=SEARCH), nothing)
    assert time.monotonic() - started < 20


def test_an_address_where_nothing_listens_is_reported() -> None:
    with pytest.raises(TargetDownError, match="'notes': it cannot be reached"):
        during(notes(url=f"http://127.0.0.1:{closed_port()}/mcp"), nothing)


class Website(LoopbackHandler):
    """Answers with a page, as a wrong address does, or with a status."""

    def do_POST(self) -> None:  # noqa: N802
        status = 401 if self.path == "/private" else 200
        self.rfile.read(int(self.headers["content-length"]))
        self.server.headers.append(dict(self.headers))
        self.send(status, b"<html>hello</html>", {"content-type": "text/html"})


def test_a_page_and_a_refusal_are_reported_and_headers_come_from_variables(monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
    for start in serving(monkeypatch, lambda: Loopback(Website)):
        host = start()
        with pytest.raises(TargetDownError, match="text/html"):
            during(notes(url=f"{host.host}/mcp"), nothing)
        with pytest.raises(TargetDownError, match=r"\(HTTP status 401\)") as raised:
            during(notes(url=f"{host.host}/private", headers_env={"X-Key": "SECRET_KEY"}), nothing)
        assert secret not in str(raised.value)
        assert {headers.get("X-Key") for headers in host.headers} == {None, secret}
