import sys
from collections.abc import Callable

import pytest

from workbench.core.text.terminal import say_prose

HOSTILE = """
import logging, warnings
from workbench.core.text.terminal import print_messages_safely
print_messages_safely()
text = "cats\\x1b]0;owned\\x07 at http://me:hunter2@host"
warnings.warn(text)
logging.getLogger("of.a.library").warning("%s", text)
"""


def test_warnings_and_log_records_of_libraries_are_printable(start: Callable) -> None:
    _, printed = start(HOSTILE).communicate(timeout=60)
    assert printed.count(r"cats\x1b]0;owned\x07 at http://host") == 2, printed
    assert not {"\x1b", "\x07"} & set(printed)
    assert "hunter2" not in printed


def test_prose_is_broken_between_words_in_a_terminal_and_commands_never_are(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    prose, command = "markdown-256-enriched finds more", "    workbench export outputs/quickstart"
    for terminal in (False, True):
        monkeypatch.setattr(sys.stdout, "isatty", lambda answer=terminal: answer, raising=False)
        for line in ("", prose, command):
            say_prose(line)
    assert capsys.readouterr().out.split("\n") == ["", prose, command, "", "markdown-256-enriched", "finds more", command, ""]
