"""Run an experiment: walk its configurations through the stages, keep what is finished, go on when one fails."""

import contextlib
import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.context.packing import pack
from workbench.embedding.base import NO_WINDOW
from workbench.embedding.late.pooling import is_late
from workbench.errors import WorkbenchError
from workbench.experiment.read import Experiment
from workbench.metrics.names import Metric
from workbench.models.tokenizers import Ints
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.keys import Keys
from workbench.pipeline.stages import EmbeddedChunks, chunks_stage, embedded_stages, hits_stage, scores_stage
from workbench.records import Dataset
from workbench.storage.remote_store import is_url, mirror_of
from workbench.storage.result_store import Entry

# Recall against delivered tokens is drawn at these budgets, whatever metrics are asked for.
CURVE = (500, 1000, 2000, 4000)
_WITHOUT_SPANS = "ndcg@10"


@dataclass(frozen=True)
class Result:
    """One configuration's finished stages."""

    configuration: Configuration
    chunks: Entry
    embedded: EmbeddedChunks | None
    hits: Entry
    scores: Entry

    @property
    def search(self) -> str:
        """Which of the stored rankings the configuration is evaluated by."""
        return self.configuration.retrieval.evaluated

    @property
    def window(self) -> int | None:
        """How many tokens of a chunk's input are embedded; None where nothing is, or all of it."""
        window = self.configuration.embedding.chunk_window() if self.configuration.embedding else NO_WINDOW
        return window if window < NO_WINDOW else None

    @property
    def stages(self) -> dict[str, Entry]:
        """The finished stages by name, without the index."""
        vectors = {"vectors": self.embedded.vectors, "queries": self.embedded.queries} if self.embedded else {}
        return {"chunks": self.chunks, **vectors, "hits": self.hits, "scores": self.scores}

    @cached_property
    def lengths(self) -> Ints:
        """The tokens of each embedder input before the window cut it: int64 (chunks), or (0) where nothing is embedded."""
        return np.asarray(self.embedded.vectors.array("lengths")) if self.embedded else np.zeros(0, dtype=np.int64)

    @cached_property
    def truncated(self) -> Ints:
        """The tokens of each chunk that were never embedded: int64 (chunks), or (0) where nothing is embedded."""
        return np.maximum(self.lengths - (self.window or NO_WINDOW), 0)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """A row of configurations.parquet."""
        chunks, hits = self.chunks.table("chunks"), self.delivered
        size, overlap = self.configuration.chunking.sizes
        embedding = self.configuration.embedding
        return {
            "configuration": self.configuration.name,
            "chunking": self.configuration.chunking.kind,
            "size": size,
            "overlap": overlap,
            "tokens_counted": self.configuration.chunking.tokens,
            "enrich": self.configuration.chunking.enrich,
            "embedding": embedding.model if embedding else None,
            "pooling": ("late" if is_late(embedding) else "standard") if embedding else None,
            "window": self.window,
            "retrieval": self.configuration.retrieval.kind,
            "search": self.search,
            "k": self.configuration.retrieval.k,
            "chunks": len(chunks),
            "tokens": int(self.lengths.sum()),
            "truncated_tokens": int(self.truncated.sum()),
            "truncated_chunks": int((self.truncated > 0).sum()),
            "delivered_tokens": float(chunks["tokens"].to_numpy()[hits["chunk"]].sum() / max(1, hits["query"].nunique())),
        }

    @property
    def delivered(self) -> pd.DataFrame:
        """The hits that are delivered: query, rank, chunk, score."""
        hits = self.all_hits
        return hits[hits["delivered"]]

    @cached_property
    def all_hits(self) -> pd.DataFrame:
        """Every hit that was looked at, with `delivered` and, where it was not, `cut_reason`: its slice was there, or beyond k."""
        hits, chunks = self.hits.table(f"{self.search}_hits"), self.chunks.table("chunks")
        rows = hits["chunk"].to_numpy(np.int64)
        piece = chunks.groupby(["doc", "delivered_start", "delivered_end"], sort=False).ngroup().to_numpy(np.int64)[rows]
        packed = pack(hits["query"].to_numpy(np.int64), piece, chunks["tokens"].to_numpy(np.int64)[rows], self.configuration.retrieval.k)
        return hits.assign(delivered=packed.delivered, cut_reason=packed.reason)


@dataclass(eq=False)
class Outcome:
    """An experiment after its run: results, and the one-line error of each configuration that failed."""

    experiment: Experiment
    bench: RunContext
    primary: Metric
    results: list[Result] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """outputs/<name>."""
        return self.bench.workplace.outputs / self.experiment.name


def workplace_at(outputs: Path) -> Workspace:
    """The workplace under an outputs folder; WORKBENCH_STORE, a path or a URL, moves the store elsewhere."""
    place = os.environ.get("WORKBENCH_STORE") or str(outputs / ".store")
    return Workspace(outputs, mirror_of(place), place) if is_url(place) else Workspace(outputs, Path(place))


