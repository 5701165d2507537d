"""Fusion of real runs equals that of ranx, an independent implementation, which is installed into an environment of its own."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.environments import install
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

pytestmark = pytest.mark.soak

# Reads {fusion: {retriever: {query: {chunk: score}}}} and writes {fusion: {query: {chunk: score}}}.
FUSE = """
import json, sys
from ranx import Run, fuse
runs = json.load(open(sys.argv[1]))
how = {
    "rrf": {"norm": None, "method": "rrf", "params": {"k": 60}},
    "weighted": {"norm": "min-max", "method": "wsum", "params": {"weights": (0.7, 0.3)}},
}
fused = {name: fuse([Run(runs[name][each]) for each in ("dense", "bm25")], **settings) for name, settings in how.items()}
json.dump({name: {query: dict(scores) for query, scores in run.run.items()} for name, run in fused.items()}, open(sys.argv[2], "w"))
"""


@pytest.fixture(scope="module")
def ranx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with ranx. Workbench's own environment stays without it, since bm25s computes otherwise where numba is installed."""
    return install(tmp_path_factory.mktemp("ranx"), "ranx==0.3.21") / "python"


def test_dense_and_bm25_on_nfcorpus_are_fused_as_by_ranx(ranx: Path, big_data: Callable[[str], Path], tmp_path: Path) -> None:
    weights = {"dense": 0.7, "bm25": 0.3}
    settings = {
        "name": "fusion",
        "dataset": {"kind": "beir", "path": str(big_data("nfcorpus")), "split": "test"},
        "sweep": {
            "chunking": [{"kind": "whole"}],
            "retrieval": [{"kind": "hybrid"}, {"kind": "hybrid", "fusion": "weighted", "weights": weights}],
        },
        "metrics": ["ndcg@10"],
    }
    finished = run_experiment(experiment_of(settings, "test"), tmp_path / "outputs", lambda _: None)
    assert not finished.failures
    write_outputs(finished)
    names = dict(zip(("rrf", "weighted"), [result.configuration.name for result in finished.results], strict=True))
    sources, hits = (pd.read_parquet(finished.folder / f"{table}.parquet") for table in ("hit_sources", "hits"))
    # Ranks decide equal scores, which ranx orders in its own way.
    sources["ranks"] = -sources["retriever_rank"].astype(float)
    runs = {
        fusion: {
            each: {
                str(query): dict(zip(rows["chunk_id"], rows["ranks" if fusion == "rrf" else "retriever_score"], strict=True))
                for query, rows in sources[(sources["configuration"] == name) & (sources["retriever"] == each)].groupby("query_id")
            }
            for each in weights
        }
        for fusion, name in names.items()
    }
    # ranx fuses runs with the same questions, and some questions have no word in the corpus. Equal scores, such as that of a question with a
    # single hit, are scaled to 0 by ranx and to 1 by us.
    for by_retriever in runs.values():
        shared = set.intersection(
            *({query for query, scores in run.items() if len(set(scores.values())) > 1} for run in by_retriever.values())
        )
        for run in by_retriever.values():
            for query in set(run) - shared:
                del run[query]
    (tmp_path / "runs.json").write_text(json.dumps(runs))
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [ranx, "-c", FUSE, tmp_path / "runs.json", tmp_path / "fused.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    expected = json.loads((tmp_path / "fused.json").read_text())
    compared = 0
    for fusion, name in names.items():
        # Ours are in units of a first rank.
        unit = 61.0 if fusion == "rrf" else 1.0
        for query, rows in hits[hits["configuration"] == name].groupby("query_id"):
            if query in expected[fusion]:
                theirs = expected[fusion][query]
                ours = dict(zip(rows["chunk_id"], rows["score"], strict=True))
                assert ours.keys() == theirs.keys()
                assert [ours[chunk] for chunk in theirs] == pytest.approx([unit * score for score in theirs.values()], abs=2e-6)
                compared += len(ours)
    assert compared > 80_000
