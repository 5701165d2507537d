"""A working directory with a small finished `outputs/quickstart`, whose names are those of experiments/quickstart.yaml."""

import shutil
from pathlib import Path

import pytest

from tests.commands import workbench
from tests.lab_server import ROOT
from tests.shared import built_once

# Fewer configurations and questions.
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


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory, handbook_corner: Path) -> Path:
    """A working directory with the experiments of the repository and a finished `outputs/quickstart`. Tests may add to it."""
    folder = tmp_path_factory.mktemp("workplace")
    shutil.copytree(built_once(tmp_path_factory, "workplace", lambda place: _sweep(place, handbook_corner)), folder, dirs_exist_ok=True)
    for name in ("experiments", "notebooks"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def _sweep(folder: Path, handbook: Path) -> None:
    (folder / "quickstart.yaml").write_text(QUICKSTART.replace("HANDBOOK", str(handbook)))
    done = workbench("sweep", "quickstart.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
