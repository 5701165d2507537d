"""The pages on one's own splitter and embedder, followed from the first block to the last in a fresh folder."""

import os
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from tests.docs.conftest import DOCS, OWN_EMBEDDER, OWN_SPLITTER, ROOT
from tests.docs.lesson import Reader, lesson_blocks

pytestmark = pytest.mark.slow


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """A reader in a folder with the bundled experiments, whose modules Python finds."""
    (tmp_path / "experiments").symlink_to(ROOT / "experiments")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path / "trigram")])}
    return Reader(tmp_path, Path(sys.executable).parent, environment)


def configurations(folder: Path) -> set[str]:
    return set(pd.read_parquet(folder / "metrics.parquet")["configuration"])


def test_a_splitter_of_ones_own_is_checked_and_compared(reader: Reader) -> None:
    reader.follow(lesson_blocks(OWN_SPLITTER.read_text("utf-8")))
    output = reader.folder / "outputs" / "splitter"
    assert configurations(output) == {"callable-my_splitter.by_section", "markdown-128", "fixed-128-0"}
    assert (output / "report.html").is_file()


def test_an_embedder_of_ones_own_is_checked_and_compared(reader: Reader) -> None:
    blocks = lesson_blocks(OWN_EMBEDDER.read_text("utf-8"))
    (package,) = (tomllib.loads(block.text)["project"] for block in blocks if block.language == "toml")
    # As pip leaves an installed package.
    info = reader.folder / "trigram" / "my_embedder-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package['name']}\nVersion: {package['version']}\n")
    ((group, names),) = package["entry-points"].items()
    (info / "entry_points.txt").write_text(f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in names.items()))
    reader.follow(blocks)
    output = reader.folder / "outputs" / "embedder"
    assert configurations(output) == {"fixed-128-0-trigram-dimensions1024", "fixed-128-0-static-dimensions256"}
    assert (output / "report.html").is_file()


def test_the_first_table_of_the_docs_has_the_eight_tasks_of_a_newcomer() -> None:
    first = (DOCS / "README.md").read_text("utf-8").split("\n## ")[1]
    assert first.startswith("Tasks\n")
    assert len([line for line in first.splitlines() if line.startswith("| [")]) == 8
