"""The page on one's own splitter, followed from the first block to the last in a fresh folder."""

from pathlib import Path

import pandas as pd
import pytest

from tests.docs.conftest import DOCS, OWN_SPLITTER, ROOT, run_with_modules
from tests.docs.lesson import Reader, lesson_blocks

pytestmark = pytest.mark.slow


def follow(page: Path, folder: Path, modules: Path) -> Path:
    """Follow a page in a folder with the bundled experiments, and return its outputs."""
    (folder / "experiments").symlink_to(ROOT / "experiments")
    run_with_modules(modules, read, page, folder)
    return folder / "outputs"


def read(page: Path, folder: Path) -> None:
    Reader(folder).follow(lesson_blocks(page.read_text("utf-8")))


def configurations(folder: Path) -> set[str]:
    return set(pd.read_parquet(folder / "metrics.parquet")["configuration"])


def test_a_splitter_of_ones_own_is_checked_and_compared(tmp_path: Path) -> None:
    output = follow(OWN_SPLITTER, tmp_path, tmp_path) / "splitter"
    assert configurations(output) == {"callable-my_splitter.by_section-bm25", "markdown-128-bm25", "fixed-128-0-bm25"}
    assert (output / "report.html").is_file()


def test_the_first_table_of_the_docs_has_the_eight_tasks_of_a_newcomer() -> None:
    first = (DOCS / "README.md").read_text("utf-8").split("\n## ")[1]
    assert first.startswith("Tasks\n")
    assert len([line for line in first.splitlines() if line.startswith("| [")]) == 8
