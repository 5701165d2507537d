"""docs/extending.md, executed: its package is installed beside Workbench and its experiment is run."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from workbench.datasets.sources import GoldenSource

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The page's package as pip leaves it: its module and its dist-info."""
    (project,) = (tomllib.loads(text)["project"] for text in blocks("toml"))
    (tmp_path / f"{project['name']}.py").write_text("\n\n".join(blocks("python")))
    info = tmp_path / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in offers.items())
        for group, offers in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups))
    return tmp_path


def test_the_page_adds_a_component_of_every_kind_and_a_stage(installed: Path, tmp_path: Path, handbook_corner: Path) -> None:
    (experiment,) = blocks("yaml")
    (tmp_path / "harbour.yaml").write_text(experiment.replace("experiments/handbook", str(handbook_corner)))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), *sys.path])}
    script = "import sys; from workbench.cli.main import main; sys.argv[0] = 'workbench'; main()"
    command = [sys.executable, "-c", script, "sweep", str(tmp_path / "harbour.yaml"), "--outputs", str(tmp_path / "outputs")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    metrics = pd.read_parquet(tmp_path / "outputs" / "harbour" / "metrics.parquet").query("slice == 'all'")
    values = metrics.pivot(index="configuration", columns="metric", values="value")
    assert list(values.index) == [
        *("fixed-128-0", "fixed-128-0-dot", "fixed-128-0-overlap"),
        *("paragraphs", "paragraphs-dot", "paragraphs-overlap"),
    ]
    assert values["top_document"].between(0.01, 1).all()
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
