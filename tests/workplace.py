"""A working directory with a small finished `outputs/quickstart`, whose names are those of experiments/quickstart.yaml."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.lab_server import ROOT, WORKBENCH

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
    """A working directory with the experiments of the repository and a finished `outputs/quickstart`."""
    folder = tmp_path_factory.mktemp("workplace")
    for name in ("experiments", "notebooks"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "quickstart.yaml").write_text(QUICKSTART.replace("HANDBOOK", str(handbook_corner)))
    command = [str(WORKBENCH), "sweep", "quickstart.yaml"]
    done = subprocess.run(command, cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return folder
