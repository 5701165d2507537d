"""Run an experiment: walk its configurations through the graph, keep what is finished, go on when one fails."""

import contextlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.recall_curve import CURVE
from workbench.context.packing import pack
from workbench.embedding.base import NO_WINDOW
from workbench.embedding.registry import chunk_encoder
from workbench.errors import WorkbenchError
from workbench.experiment.read import Experiment
from workbench.metrics.inputs import Retrieved
from workbench.metrics.names import Metric
from workbench.models.tokenizers import Ints
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.graph import Entries, Graph
from workbench.pipeline.stages.scores import retrieved
from workbench.records import Dataset
from workbench.storage.result_store import Entry

_WITHOUT_SPANS = "ndcg@10"

Say = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Result:
    """One configuration's finished stages, each result by stage and part."""

    configuration: Configuration
    entries: Entries

    def entry(self, stage: str) -> Entry:
        """The result of a stage that is stored in one part."""
        return next(iter(self.entries[stage].values()))

    @property
    def embeds(self) -> bool:
        """Whether the configuration uses vectors."""
        return "vectors" in self.entries

    @property
    def search(self) -> str:
        """Which of the stored rankings the configuration is evaluated by."""
        return self.configuration.retrieval.evaluated

    @property
    def window(self) -> int | None:
        """How many tokens of a chunk's input are embedded; None where nothing is, or all of it."""
        return self.configuration.window

    @cached_property
    def chunks_table(self) -> pd.DataFrame:
        """The table `chunks`."""
        return self.entry("chunks").table("chunks")

    @property
    def hits(self) -> Entry:
        """The rankings by each way to search."""
        return self.entry("hits")

    @cached_property
    def scores_table(self) -> pd.DataFrame:
        """query, metric, value, state, reason, attainable: all metrics, in the order asked for."""
        return pd.concat([entry.table("scores") for entry in self.entries["scores"].values()], ignore_index=True)

    @cached_property
    def retrieved(self) -> Retrieved:
        """What metrics read, by the search that the configuration is evaluated by."""
        return retrieved(self.entry("chunks"), self.hits, self.search)

    def explanation(self, name: str) -> pd.DataFrame:
        """A table of the stage `explanations`: context, misses or details."""
        return self.entry("explanations").table(name)

    @property
    def seconds(self) -> dict[str, float]:
        """What each stage took whoever computed it."""
        return {stage: sum(entry.seconds for entry in parts.values()) for stage, parts in self.entries.items()}

    @property
    def computed(self) -> dict[str, bool]:
        """Whether any part of each stage was computed in this run."""
        return {stage: any(entry.computed for entry in parts.values()) for stage, parts in self.entries.items()}

    @property
    def told(self) -> str:
        """Which stages were computed, with their seconds."""
        done = [f"{stage} {self.seconds[stage]:.1f} s" for stage, computed in self.computed.items() if computed]
        return ", ".join(done) if done else "all from the store"

    @cached_property
    def lengths(self) -> Ints:
        """The tokens of each embedder input before the window cut it: int64 (chunks), or (0) where nothing is embedded."""
        return np.asarray(self.entry("vectors").array("lengths")) if self.embeds else np.zeros(0, dtype=np.int64)

    @cached_property
    def truncated(self) -> Ints:
        """The tokens of each chunk that were never embedded: int64 (chunks), or (0) where nothing is embedded."""
        return np.maximum(self.lengths - (self.window or NO_WINDOW), 0)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """A row of configurations.parquet."""
        hits, chosen = self.delivered, self.configuration
        size, overlap = chosen.chunking.sizes
        embedding = chosen.embedding
        return {
            "configuration": chosen.name,
            "chunking": chosen.chunking.kind,
            "size": size,
            "overlap": overlap,
            "tokens_counted": chosen.chunking.tokens,
            "enrich": chosen.chunking.enrich,
            "embedding": embedding.model if embedding else None,
            "pooling": chunk_encoder(embedding).pooling if embedding else None,
            "window": self.window,
            "retrieval": chosen.retrieval.kind,
            "search": self.search,
            "k": chosen.retrieval.k,
            "chunks": len(self.chunks_table),
            "tokens": int(self.lengths.sum()),
            "truncated_tokens": int(self.truncated.sum()),
            "truncated_chunks": int((self.truncated > 0).sum()),
            "context_tokens": float(self.entry("explanations").values("tokens")),
            "delivered_tokens": float(self.chunks_table["tokens"].to_numpy()[hits["chunk"]].sum() / max(1, hits["query"].nunique())),
        }

    @property
    def delivered(self) -> pd.DataFrame:
        """The hits that are delivered: query, rank, chunk, score."""
        hits = self.all_hits
        return hits[hits["delivered"]]

    @cached_property
    def all_hits(self) -> pd.DataFrame:
        """Every hit that was looked at, with `delivered` and, where it was not, `cut_reason`: its slice was there, or beyond k."""
        hits, chunks = self.hits.table(f"{self.search}_hits"), self.chunks_table
        rows = hits["chunk"].to_numpy(np.int64)
        piece = chunks.groupby(["doc", "delivered_start", "delivered_end"], sort=False).ngroup().to_numpy(np.int64)[rows]
        packed = pack(hits["query"].to_numpy(np.int64), piece, chunks["tokens"].to_numpy(np.int64)[rows], self.configuration.retrieval.k)
        return hits.assign(delivered=packed.delivered, cut_reason=packed.reason)


