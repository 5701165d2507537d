"""Compare encoding on this machine's CPU with `SentenceTransformer.encode`, in one process, methods taking turns.

The texts are shuffled chunks of 64 and 256 tokens of the handbook, embedded with all-MiniLM-L6-v2. Because the machine may be
busy, every round runs each method once, and the figure is the median over the rounds of its ratio to that round's
`SentenceTransformer.encode` (batch 32). `tuned` is a hand-written loop: the same library, batches of 4,096 padded tokens, longest
first. `cpu_ratio` is the same ratio of CPU seconds, which other work affects less. `others` is the share of the machine used by other
processes, near 0 on a quiet machine. Takes two to three minutes there.
"""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from workbench.components.chunking.plain import FixedChunker
from workbench.components.embedding import openvino
from workbench.components.embedding.embed import embed
from workbench.components.embedding.openvino import conversion_of
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.batching import padded_batches
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.data.sources import GoldenSource
from workbench.llm.models.files import MINILM, locate
from workbench.llm.models.tokenizers import input_lengths
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of

ROUNDS = 5
TEXTS = 300
WINDOW = 256
PLAIN = "SentenceTransformer.encode"
HANDBOOK = Path(__file__).parents[1] / "experiments" / "handbook"


def run() -> dict[str, object]:
    """Tokens a second, ratios, the smallest cosine to float32, and the backend's effect on the handbook's metrics."""
    chosen = texts()
    tokens = int(np.minimum(input_lengths(chosen, MINILM), WINDOW).sum())
    with tempfile.TemporaryDirectory() as folder:
        methods = methods_of(chosen, Path(folder))
        found = {name: method() for name, method in methods.items()}  # not measured: loading and the first shapes
        began, own_processor = (time.perf_counter(), processor_seconds()), time.process_time()
        rounds = [{name: spent(method) for name, method in turns(methods, number)} for number in range(ROUNDS)]
        others = processor_seconds() - began[1] - (time.process_time() - own_processor)
        others /= (time.perf_counter() - began[0]) * (os.cpu_count() or 1)
        quality = metrics(Path(folder))
    plain = found[PLAIN]
    return {
        "texts": len(chosen),
        "tokens": tokens,
        "threads": torch.get_num_threads(),
        "rounds": ROUNDS,
        "others": round(others, 2),
        "tokens_a_second": {name: round(tokens / statistics.median(times[name].wall for times in rounds)) for name in methods},
        "ratio": {name: round(statistics.median(times[PLAIN].wall / times[name].wall for times in rounds), 2) for name in methods},
        "cpu_ratio": {
            name: round(statistics.median(times[PLAIN].processor / times[name].processor for times in rounds), 2) for name in methods
        },
        "smallest_cosine": {name: round(float((vectors * plain).sum(axis=1).min()), 6) for name, vectors in found.items()},
        "handbook": quality,
    }


def texts() -> list[str]:
    """Chunks of two sizes, shuffled."""
    chunkers = [FixedChunker(size=size) for size in (64, 256)]
    documents = GoldenSource(path=str(HANDBOOK)).load().documents
    found = [chunk.embedded_text for chunker in chunkers for document in documents for chunk in chunker.split(document)]
    return random.Random(0).sample(found, TEXTS)


def methods_of(chosen: list[str], folder: Path) -> dict[str, Callable[[], Vectors]]:
    """The methods, which give the same vectors; `workbench` writes to a new vector cache every time."""
    model = SentenceTransformer(str(locate(MINILM)), device="cpu")
    graph = conversion_of(MINILM).graph
    precisions: list[openvino.Precision] = ["float32", "bfloat16"] if openvino.has_bfloat16() else ["float32"]
    numbers = iter(range(1_000))

    def tuned() -> Vectors:
        lengths = np.minimum(input_lengths(chosen, MINILM), WINDOW)
        found = np.empty((len(chosen), 384), np.float32)
        for batch in padded_batches(lengths, 4_096, len(lengths)):
            part = [chosen[place] for place in batch]
            found[batch] = model.encode(part, batch_size=len(part), normalize_embeddings=True, show_progress_bar=False)
        return found

    def ours(embedder: SentenceTransformerEmbedder) -> Callable[[], Vectors]:
        return lambda: embed(chosen, embedder, "document", VectorCache(folder / f"{next(numbers)}.sqlite")).vectors

    def plainly(precision: openvino.Precision) -> Callable[[], Vectors]:
        compiled = openvino.compiled(graph, precision)
        return lambda: openvino.run(compiled, chosen, MINILM, WINDOW)

    return {
        PLAIN: lambda: model.encode(chosen, normalize_embeddings=True, show_progress_bar=False),
        "tuned": tuned,
        "workbench, torch": ours(SentenceTransformerEmbedder(backend="torch")),
        **{f"openvino {precision}": plainly(precision) for precision in precisions},
        "workbench, openvino": ours(SentenceTransformerEmbedder(backend="openvino")),
    }


def metrics(folder: Path) -> dict[str, dict[str, float]]:
    """The same experiment with either backend: the mean of three metrics."""
    settings = {
        "name": "backends",
        "dataset": {"kind": "golden", "path": str(HANDBOOK), "split": "dev"},
        "sweep": {"chunking": {"kind": "fixed", "size": 256}, "embedding": {"backend": ["torch", "openvino"]}},
        "metrics": ["span_recall@500t", "recall@5", "ndcg@10"],
    }
    outcome = run_experiment(experiment_of(settings, "benchmark"), folder, lambda _: None)
    means: dict[str, dict[str, float]] = {}
    for result in outcome.results:
        scores = result.scores_table
        scored = scores[(scores["state"] == "scored") & scores["metric"].isin(settings["metrics"])]
        means[result.configuration.name] = {
            str(name): float(value) for name, value in scored.groupby("metric")["value"].mean().round(4).items()
        }
    return means


class Spent(NamedTuple):
    """Wall seconds and CPU seconds of all threads."""

    wall: float
    processor: float


def spent(work: Callable[[], object]) -> Spent:
    wall, processor = time.perf_counter(), time.process_time()
    work()
    return Spent(time.perf_counter() - wall, time.process_time() - processor)


def turns(methods: dict[str, Callable[[], Vectors]], number: int) -> list[tuple[str, Callable[[], Vectors]]]:
    """All methods in another order every round, so that none always follows the same one."""
    return random.Random(number).sample(list(methods.items()), len(methods))


def processor_seconds() -> float:
    """The CPU seconds that all processes of the machine have used."""
    user, nice, system, _, _, *interrupts = [int(ticks) for ticks in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:8]]
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")
