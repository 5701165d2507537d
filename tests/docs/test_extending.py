"""docs/extending.md, executed: its package is installed beside Workbench and its experiment is run."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Literal

import pandas as pd
import pytest

from workbench import testing
from workbench.chunking.base import CuttingChunker
from workbench.datasets.sources import GoldenSource
from workbench.errors import LawError

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


def run(installed: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), *sys.path])}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)


def test_the_pages_tests_check_every_component_and_pass(installed: Path) -> None:
    tests = (installed / "test_harbour.py").read_text()
    assert all(f"{check}(" in tests for check in testing.__all__ if check.startswith("check_"))
    done = run(
        installed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", installed, installed / "test_harbour.py"
    )
    assert done.returncode == 0, done.stdout
    assert f"{len(testing.CHUNKER_LAWS) + 10} passed" in done.stdout


def test_the_pages_message_of_a_broken_law_is_what_a_chunker_without_chunks_gets() -> None:
    class ParagraphChunker(CuttingChunker):
        kind: Literal["paragraphs"] = "paragraphs"

        def cuts(self, document, headers):
            return []

    (message,) = [block for block in blocks("text") if "breaks the law" in block]
    with pytest.raises(LawError) as broken:
        testing.check_chunker(ParagraphChunker())
    assert str(broken.value).partition(" breaks ")[2] == " ".join(message.split()).partition(" breaks ")[2]


def test_the_page_adds_a_component_of_every_kind_and_a_stage(installed: Path, tmp_path: Path, handbook_corner: Path) -> None:
    (experiment,) = blocks("yaml")
    (tmp_path / "harbour.yaml").write_text(experiment.replace("experiments/handbook", str(handbook_corner)))
    script = "import sys; from workbench.cli.main import main; sys.argv[0] = 'workbench'; main()"
    done = run(installed, "-c", script, "sweep", tmp_path / "harbour.yaml", "--outputs", tmp_path / "outputs")
    assert done.returncode == 0, done.stderr
    metrics = pd.read_parquet(tmp_path / "outputs" / "harbour" / "metrics.parquet").query("slice == 'all'")
    values = metrics.pivot(index="configuration", columns="metric", values="value")
    assert list(values.index) == [
        *("fixed-128-0", "fixed-128-0-dot", "fixed-128-0-overlap", "fixed-128-0-overlap-coverage", "fixed-128-0-overlap-keywords"),
        "pages",
        *("paragraphs", "paragraphs-dot", "paragraphs-overlap", "paragraphs-overlap-coverage", "paragraphs-overlap-keywords"),
    ]
    assert values["top_document"].between(0.01, 1).all()
    # The target only searches.
    assert values["answer_recall"].drop("pages").between(0.01, 1).all()
    assert values["top_document"].tolist() == values["success@1"].tolist()
    # The vectors have unit length, so that dot products rank as cosines do.
    assert values["mrr@10"]["fixed-128-0-dot"] == pytest.approx(values["mrr@10"]["fixed-128-0"])
    timings = pd.read_parquet(tmp_path / "outputs" / "harbour" / "timings.parquet")
    assert set(timings.loc[timings["name"] == "seconds_words", "configuration"]) == set(values.index)
    hits = pd.read_parquet(tmp_path / "outputs" / "harbour" / "hits.parquet").query("configuration == 'paragraphs'")
    documents = {document.doc_id: document.text for document in GoldenSource(path=str(handbook_corner)).load().documents}
    first = hits.iloc[0]
    assert "\n\n" not in documents[first["doc_id"]][first["start"] : first["end"]]
    assert (tmp_path / "outputs" / "harbour" / "report.html").is_file()
