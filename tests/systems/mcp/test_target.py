"""Settings of MCP servers: what they can do, what identifies them, and what is wrong with them, without a request."""

import re
import sys
from typing import Any

import pytest

from tests.systems.mcp.conftest import TOOLS, notes, strange
from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.systems.mcp.target import McpTarget
from workbench.systems.registry import TARGETS

MODEL = {"kind": "chat", "provider": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1"}


def test_the_settings_say_what_the_server_can_do() -> None:
    whole, part = notes(), strange()
    assert (whole.searches, whole.answers, whole.ingests, whole.gives_text, whole.takes_context) == (True, True, True, True, False)
    assert (part.searches, part.answers, part.ingests, part.gives_text) == (True, False, False, False)
    given = {**TOOLS["answer"], "arguments": {"query": "{query}", "passages": "{context}"}}
    assert notes(answer=given).takes_context
    assert TARGETS["mcp"] is McpTarget


def test_a_program_runs_with_permission_only() -> None:
    assert strange(args=["-v"]).named_code[0].endswith("strange_server.py -v")
    assert notes(url="http://localhost:8000/mcp").named_code == ()


def test_settings_can_be_written_to_an_experiment_and_read_again() -> None:
    target = notes(sampling=MODEL, ingest={**TOOLS["ingest"], "degraded": [{"path": "$.status", "in": ["failed"]}]})
    assert McpTarget(**target.settings()) == target


def test_wrong_settings_are_one_line_that_names_the_fix(wording) -> None:
    cases: dict[str, dict[str, Any]] = {
        "no tool": {"search": None, "answer": None},
        "no command": {"command": ""},
        "no address": {"transport": "http", "url": ""},
        "an address with a command": {"transport": "http", "url": "http://localhost/mcp", "command": "python", "args": ()},
        "headers of a process": {"headers_env": {"X": "Y"}},
        "a password in the address": {"transport": "http", "url": "http://me:pass@localhost/mcp", "command": "", "args": ()},
        "a key in the address": {"transport": "http", "url": "http://localhost/mcp?key=pass", "command": "", "args": ()},
        "an address without http": {"transport": "http", "url": "localhost:80/mcp", "command": "", "args": ()},
        "a value in env": {"env": ["A=pass"]},
        "an unknown slot": {"search": {**TOOLS["search"], "arguments": {"query": "{qery}"}}},
        "no question": {"search": {**TOOLS["search"], "arguments": {"query": "cats"}}},
        "no question for the answer": {"answer": {**TOOLS["answer"], "arguments": {}}},
        "slots for one and for many": {"ingest": {"tool": "t", "arguments": {"text": "{text}", "all": "{texts}"}}},
        "no slot of a document": {"ingest": {"tool": "t", "arguments": {"text": "x"}}},
        "nothing to remove": {"remove": {"tool": "t", "arguments": {}}},
        "an unknown mode": {"mode": "new"},
        "an unknown kind of sampling": {"sampling": {"kind": "chatt"}},
    }
    wording(lambda settings: McpTarget(**{"name": "notes", "command": "python", "args": ("server.py",), **TOOLS, **settings}), cases)


def test_what_is_missing_on_this_machine_is_found_by_the_check(wording) -> None:
    wording(
        lambda settings: notes(**settings).check(),
        [
            {"command": "no-such-program", "args": ()},
            {"env": ["NO_SUCH_VARIABLE"]},
            {"sampling": {"kind": "local", "path": "no-such.gguf"}},
        ],
    )


def test_the_identity_has_no_secret_and_changes_with_the_model(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    target = notes(env=["SECRET_KEY"], sampling=MODEL)
    assert secret not in str(target.identity())
    assert "SECRET_KEY" in str(target.identity())
    same = notes(env=["SECRET_KEY"], sampling=MODEL, name="other", timeout=5, concurrency=7, start_timeout=3, restarts=9, canary="x")
    assert fingerprint(same.identity()) == fingerprint(target.identity())
    others = [
        notes(env=["SECRET_KEY"], sampling={**MODEL, "model": "n"}),
        notes(env=["SECRET_KEY"], sampling={**MODEL, "temperature": 1.0}),
        notes(env=["SECRET_KEY"], sampling=MODEL, mode="legacy"),
        notes(env=["SECRET_KEY"], sampling=MODEL, revision="2"),
        notes(env=["SECRET_KEY"], sampling=MODEL, remove=None),
    ]
    assert len({fingerprint(each.identity()) for each in [target, *others]}) == 6


def test_without_the_package_the_check_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    target = notes()
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(InputError, match=re.escape("pip install 'rag-workbench[targets]'")):
        target.check()
