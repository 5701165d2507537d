"""Plan a sweep: results to compute and to reuse, and the cost. Planning splits documents but loads no model and embeds nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.core.display import table_html
from workbench.core.formatting import aligned, plural
from workbench.embedding.base import Embedder
from workbench.embedding.chunk_encoder import plan_texts
from workbench.embedding.openvino_conversion import UnpreparedModelError, without_preparing
from workbench.embedding.registry import chunk_encoder
from workbench.errors import error_line
from workbench.execution.local import context_of
from workbench.experiment.read import ExperimentSpec
from workbench.pipeline.chunk_table import slice_numbers
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.graph import Graph
from workbench.pipeline.stages.vectors import encoder_chunks
from workbench.report.text.delivery import other_budgets, short_deliveries, whole_corpus
from workbench.storage.result_store import Store

# Tokens a second by encoder until this machine has measured any: two quiet cores with all-MiniLM-L6-v2 (docs/performance.md).
_ASSUMED = {"openvino bfloat16": 20_000, "openvino float32": 12_000, "static": 400_000}
_ASSUMED_OF_OTHERS = 4_000
_SECONDS_A_NOTEBOOK = 2
# Chunking, index, hits and scores.
_SECONDS_A_CHUNK = 0.0007
# The encoder of an entry that does not name one.
_UNNAMED = "torch float32"


class HeldTokens(NamedTuple):
    """The tokens of `all` slices that a configuration can deliver and of the `k` largest, as `@2000t` counts them."""

    all: int
    k: int


@dataclass(frozen=True)
class PlannedConfiguration:
    """A configuration: whether each stage is stored, its chunks, and the tokens to embed beyond those of earlier configurations.

    Chunks and tokens are estimates, not `exact`, if chunking needs vectors, or if a model was never converted here. `error` says why a
    configuration cannot be planned: it will fail, and the others will run.
    """

    name: str
    reused: Mapping[str, bool]
    chunks: int = 0
    tokens: int = 0
    truncated: int = 0
    exact: bool = True
    error: str = ""
    held: HeldTokens | None = None

    @property
    def complete(self) -> bool:
        """Return whether every stage is in the store."""
        return all(self.reused.values())


@dataclass(frozen=True)
class Plan:
    """The expected work of a sweep: its configurations, the measured or assumed speed in tokens per second, and the minutes.

    `delivery` says where the delivered text is not what a metric reads.
    """

    configurations: tuple[PlannedConfiguration, ...]
    tokens_a_second: float
    measured: bool
    minutes: float
    delivery: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether all results are in the store."""
        return all(planned.complete and not planned.error for planned in self.configurations)

    def __repr__(self) -> str:
        return f"Plan({plural(len(self.configurations), 'configuration')}, {'all in the store' if self.complete else f'about {self.minutes:.1f} minutes'})"

    def __str__(self) -> str:
        return "\n".join(plan_lines(self))

    def _repr_html_(self) -> str:
        return table_html("What a sweep would compute", _rows(self), ". ".join(note.removesuffix(".") for note in _notes(self)))


def plan_experiment(experiment: ExperimentSpec, outputs: Path) -> Plan:
    """Plan an experiment under an outputs folder."""
    graph, counted = Graph(context_of(experiment, outputs)), set[bytes]()
    with without_preparing():
        stored = [(configuration, _reused(graph, configuration)) for configuration in experiment.configurations]
        planned = tuple(_planned(graph, configuration, reused, counted) for configuration, reused in stored)
        encoders = {_encoder(configuration.embedding) for configuration in experiment.configurations if configuration.embedding}
    measured = measured_rate(graph.run.workspace.store, encoders)
    rate = measured or assumed_rate(encoders)
    seconds = sum(configuration.tokens for configuration in planned) / rate
    seconds += sum(_SECONDS_A_NOTEBOOK + _SECONDS_A_CHUNK * configuration.chunks for configuration in planned if not configuration.complete)
    return Plan(planned, rate, measured is not None, seconds / 60, tuple(_delivery(experiment, graph.run, planned)))


def _reused(graph: Graph, configuration: Configuration) -> dict[str, bool]:
    """Return whether all results of each stage are in the store."""
    reused: dict[str, bool] = {}
    for node in graph.nodes(configuration):
        try:
            stored = graph.is_stored(node)
        except Exception:  # an unconverted model has no key yet; the sweep reports every other error
            stored = False
        reused[node.stage] = reused.get(node.stage, True) and stored
    return reused


def _planned(graph: Graph, configuration: Configuration, reused: Mapping[str, bool], counted: set[bytes]) -> PlannedConfiguration:
    name, embedder, cache = configuration.name, configuration.embedding, graph.run.workspace.vectors
    try:
        if graph.stages["chunks"].embedder(configuration) and not reused["chunks"]:
            return _estimated(graph, configuration, reused, counted)
        table = graph.walk(configuration, ["chunks"])["chunks"][""].table("chunks")
        held = _held(table, configuration.retrieval.k)
        if embedder is None:
            return PlannedConfiguration(name, reused, len(table), held=held)
        (vectors,) = graph.nodes(configuration, ["vectors"])
        cost = chunk_encoder(embedder).plan(encoder_chunks(graph.inputs(vectors)), cache, counted)
    except Exception as error:  # planning continues with the other configurations
        return PlannedConfiguration(name, reused, error=error_line(error))
    tokens = 0 if reused["vectors"] else cost.tokens
    return PlannedConfiguration(name, reused, len(table), tokens, cost.truncated, cost.exact, held=held)


