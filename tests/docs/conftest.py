"""The pages of the docs, their blocks, and a place to run them in: the repository's experiments beside a small finished run."""

import contextlib
import functools
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README, TUTORIAL, EXTENDING = ROOT / "README.md", DOCS / "tutorial.md", DOCS / "extending.md"
PAGES = sorted([README, *DOCS.rglob("*.md")])
OWN_SPLITTER, OWN_EMBEDDER = DOCS / "how-to" / "write_a_splitter.md", DOCS / "how-to" / "write_an_embedder.md"
# Each of these makes its own files: test_tutorial.py, test_extending.py, test_own_components.py and
# test_start_on_your_documents.py follow them from the first block to the last.
LESSONS = (README, TUTORIAL, EXTENDING, OWN_SPLITTER, OWN_EMBEDDER, DOCS / "how-to" / "start_on_your_documents.md")
WORKBENCH = Path(sys.executable).parent / "workbench"


class Executed(NamedTuple):
    """The names that a page's Python blocks leave behind, and their output."""

    names: dict[str, object]
    output: str


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


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
        with contextlib.chdir(workplace), contextlib.redirect_stdout(output):
            for text in blocks(page, "python"):
                exec(compile(text, name_of(page), "exec"), names)
        return Executed(names, output.getvalue())

    return run
