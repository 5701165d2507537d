"""The panels of a notebook: an update of the boundaries of a document, and the ranking of a run by a metric that its sweep did not compute.

Boundaries are those of the covid-qa document whose length is nearest to 50,000 characters. The tokens of the document are counted before, as
when a person chooses it. The ranking is of 24 configurations of all covid-qa questions by BM25; each metric is new to the run.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import at_most
from workbench.api.datasets import load_dataset
from workbench.api.results import Results
from workbench.api.widgets.boundaries import KINDS, ChunkingPanel, try_chunking
from workbench.core.environment import data_folder
from workbench.data.sources import recognise
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

NEEDS = ("covid-qa",)
_LENGTH = 50_000
_SIZES = (32, 64, 128, 256, 512)
_ROUNDS = 5
_MOST_MILLISECONDS = 150
_SWEPT = ("recall@5", "span_recall@2000t", "complete@5")
_NEW = ("recall@3", "ndcg@10", "span_recall@3", "complete@4", "chunk_precision@3", "span_recall@1500t", "need_recall@500t", "margin")


def run() -> dict[str, Any]:
    """Milliseconds of an update by chunking and size, the slowest of them, and seconds of a ranking by metric."""
    moved = _moved()
    # CPU time, which other programs do not change much. On a quiet machine it is the time that a person waits.
    slowest = max(row["cpu milliseconds"] for row in moved)
    return {
        "boundaries": moved,
        "slowest update, ms of CPU": slowest,
        **_ranked(),
        "claims": [at_most("the slowest update, ms of CPU", slowest, _MOST_MILLISECONDS)],
    }


def _moved() -> list[dict[str, Any]]:
    dataset = load_dataset(data_folder() / "covid-qa")
    document = min(dataset.documents, key=lambda each: abs(len(each.text) - _LENGTH))
    panel = try_chunking(dataset, doc_id=document.doc_id)
    return [
        {"characters": len(document.text), "chunking": kind, "size": size, **_update(panel, kind, size)}
        for kind in KINDS
        for size in _SIZES
    ]


def _update(panel: ChunkingPanel, kind: str, size: int) -> dict[str, float]:
    """Return the median time of an update with its HTML, in ms of wall and of CPU time. Each round has another size."""
    walls, cpus = [], []
    for number in range(_ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        panel.choose(kind=kind, size=size + number, overlap=(size + number) // 4, parent=4 * size)
        panel.static_html  # noqa: B018  # what a browser gets
        walls.append(1_000 * (time.perf_counter() - wall))
        cpus.append(1_000 * (time.process_time() - cpu))
    return {"milliseconds": statistics.median(walls), "cpu milliseconds": statistics.median(cpus)}


def _ranked() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        results = _run(Path(folder))
        deeper = _run(Path(folder), _NEW)
        seconds = {metric: _seconds(partial(results.what_if, metric)) for metric in _NEW}
        again = {metric: _seconds(partial(results.what_if, metric)) for metric in _NEW}
        apart = max(_apart(results, deeper, metric) for metric in _NEW)
    return {"configurations": len(results.names), "what-if, s": seconds, "again, s": again, "largest difference from a sweep": apart}


def _run(folder: Path, more: tuple[str, ...] = ()) -> Results:
    """Sweep 24 chunkings, also by `more` metrics."""
    sizes = {"size": [64, 96, 128, 192, 256, 384], "overlap": [0, 32]}
    chunking = [{"kind": kind, **sizes} for kind in ("fixed", "recursive")]
    settings = {
        "name": "more" if more else "ranked",
        "dataset": recognise(str(data_folder() / "covid-qa"), None).settings(),
        "pipeline": {"retrieval": {"kind": "bm25", "k": 10}},
        "sweep": {"chunking": chunking},
        "metrics": [*_SWEPT, *more],
        "primary": "span_recall@2000t",
    }
    outcome = run_experiment(experiment_of(settings, "the benchmark"), folder / "outputs", lambda _: None)
    write_outputs(outcome)
    return Results.read(outcome.folder)


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _apart(results: Results, deeper: Results, metric: str) -> float:
    """Return the largest difference between values and bounds re-scored from one run and those that another swept."""
    own, theirs = (each.what_if(metric).set_index("configuration").sort_index() for each in (results, deeper))
    if set(own["source"]) != {"re-scored"} or set(theirs["source"]) != {"sweep"}:
        raise ValueError(f"{metric} was not re-scored")
    columns = ["value", "low", "high"]
    return float(np.abs(own[columns].to_numpy(np.float64) - theirs[columns].to_numpy(np.float64)).max())
