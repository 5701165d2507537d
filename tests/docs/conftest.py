"""The pages of the docs, their blocks, and a place to run them in: the repository's experiments beside a small finished run."""

import contextlib
import functools
import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.forked import Forked

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README, TUTORIAL, EXTENDING = ROOT / "README.md", DOCS / "tutorial.md", DOCS / "extending.md"
# Two pages are beside the files that they describe.
FAULTBENCH, CHROMA = ROOT / "benchmarks" / "faultbench" / "README.md", ROOT / "experiments" / "chroma_report.md"
PAGES = sorted([README, FAULTBENCH, CHROMA, *DOCS.rglob("*.md")])
OWN_SPLITTER = DOCS / "how-to" / "write_a_splitter.md"
# Each of these makes its own files: test_tutorial.py, test_extending.py, test_write_a_splitter.py and
# test_start_on_your_documents.py follow them from the first block to the last.
LESSONS = (README, TUTORIAL, EXTENDING, OWN_SPLITTER, DOCS / "how-to" / "start_on_your_documents.md")


class Executed(NamedTuple):
    """The names that a page's Python blocks leave behind, and their output."""

    names: dict[str, object]
    output: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def section(page: Path, heading: str) -> str:
    """The text below a heading of the second level."""
    (text,) = re.findall(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return str(text)


def blocks(page: Path, language: str, heading: str = "") -> list[str]:
    """The blocks of a page, or of the section below a heading."""
    text = section(page, heading) if heading else page.read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def every_block(language: str) -> list[tuple[Path, str]]:
    found = [(page, text) for page in PAGES if page not in LESSONS for text in blocks(page, language)]
    assert found
    return found


@pytest.fixture(scope="session")
def executed(workplace: Path) -> Callable[[Path], Executed]:
    """Run the Python blocks of a page in order, once in a session."""

    @functools.cache
    def run(page: Path) -> Executed:
        names: dict[str, object] = {"__name__": "__main__"}
        output = io.StringIO()
        with contextlib.chdir(workplace), contextlib.redirect_stdout(output), pytest.MonkeyPatch.context() as patch:
            # Pages show tables in their width.
            patch.setenv("COLUMNS", "100")
            for text in blocks(page, "python"):
                exec(compile(text, name_of(page), "exec"), names)
        return Executed(names, output.getvalue())

    return run


def run_with_modules(folder: Path, function: Callable[..., object], *arguments: Any) -> str:
    """Call a function in a process that finds the modules and the installed packages of a folder, and return what it prints."""
    environment = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    with contextlib.closing(Forked(_call_with_modules, str(folder), function, arguments, env=environment)) as process:
        return process.output()


def _call_with_modules(folder: str, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
    sys.path.insert(0, folder)
    function(*arguments)
