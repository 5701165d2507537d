import io
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from workbench.core.text.progress import ProgressBar, notice, say_above

CELL = """
from workbench.core.text.progress import ProgressBar

for step in ProgressBar(range(3), desc="steps"):
    pass
"""


def test_a_bar_in_a_notebook_leaves_no_widget_behind(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    done = NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}, kernel_name="python3", timeout=120).execute()
    assert [output["data"] for output in done.cells[0].outputs] == [{"text/plain": ""}]


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_bar_in_a_terminal_counts() -> None:
    terminal = Terminal()
    with ProgressBar(total=2, desc="steps", file=terminal) as bar:
        bar.update()
        assert bar.n == 1
    assert "steps" in terminal.getvalue()


@pytest.mark.parametrize("disable", [False, None])
def test_a_log_has_no_bars(capsys: pytest.CaptureFixture[str], disable: bool | None) -> None:
    with ProgressBar(total=2, desc="steps", disable=disable) as bar:
        bar.set_description_str("more steps")
        bar.update()
    assert capsys.readouterr() == ("", "")


def test_bars_and_the_lines_above_them_are_printable(capsys: pytest.CaptureFixture[str]) -> None:
    hostile, shown = "cats\x1b]0;owned\x07\n http://me:hunter2@host", r"cats\x1b]0;owned\x07\n http://host"
    say_above(hostile)
    assert capsys.readouterr() == (f"{shown}\n", "")
    notice(hostile)
    assert capsys.readouterr() == ("", f"workbench: {shown}\n")
    with ProgressBar(total=1, desc=hostile, file=Terminal()) as bar:
        assert bar.desc.startswith(shown)
        bar.set_description_str(f"two {hostile}")
        assert bar.desc == f"two {shown}"