def bench_of(experiment: Experiment, outputs: Path) -> RunContext:
    """The experiment's dataset and all the metrics that are computed on it."""
    dataset = experiment.dataset.load()
    metrics = _metrics(experiment, dataset)
    return RunContext(workplace_at(outputs), dataset, metrics, experiment.spans, experiment.configurations)


def primary_of(experiment: Experiment, dataset: Dataset) -> Metric:
    """The metric that decides: the one named, else the first; without evidence spans nDCG@10 takes a span metric's place."""
    chosen = experiment.primary or experiment.metrics[0]
    return chosen if dataset.needs or chosen.family != "spans" or experiment.primary else Metric.parse(_WITHOUT_SPANS)


def _metrics(experiment: Experiment, dataset: Dataset) -> tuple[Metric, ...]:
    added = [primary_of(experiment, dataset), Metric.parse("judged@10")]
    if dataset.needs:
        added += [Metric.parse(f"span_recall@{tokens}t") for tokens in CURVE]
    return tuple(dict.fromkeys([*experiment.metrics, *added]))


def run_configuration(bench: RunContext, configuration: Configuration) -> Result:
    """Every stage of one configuration, from the store where it is there."""
    chunks = chunks_stage(bench, configuration)
    embedded = embedded_stages(bench, configuration, chunks)
    hits = hits_stage(bench, configuration, chunks, embedded)
    scores = scores_stage(bench, configuration, chunks, hits)
    return Result(configuration, chunks, embedded, hits, scores)


@dataclass(frozen=True)
class Precomputed:
    """What workers did before the configurations are walked: the errors by configuration, the seconds of what they computed by `<stage>-<key>`."""

    errors: Mapping[str, BaseException] = field(default_factory=dict)
    made: dict[str, float] = field(default_factory=dict)

    def walk(self, bench: RunContext, configuration: Configuration) -> Result:
        """`run_configuration`, where workers have not met its error already; what they computed counts as computed, once."""
        if configuration.name in self.errors:
            raise self.errors[configuration.name]
        return self._credited(run_configuration(bench, configuration), bench.keys(configuration))

    def _credited(self, result: Result, keys: Keys) -> Result:
        def entry(stage: str, found: Entry) -> Entry:
            return replace(found, computed=True) if self.made.pop(f"{stage}-{getattr(keys, stage)}", None) is not None else found

        embedded, seconds = result.embedded, self.made.pop(f"index-{keys.index}", None)
        if embedded is not None:
            embedded = replace(embedded, vectors=entry("vectors", embedded.vectors), queries=entry("queries", embedded.queries))
        if embedded is not None and seconds is not None:
            embedded = replace(embedded, index_seconds=seconds, index_built=True)
        chunks, hits, scores = entry("chunks", result.chunks), entry("hits", result.hits), entry("scores", result.scores)
        return replace(result, chunks=chunks, embedded=embedded, hits=hits, scores=scores)


def run_experiment(
    experiment: Experiment,
    outputs: Path,
    say: Callable[[str], None],
    compute_ahead: Callable[[RunContext, Sequence[Configuration], Callable[[str], None]], Precomputed] | None = None,
) -> Outcome:
    """All configurations in the order of the prefix tree; one that fails is recorded with its error and the others go on.

    `compute_ahead` lets workers compute what is missing before.
    """
    bench = bench_of(experiment, outputs)
    outcome = Outcome(experiment, bench, primary_of(experiment, bench.dataset))
    ahead = compute_ahead(bench, experiment.configurations, say) if compute_ahead else Precomputed()
    total = len(experiment.configurations)
    for number, configuration in enumerate(experiment.configurations, 1):
        try:
            result = ahead.walk(bench, configuration)
        except Exception as error:  # one configuration's failure, of whatever kind, must not take the others with it
            line = "; ".join(error.lines) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
            outcome.failures[configuration.name] = " ".join(line.split())
            _keep_trace(outcome.folder / "errors" / f"{configuration.name}.txt")
            say(f"[{number}/{total}] {configuration.name}: FAILED, {outcome.failures[configuration.name]}")
        else:
            outcome.results.append(result)
            say(f"[{number}/{total}] {configuration.name}: {_told(result)}")
    return outcome


def _told(result: Result) -> str:
    """Which stages were computed, with their seconds, and which were reused."""
    done = [f"{name} {entry.seconds:.1f} s" for name, entry in result.stages.items() if entry.computed]
    if result.embedded and result.embedded.index_built:
        done.append(f"index {result.embedded.index_seconds:.1f} s")
    return ", ".join(done) if done else "all from the store"


def _keep_trace(path: Path) -> None:
    # The disk may be what failed: the one-line error is kept in any case.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), "utf-8")
