"""The pages of the docs, their blocks, and a place to run them in: the repository's experiments beside a small finished run."""

import contextlib
import functools
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
README, TUTORIAL, EXTENDING = ROOT / "README.md", DOCS / "tutorial.md", DOCS / "extending.md"
PAGES = sorted([README, *DOCS.rglob("*.md")])
# Each of these makes its own files: test_tutorial.py, test_extending.py and test_start_on_your_documents.py follow them from the first block to the last.
LESSONS = (README, TUTORIAL, EXTENDING, DOCS / "how-to" / "start_on_your_documents.md")
WORKBENCH = Path(sys.executable).parent / "workbench"
# The names of experiments/quickstart.yaml, but fewer configurations and questions.
QUICKSTART = """
name: quickstart
dataset: {kind: golden, path: HANDBOOK}
pipeline:
  answering: {kind: extractive}
sweep:
  chunking:
    - {kind: fixed, size: [128, 256], overlap: 0}
    - {kind: hierarchical, child: 64, parent: 256}
conditions: [none, gold, retrieved, missing_gold, counterfactual, injection]
metrics: [span_recall@2000t, span_precision@2000t, recall@5, precision@5, mrr@10, ndcg@10, answer_recall, refusal_rate, over_refusal_rate]
primary: span_recall@2000t
"""


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
def workplace(tmp_path_factory: pytest.TempPathFactory, handbook_corner: Path) -> Path:
    """A working directory with the experiments of the repository and a finished `outputs/quickstart`."""
    folder = tmp_path_factory.mktemp("workplace")
    for name in ("experiments", "notebooks"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "quickstart.yaml").write_text(QUICKSTART.replace("HANDBOOK", str(handbook_corner)))
    command = [str(WORKBENCH), "sweep", "quickstart.yaml"]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder


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