@dataclass(eq=False)
class Outcome:
    """An experiment after its run: results, and the one-line error of each configuration that failed."""

    experiment: Experiment
    graph: Graph
    primary: Metric
    results: list[Result] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    @property
    def context(self) -> RunContext:
        """The dataset, the metrics and the workspace."""
        return self.graph.run

    @property
    def folder(self) -> Path:
        """outputs/<name>."""
        return self.context.workspace.outputs / self.experiment.name


@dataclass(frozen=True)
class Precomputed:
    """What workers did before the configurations are walked: errors by configuration, and the seconds of what they computed by task."""

    errors: Mapping[str, BaseException] = field(default_factory=dict)
    made: dict[str, float] = field(default_factory=dict)

    def walk(self, graph: Graph, configuration: Configuration) -> Result:
        """`run_configuration`, where workers have not met its error already; what they computed counts as computed, once."""
        if configuration.name in self.errors:
            raise self.errors[configuration.name]
        result = run_configuration(graph, configuration)
        entries: dict[str, dict[str, Entry]] = {stage: dict(parts) for stage, parts in result.entries.items()}
        for node in graph.nodes(configuration):
            seconds = self.made.pop(graph.task(node), None)
            if seconds is not None:
                entries[node.stage][node.part] = replace(entries[node.stage][node.part], seconds=seconds, computed=True)
        return replace(result, entries=entries)


Precompute = Callable[[Graph, Sequence[Configuration], Say], Precomputed]


def context_of(experiment: Experiment, outputs: Path) -> RunContext:
    """The experiment's dataset and all the metrics that are computed on it."""
    dataset = experiment.dataset.load()
    primary = primary_of(experiment, dataset)
    added = [primary, Metric.parse("judged@10")]
    if dataset.needs:
        added += [Metric.parse(f"span_recall@{tokens}t") for tokens in CURVE]
    metrics = tuple(dict.fromkeys([*experiment.metrics, *added]))
    return RunContext(Workspace.at(outputs), dataset, metrics, experiment.spans, experiment.configurations, primary=primary)


def primary_of(experiment: Experiment, dataset: Dataset) -> Metric:
    """The metric that decides: the one named, else the first; without evidence spans nDCG@10 takes a span metric's place."""
    chosen = experiment.primary or experiment.metrics[0]
    return chosen if dataset.needs or chosen.family != "spans" or experiment.primary else Metric.parse(_WITHOUT_SPANS)


def run_configuration(graph: Graph, configuration: Configuration) -> Result:
    """Every stage of one configuration, from the store where it is there."""
    return Result(configuration, graph.walk(configuration))


def run_experiment(experiment: Experiment, outputs: Path, say: Say, precompute: Precompute | None = None) -> Outcome:
    """Run all configurations in the order of the prefix tree; one that fails is recorded with its error and the others go on.

    `precompute` lets workers compute what is missing before.
    """
    graph = Graph(context_of(experiment, outputs))
    outcome = Outcome(experiment, graph, primary_of(experiment, graph.run.dataset))
    before = precompute(graph, experiment.configurations, say) if precompute else Precomputed()
    total = len(experiment.configurations)
    for number, configuration in enumerate(experiment.configurations, 1):
        try:
            result = before.walk(graph, configuration)
        except Exception as error:  # one configuration's failure, of whatever kind, must not take the others with it
            outcome.failures[configuration.name] = error_line(error)
            _write_trace(outcome.folder / "errors" / f"{configuration.name}.txt")
            say(f"[{number}/{total}] {configuration.name}: FAILED, {outcome.failures[configuration.name]}")
        else:
            outcome.results.append(result)
            say(f"[{number}/{total}] {configuration.name}: {result.told}")
    return outcome


def error_line(error: BaseException) -> str:
    """An error of any kind as one line."""
    line = "; ".join(error.lines) if isinstance(error, WorkbenchError) else f"{type(error).__name__}: {error}"
    return " ".join(line.split())


def _write_trace(path: Path) -> None:
    # The disk may be what failed: the one-line error is kept in any case.
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(traceback.format_exc(), "utf-8")
