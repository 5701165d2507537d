"""A working directory with a small finished `outputs/quickstart`, whose names are those of experiments/quickstart.yaml."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from filelock import FileLock

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
    """A working directory with the experiments of the repository and a finished `outputs/quickstart`. Tests may add to it."""
    folder = tmp_path_factory.mktemp("workplace")
    shutil.copytree(_swept(tmp_path_factory.getbasetemp(), handbook_corner), folder, dirs_exist_ok=True)
    for name in ("experiments", "notebooks"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def _swept(own: Path, handbook: Path) -> Path:
    """Sweep in a folder that all test processes of the session share, once."""
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "swept-workplace"
    finished = folder / "outputs" / "quickstart" / "report.html"
    with FileLock(folder.with_suffix(".lock")):
        if not finished.is_file():
            folder.mkdir()
            (folder / "quickstart.yaml").write_text(QUICKSTART.replace("HANDBOOK", str(handbook)))
            command = [str(WORKBENCH), "sweep", "quickstart.yaml"]
            environment = os.environ | {"PYTHONPATH": str(ROOT)}
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
            assert done.returncode == 0, done.stderr
    return folder
