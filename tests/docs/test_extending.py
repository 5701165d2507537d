"""docs/extending.md, executed: its package is installed beside Workbench and its experiment is run."""

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest

from tests.docs.conftest import run_with_modules
from tests.forked import command
from workbench import testing
from workbench.components.chunking.base import CuttingChunker
from workbench.core.errors import LawError
from workbench.data.sources import GoldenSource

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def is_test(block: str) -> bool:
    return "\ndef test_" in block


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The page's package as pip leaves it: its module and its dist-info."""
    (project,) = (tomllib.loads(text)["project"] for text in blocks("toml"))
    for name, tests in ((project["name"], False), (f"test_{project['name']}", True)):
        (tmp_path / f"{name}.py").write_text("\n\n".join(block for block in blocks("python") if is_test(block) == tests))
    info = tmp_path / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in offers.items())
        for group, offers in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
    return tmp_path


def run_pytest(*arguments: object) -> None:
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-c", os.devnull, *map(str, arguments)]))


def test_the_pages_tests_check_every_component_and_pass(installed: Path) -> None:
    tests = (installed / "test_harbour.py").read_text()
    assert all(f"{check}(" in tests for check in testing.__all__ if check.startswith("check_"))
    printed = run_with_modules(installed, run_pytest, "--rootdir", installed, installed / "test_harbour.py")
    assert f"{len(testing.CHUNKER_LAWS) + 10} passed" in printed


def test_the_pages_message_of_a_broken_law_is_what_a_chunker_without_chunks_gets() -> None:
    class ParagraphChunker(CuttingChunker):
        kind: Literal["paragraphs"] = "paragraphs"

        def cuts(self, document, headers):
            return []

    (message,) = [block for block in blocks("text") if "breaks the law" in block]
    with pytest.raises(LawError) as broken:
        testing.check_chunker(ParagraphChunker())
    assert str(broken.value).partition(" breaks ")[2] == " ".join(message.split()).partition(" breaks ")[2]


def test_the_page_adds_a_component_of_every_kind_and_a_stage(installed: Path, tmp_path: Path, handbook_few: Path) -> None:
    (experiment,) = blocks("yaml")
    (tmp_path / "harbour.yaml").write_text(experiment.replace("experiments/handbook", str(handbook_few)))
    # Without the second chunking, which is a builtin: each configuration has a notebook.
    options = ("--outputs", str(tmp_path / "outputs"), "--set", "sweep.chunking=[{kind: paragraphs}]")
    run_with_modules(installed, command, "sweep", str(tmp_path / "harbour.yaml"), *options)
    metrics = pd.read_parquet(tmp_path / "outputs" / "harbour" / "metrics.parquet").query("slice == 'all'")
    values = metrics.pivot(index="configuration", columns="metric", values="value")
    assert list(values.index) == [
        "pages",
        *(f"paragraphs-{rest}-opening" for rest in ("hashing-512d-dot", "hashing-512d")),
        *(f"paragraphs-overlap-{rest}opening" for rest in ("coverage-pool20-", "keywords-", "")),
    ]
    assert values["top_document"].between(0.01, 1).all()
    # The target only searches.
    assert values["answer_recall"].drop("pages").between(0.01, 1).all()
    assert values["brevity"].drop("pages").between(0.001, 1).all()
    assert values["top_document"].tolist() == values["success@1"].tolist()
    # The vectors have unit length, so that dot products rank as cosines do.
    assert values["mrr@10"]["paragraphs-hashing-512d-dot-opening"] == pytest.approx(values["mrr@10"]["paragraphs-hashing-512d-opening"])
    timings = pd.read_parquet(tmp_path / "outputs" / "harbour" / "timings.parquet")
    assert set(timings.loc[timings["name"] == "seconds_words", "configuration"]) == set(values.index)
    words = pd.read_parquet(tmp_path / "outputs" / "harbour" / "chunk_words.parquet")
    counted = pd.read_parquet(tmp_path / "outputs" / "harbour" / "configurations.parquet").set_index("configuration")["chunks"].dropna()
    assert words.groupby("configuration")["chunks"].sum()[counted.index].tolist() == counted.tolist()
    hits = pd.read_parquet(tmp_path / "outputs" / "harbour" / "hits.parquet").query("configuration == 'paragraphs-hashing-512d-opening'")
    documents = {document.doc_id: document.text for document in GoldenSource(path=str(handbook_few)).load().documents}
    first = hits.iloc[0]
    assert "\n\n" not in documents[first["doc_id"]][first["start"] : first["end"]]
    assert (tmp_path / "outputs" / "harbour" / "report.html").is_file()
