"""Two finished sweeps of a part of the handbook, each run once for all test processes: `outcome` with vectors, `few` with BM25 alone."""

from pathlib import Path

import pytest

from tests.shared import built_once
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import read_experiment

SMALL = """
name: small
dataset: {kind: golden, path: HANDBOOK, split: dev}
sweep:
  chunking:
    - {kind: fixed, size: [128, 512], overlap: 0}
    - {kind: hierarchical, child: 64, parent: 256}
metrics: [span_recall@2000t, need_recall@5, recall@5, precision@5, recall_cap@5, success@3, mrr@10, ndcg@10, map@10, irrelevant@3, margin, span_precision_omega]
baseline: fixed-128-0
"""
FEW = """
name: few
dataset: {kind: golden, path: HANDBOOK, split: dev}
pipeline: {retrieval: {kind: bm25, k: 5}}
configurations:
  - {name: fixed-64-0, chunking: {kind: fixed, size: 64}}
  - {name: fixed-64-16, chunking: {kind: fixed, size: 64, overlap: 16}}
  - {name: fixed-128-0, chunking: {kind: fixed, size: 128}}
  - {name: fixed-128-16, chunking: {kind: fixed, size: 128, overlap: 16}}
  - {name: hierarchical-64-256, chunking: {kind: hierarchical, child: 64, parent: 256}}
metrics: [span_recall@500t, recall@5, ndcg@10, irrelevant@3, margin]
"""


def write_experiment(settings: str, handbook: Path, path: Path) -> Path:
    """Write an experiment file on this part of the handbook."""
    path.write_text(settings.replace("HANDBOOK", str(handbook)))
    return path


def ran(experiment: Path) -> Outcome:
    """Run an experiment into `outputs` beside its file; what is in the store there is not computed again."""
    return run_experiment(read_experiment(experiment), experiment.parent / "outputs", lambda _: None)


def finished(experiment: Path) -> Outcome:
    """Run an experiment and write its tables, in which all results are from the store, as in those of every further run."""
    ran(experiment)
    outcome = ran(experiment)
    write_outputs(outcome)
    return outcome


@pytest.fixture
def experiment_file(tmp_path: Path, handbook_part: Path) -> Path:
    return write_experiment(SMALL, handbook_part, tmp_path / "small.yaml")


@pytest.fixture(scope="session")
def outcome(tmp_path_factory: pytest.TempPathFactory, handbook_part: Path) -> Outcome:
    folder = built_once(tmp_path_factory, "small", lambda folder: finished(write_experiment(SMALL, handbook_part, folder / "small.yaml")))
    return ran(folder / "small.yaml")


@pytest.fixture(scope="session")
def few(tmp_path_factory: pytest.TempPathFactory, handbook_corner: Path) -> Outcome:
    """A sweep that needs no model and is written in a moment."""
    folder = built_once(tmp_path_factory, "few", lambda folder: finished(write_experiment(FEW, handbook_corner, folder / "few.yaml")))
    return ran(folder / "few.yaml")