def _held(chunks: pd.DataFrame, k: int) -> HeldTokens:
    tokens = np.sort(chunks["tokens"].to_numpy(np.int64)[np.unique(slice_numbers(chunks), return_index=True)[1]])
    return HeldTokens(int(tokens.sum()), int(tokens[-k:].sum()))


def _delivery(experiment: ExperimentSpec, run: RunContext, planned: Sequence[PlannedConfiguration]) -> list[str]:
    """Say where the delivered text cannot be what a metric reads. Only a sweep shows how many chunks match a question."""
    if run.primary is None or not run.dataset.needs:
        return []
    cuts = {configuration.name: configuration.delivery(run.primary) for configuration in experiment.configurations}
    budgets = {name: cut.tokens for name, cut in cuts.items() if cut.tokens is not None}
    notes = other_budgets(str(run.primary), run.primary.tokens, budgets) if run.primary.tokens is not None else []
    whole = {each.name: budgets[each.name] for each in planned if each.name in budgets and each.held and each.held.all < budgets[each.name]}
    held = {each.name: each.held.k for each in planned if each.name not in budgets and each.held}
    read = sorted({metric.tokens for metric in experiment.metrics if metric.tokens is not None})
    return notes + whole_corpus(whole, len(planned)) + short_deliveries(read, held, len(planned))


def _estimated(graph: Graph, configuration: Configuration, reused: Mapping[str, bool], counted: set[bytes]) -> PlannedConfiguration:
    """Estimate the tokens to embed: the sentences that a chunker compares, plus the documents for chunks with unknown borders."""
    (chunks,), compared_by = graph.nodes(configuration, ["chunks"]), configuration.chunking.compared_by
    texts = graph.stages["chunks"].texts(graph.inputs(chunks)) or ()
    tokens = plan_texts(texts, compared_by, graph.run.workspace.vectors, counted).tokens if compared_by else 0
    embedder, documents = configuration.embedding, [document.text for document in graph.run.dataset.documents]
    inside = int(embedder.lengths(documents, "document").sum()) if embedder else sum(map(len, documents)) // 4
    size = configuration.chunking.sizes[0] or 256
    # Semantic chunks are filled to about half of their size.
    return PlannedConfiguration(configuration.name, reused, 2 * -(-inside // size), tokens + (inside if embedder else 0), 0, exact=False)


def _encoder(embedder: Embedder) -> str:
    try:
        return embedder.encoder().name
    except UnpreparedModelError:
        return "openvino float32"


def assumed_rate(encoders: set[str]) -> float:
    """Return the tokens a second of the slowest of these encoders, as measured on another machine."""
    return min((_ASSUMED.get(encoder, _ASSUMED_OF_OTHERS) for encoder in encoders), default=_ASSUMED_OF_OTHERS)


def measured_rate(store: Store, encoders: set[str]) -> float | None:
    """Return tokens a second over all results of these encoders in the store, or None without results."""
    tokens = seconds = 0.0
    for folder in (store.root / "vectors").glob("*"):
        entry = store.get("vectors", folder.name) if folder.is_dir() else None
        counts = entry.values("encoded") if entry else {}
        encoded = counts.get("tokens", 0) if counts.get("encoder", _UNNAMED) in encoders else 0
        if entry and encoded:
            tokens, seconds = tokens + encoded, seconds + entry.seconds + counts.get("workers_seconds", 0.0)
    return tokens / seconds if seconds else None


def plan_lines(plan: Plan) -> list[str]:
    """Return a line for each configuration, then the total."""
    rows = _rows(plan)
    return [*aligned([tuple(rows[0]), *(tuple(row.values()) for row in rows)]), "", *_notes(plan)]


def _rows(plan: Plan) -> list[dict[str, str]]:
    rows = []
    for planned in plan.configurations:
        compute, reuse = ([stage for stage, stored in planned.reused.items() if stored is wanted] for wanted in (False, True))
        approximate = "" if planned.exact else "about "
        chunks, tokens = ("-", "-") if planned.error else (f"{approximate}{planned.chunks:,}", f"{approximate}{planned.tokens:,}")
        work = {"compute": _stages(compute, reuse), "reuse": _stages(reuse, compute)}
        row = {"configuration": planned.name, **work, "chunks": chunks}
        rows.append(row | {"tokens to embed": tokens})
    return rows


def _stages(names: Sequence[str], others: Sequence[str]) -> str:
    return "all" if names and not others else " ".join(names) or "-"


def _notes(plan: Plan) -> list[str]:
    total = sum(planned.tokens for planned in plan.configurations)
    source = "measured here" if plan.measured else "assumed, no speed was measured in this store yet"
    duration = f"about {plan.minutes:.1f} minutes" if plan.minutes >= 1 else "less than a minute"
    cut = [planned.name for planned in plan.configurations if planned.truncated]
    return [
        f"{total:,} tokens to embed at {plan.tokens_a_second:,.0f} tokens/s ({source}): {duration}",
        *plan.delivery,
        *([f"not ranked, because chunks exceed the embedder's window: {', '.join(cut)}"] if cut else []),
        *(f"{planned.name}: cannot be planned and will fail: {planned.error}" for planned in plan.configurations if planned.error),
    ]
