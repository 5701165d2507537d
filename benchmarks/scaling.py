"""Measure the cost of a sweep as its corpus grows, and extrapolate it to 10^6, 10^8 and 10^10 tokens: the figures of docs/explanation/scaling.md.

The corpus is 1/64, 1/16, 1/4 and all of a share of NFCorpus's documents (the first argument, default 1), with the same questions at every
size. All stages but encoding are timed with static vectors of the same dimension, so that all documents take seconds. The
whole takes about ten minutes on a quiet machine; use a smaller share on a busy one.
"""

import functools
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import at_most
from workbench.components.retrieval.chroma_index import folder_bytes
from workbench.core.records import Dataset
from workbench.core.storage.vector_cache import VectorCache
from workbench.data.formats.golden import write_golden
from workbench.data.sources import SOURCES
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.dask_sweep import connected, precompute
from workbench.runner.execution.dask_workers import Task
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import read_experiment
from workbench.runner.notebook_runner.notebooks import run_notebooks
from workbench.runner.pipeline.stage_results import StageResults

SHARES = (1 / 64, 1 / 16, 1 / 4, 1)
QUESTIONS = 50
SIZE = 128
SCALES = (10**6, 10**8, 10**10)
# An exponent up to this counts as linear, the precision of timings on a shared machine.
LINEAR = 1.1
_BATCHES = 400

ENCODE = """
import json, sys, time
from pathlib import Path
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
texts = json.loads(Path(sys.argv[1]).read_text())
embedder = SentenceTransformerEmbedder()
embedder.encode(texts[:8], "document")
tokens = int(embedder.lengths(texts, "document").clip(max=embedder.window()).sum())
started = time.perf_counter()
embedder.encode(texts, "document")
print(tokens / (time.perf_counter() - started))
"""


def run(share: float = 1.0) -> dict[str, Any]:
    """The costs of each stage by size with their exponents, of encoding, notebooks, the driver and workers, and the extrapolation."""
    whole = SOURCES["nfcorpus"].model_validate({"kind": "nfcorpus"}).load()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        # The model is converted and warm before anything is timed.
        for name, embedding in {"warm-static": STATIC, "warm": MINILM}.items():
            sweep(experiment(whole, SHARES[0] * share, place / name, embedding=embedding), place / name)
        sizes = [size_costs(whole, part * share, place / f"size{number}") for number, part in enumerate(SHARES)]
        figures = {
            "documents": sizes[-1]["documents"],
            "encoder_tokens_a_second": encoder_rates(whole, place),
            "sizes": sizes,
            "exponents": exponents(sizes),
            "bytes_a_chunk": sizes[-1]["bytes_a_chunk"],
            "driver": driver_rates(place),
            "sweep_seconds": sweeps(whole, share / 4, place),
            "notebook_seconds": notebook_seconds(whole, share / 16, place / "notebooks"),
        }
    linear = [at_most(f"exponent of {stage}", figures["exponents"][stage], LINEAR) for stage in ("chunks", "encoding")]
    return figures | {"scales": {f"{tokens:.0e}": takes(tokens, figures) for tokens in SCALES}, "claims": linear}


STATIC = "{kind: static, dimensions: 384}"
MINILM = "{kind: sentence-transformers}"


def experiment(
    whole: Dataset, share: float, folder: Path, chunkings: str = f"{{kind: fixed, size: {SIZE}}}", embedding: str = MINILM
) -> Path:
    """An experiment file on a share of the documents, with questions that the smallest share answers."""
    first = {document.doc_id for document in whole.documents[: round(len(whole.documents) * share)]}
    fewest = {document.doc_id for document in whole.documents[: round(len(whole.documents) * SHARES[0] / 4)]} | first
    asked = list(dict.fromkeys(qrel.query_id for qrel in whole.qrels if qrel.doc_id in fewest and qrel.relevance > 0))[:QUESTIONS]
    kept = Dataset(
        whole.name,
        tuple(document for document in whole.documents if document.doc_id in first),
        tuple(query for query in whole.queries if query.query_id in asked),
        tuple(qrel for qrel in whole.qrels if qrel.query_id in asked and qrel.doc_id in first),
        (),
    )
    write_golden(kept, folder / "data")
    path = folder / "scaling.yaml"
    path.write_text(
        f"name: scaling\ndataset: {{kind: golden, path: {folder / 'data'}}}\nmetrics: [ndcg@10, recall@5]\n"
        f"pipeline:\n  embedding: {embedding}\n"
        f"sweep:\n  chunking:\n    - {chunkings}\n"
    )
    return path


