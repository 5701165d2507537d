"""A small real experiment: development questions of a part of the handbook, three chunkings, run once for all tests of this folder."""

from pathlib import Path

import pytest

from workbench.execution.local import Outcome, run_experiment
from workbench.execution.outputs import write_outputs
from workbench.experiment.read import read_experiment

YAML = """
name: small
dataset: {kind: golden, path: HANDBOOK, split: dev}
sweep:
  chunking:
    - {kind: fixed, size: [128, 512], overlap: 0}
    - {kind: hierarchical, child: 64, parent: 256}
metrics: [span_recall@2000t, need_recall@5, recall@5, precision@5, recall_cap@5, success@3, mrr@10, ndcg@10, map@10, irrelevant@3, margin, span_precision_omega]
baseline: fixed-128-0
"""


@pytest.fixture
def experiment_file(tmp_path: Path, handbook_part: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(YAML.replace("HANDBOOK", str(handbook_part)))
    return path


@pytest.fixture(scope="session")
def outcome(tmp_path_factory: pytest.TempPathFactory, handbook_part: Path) -> Outcome:
    folder = tmp_path_factory.mktemp("experiment")
    (folder / "small.yaml").write_text(YAML.replace("HANDBOOK", str(handbook_part)))
    finished = run_experiment(read_experiment(folder / "small.yaml"), folder / "outputs", lambda _: None)
    write_outputs(finished)
    return finished


FEW = """
name: few
dataset: {kind: golden, path: HANDBOOK, split: dev}
pipeline: {retrieval: {kind: bm25, k: 5}}
sweep:
  chunking:
    - {kind: fixed, size: [64, 128], overlap: [0, 16]}
    - {kind: hierarchical, child: 64, parent: 256}
metrics: [span_recall@500t, recall@5, ndcg@10, irrelevant@3, margin]
"""


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory, handbook_corner: Path) -> Outcome:
    """A finished sweep that needs no model, written in a moment."""
    folder = tmp_path_factory.mktemp("few")
    (folder / "few.yaml").write_text(FEW.replace("HANDBOOK", str(handbook_corner)))
    finished = run_experiment(read_experiment(folder / "few.yaml"), folder / "outputs", lambda _: None)
    write_outputs(finished)
    return finished