def sweep(path: Path, outputs: Path, jobs: int | None = None) -> Outcome:
    before = functools.partial(precompute, jobs=jobs) if jobs else None
    outcome = run_experiment(read_experiment(path), outputs / "outputs", lambda _: None, before)
    write_outputs(outcome)
    assert not outcome.failures, outcome.failures
    return outcome


def size_costs(whole: Dataset, share: float, folder: Path) -> dict[str, Any]:
    """Seconds of each stage at one size; `encoding` is the stage `vectors` with the model, `gather` the same with all vectors cached."""
    path = experiment(whole, share, folder, embedding=STATIC)
    (result,) = sweep(path, folder).results
    chunks, vectors = len(result.chunks_table), result.entry("vectors").folder
    spent, sizes = dict(result.seconds), bytes_a_chunk(result, chunks)
    shutil.rmtree(vectors)
    (again,) = sweep(path, folder).results
    spent["gather"] = again.seconds["vectors"]
    (encoded,) = sweep(experiment(whole, share, folder / "model"), folder / "model").results
    spent["encoding"] = encoded.seconds["vectors"]
    return {
        "documents": len(read_experiment(path).dataset.load().documents),
        "chunks": chunks,
        "tokens": int(encoded.entry("vectors").values("encoded")["tokens"]),
        "seconds": {name: round(value, 3) for name, value in spent.items() if name != "vectors"},
        "milliseconds_a_question": {
            "exact": float(np.median(result.entry("hits").array("exact_seconds"))) * 1000,
            "ann": float(np.median(result.entry("hits").array("ann_seconds"))) * 1000,
        },
        "bytes_a_chunk": sizes,
    }


def bytes_a_chunk(result: StageResults, chunks: int) -> dict[str, int]:
    """The bytes on disk of each stage and of the vector cache."""
    store = result.entry("vectors").folder.parents[1]
    found = {
        stage: round(sum(folder_bytes(entry.folder) for entry in entries.values()) / chunks)
        for stage, entries in result.entries.items()
        if stage != "queries"
    }
    return found | {"cache": round(sum(path.stat().st_size for path in store.glob("vectors.sqlite*")) / chunks)}


def exponents(sizes: list[dict[str, Any]]) -> dict[str, float]:
    """The slope of log seconds over log chunks at the three largest sizes: 1 is linear."""
    found, part = {}, sizes[1:]
    chunks = np.log([size["chunks"] for size in part])
    for name in part[0]["seconds"]:
        found[name] = round(float(np.polyfit(chunks, np.log([max(1e-3, size["seconds"][name]) for size in part]), 1)[0]), 2)
    for name in part[0]["milliseconds_a_question"]:
        taken = np.log([size["milliseconds_a_question"][name] for size in part])
        found[f"question_{name}"] = round(float(np.polyfit(chunks, taken, 1)[0]), 2)
    return found


def encoder_rates(whole: Dataset, folder: Path) -> dict[str, float]:
    """Tokens a second of one process with one thread and with two, best of three rounds in which they take turns."""
    texts = [document.text[:600] for document in whole.documents[:400]]
    (folder / "texts.json").write_text(json.dumps(texts))
    best: dict[str, float] = {}
    for _ in range(3):
        for threads in ("1", "2"):
            command = [sys.executable, "-c", ENCODE, str(folder / "texts.json")]
            said = subprocess.run(
                command, env=os.environ | {"OMP_NUM_THREADS": threads}, capture_output=True, text=True, check=True, timeout=300
            )
            best[threads] = max(best.get(threads, 0.0), float(said.stdout))
    return {f"{threads} threads": round(rate) for threads, rate in best.items()}


def batch_of_vectors(_: object, number: int) -> "np.ndarray[Any, Any]":
    """The result of an encoding task, without the work."""
    return np.full((64, 384), number, dtype=np.float32)


def driver_rates(folder: Path) -> dict[str, float]:
    """Batches of 64 vectors a second that the driver receives from two workers, and vectors a second that the cache writes and reads."""
    with connected(2, None) as workers:
        workers.share(None, "bench")
        tasks = [Task(f"batch-{number}", batch_of_vectors, functools.partial(tuple, [number])) for number in range(_BATCHES)]
        list(workers.run(tasks[:4]))
        taken = elapsed(lambda: list(workers.run(tasks[4:])))
    cache = VectorCache(folder / "cache.sqlite")
    keys = [number.to_bytes(16, "big") for number in range(128 * _BATCHES)]
    vectors = np.random.default_rng(0).normal(size=(128, 384)).astype(np.float32)

    def write() -> None:
        for first in range(0, len(keys), 128):
            cache.put(keys[first : first + 128], vectors)

    written = elapsed(write)
    read = elapsed(lambda: cache.get(keys))
    return {
        "batches_a_second": round((_BATCHES - 4) / taken),
        "vectors_written_a_second": round(len(keys) / written),
        "vectors_read_a_second": round(len(keys) / read),
    }


def sweeps(whole: Dataset, share: float, folder: Path) -> dict[str, float]:
    """Two chunkings without stored results: in one process, and on one and two workers, their start included."""
    path = experiment(whole, share, folder / "sweeps", "{kind: fixed, size: [64, 128]}")
    found = {"one process": elapsed(lambda: sweep(path, folder / "alone"))}
    for jobs in (1, 2):
        found[f"--jobs {jobs}"] = elapsed(functools.partial(sweep, path, folder / f"jobs{jobs}", jobs))
    return found


def notebook_seconds(whole: Dataset, share: float, folder: Path) -> float:
    """The seconds of one of five notebooks, with all results in the store."""
    path = experiment(whole, share, folder, "{kind: fixed, size: [64, 128, 192, 256]}")
    outcome = sweep(path, folder)
    run, store = RunTables.read(outcome.folder), outcome.run.workspace.store
    return round(elapsed(lambda: run_notebooks(run, outcome.folder, store, lambda _: None)) / 5, 2)


def takes(tokens: int, figures: dict[str, Any]) -> dict[str, float]:
    """Extrapolate the costs of one configuration to a number of tokens from the largest size measured."""
    largest = figures["sizes"][-1]
    chunks = tokens / largest["tokens"] * largest["chunks"]
    a_chunk = {name: largest["seconds"][name] / largest["chunks"] for name in ("chunks", "gather", "index", "hits")}
    sizes = figures["bytes_a_chunk"]
    return {
        "chunks": chunks,
        "core_hours_encoding": tokens / figures["encoder_tokens_a_second"]["1 threads"] / 3600,
        "hours_driver_encoding": chunks
        / min(64 * figures["driver"]["batches_a_second"], figures["driver"]["vectors_written_a_second"])
        / 3600,
        "hours_chunking": chunks * a_chunk["chunks"] / 3600,
        "hours_gather": chunks * a_chunk["gather"] / 3600,
        "hours_index_if_linear": chunks * a_chunk["index"] / 3600,
        "seconds_a_question_exact": largest["milliseconds_a_question"]["exact"] / 1000 * chunks / largest["chunks"],
        "gigabytes_cache": chunks * sizes["cache"] / 1e9,
        "gigabytes_vectors": chunks * sizes["vectors"] / 1e9,
        "gigabytes_index": chunks * sizes["index"] / 1e9,
        "log10_chunks": round(math.log10(chunks), 1),
    }


def elapsed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    print(json.dumps(run(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0), indent=2))
