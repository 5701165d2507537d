"""Plan a sweep: results to compute and to reuse, and the cost. Planning splits documents but loads no model and embeds nothing."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.components.context.conditions import RETRIEVED
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import plan_texts
from workbench.components.embedding.openvino import UnpreparedModelError, without_preparing
from workbench.components.embedding.registry import chunk_encoder
from workbench.core.errors import error_line
from workbench.core.files import in_order
from workbench.core.imported_functions import PERMISSION
from workbench.core.storage.result_store import Store
from workbench.core.text.display import table_html
from workbench.core.text.formatting import aligned, approximate, capitalised, in_words, listed, plural
from workbench.report.sentences import other_budgets, short_deliveries, whole_corpus
from workbench.runner.execution.costs import CallBound, bounds_of, judging_bounds
from workbench.runner.execution.latency import is_measured
from workbench.runner.execution.local import context_of
from workbench.runner.experiment.read import ExperimentSpec
from workbench.runner.pipeline.chunk_table import slice_numbers
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.graph import Graph, NodePlan
from workbench.runner.pipeline.stages.indexing import encoder_chunks

# Tokens per second of two quiet cores with all-MiniLM-L6-v2, for encoders that this store has not measured (docs/performance.md).
_QUIET = {"openvino bfloat16": 22_000, "openvino float32": 14_000, "static": 800_000}
_QUIET_OTHERS = 5_000
# A busy machine is up to this many times slower.
_BUSY = 5
# A measured speed is expected to change by this factor until the next sweep.
_CHANGE = 1.25
# Loading a model takes .1 to 5 s, which is most of the time of smaller results (docs/performance.md).
_LEAST_TOKENS, _LEAST_SECONDS = 20_000, 2.0
# Fewest and most seconds besides encoding: of a sweep (imports, questions, report), of a configuration (stages, notebook), of a chunk.
_SWEEP = (5.0, 30.0)
_CONFIGURATION = (1.5, 4.0)
_CHUNK = (0.0004, 0.002)
# Fewest and most seconds to measure the latencies of a configuration.
_LATENCY = (0.5, 5.0)


class EncodingModel(NamedTuple):
    """A model with the backend that computes its vectors here."""

    model: str
    encoder: str

    @classmethod
    def of(cls, embedder: Embedder) -> "EncodingModel":
        """Name an embedder's model and encoder without loading it."""
        try:
            return cls(embedder.model, embedder.encoder().name)
        except UnpreparedModelError:
            return cls(embedder.model, "openvino float32")

    def __str__(self) -> str:
        return f"{self.model} ({self.encoder})"


class Speed(NamedTuple):
    """The lowest and highest expected tokens per second, and whether they were measured in this store."""

    low: float
    high: float
    measured: bool


def speeds_of(store: Store, models: Iterable[EncodingModel]) -> dict[EncodingModel, Speed]:
    """Map each model to the range of its speeds measured in the store, or to an assumed range without any."""
    measured = defaultdict[tuple[str | None, str | None], list[float]](list)
    for folder in in_order((store.root / "vectors").glob("*")):
        entry = store.get("vectors", folder.name) if folder.is_dir() else None
        counts = entry.values("encoded") if entry else {}
        if entry and (speed := _measured(entry.seconds, counts)):
            # Earlier versions did not store the model.
            measured[counts.get("model"), counts.get("encoder")].append(speed)
    return {model: _range(model, measured[model]) for model in models}


def _measured(seconds: float, counts: Mapping[str, Any]) -> float | None:
    """Return the tokens per second of a result, or None if it is too small to measure a speed."""
    tokens, seconds = counts["tokens"], seconds + counts.get("workers_seconds", 0.0)
    return tokens / seconds if tokens >= _LEAST_TOKENS and seconds >= _LEAST_SECONDS else None


def _range(model: EncodingModel, speeds: Sequence[float]) -> Speed:
    if speeds:
        return Speed(min(speeds) / _CHANGE, max(speeds) * _CHANGE, True)
    quiet = _QUIET.get(model.encoder, _QUIET_OTHERS)
    return Speed(quiet / _BUSY, quiet, False)


@dataclass(frozen=True)
class PlannedConfiguration:
    """A configuration: whether each stage is stored, its chunks, and the tokens to embed beyond those of earlier configurations.

    `tokens_by_model` includes the sentences that the chunker compares, which another model may embed. Chunks and tokens are estimates, not `exact`, if chunking needs vectors, or if a model was never converted here. `error` says why a
    configuration cannot be planned: it will fail, and the others will run. `named_code` has the functions that planning may
    not run: without those of a chunker the chunks are unknown, without any the keys are, and so what is stored. `pairs` of question and chunk
    are the most that a reranker scores, in the fewest and most `rerank_seconds`; some may be stored, or be those of another configuration.
    `bound` is the most that its answers cost, and `judging` about the most that judging them costs. `requests` is the most that a target is asked,
    None without a target. `deliverable` has the tokens of all slices that it can deliver and of the `k` largest, as `@2000t` counts them.
    """

    name: str
    reused: Mapping[str, bool]
    chunks: int = 0
    tokens_by_model: Mapping[EncodingModel, int] = field(default_factory=dict)
    truncated: int = 0
    exact: bool = True
    error: str = ""
    deliverable: tuple[int, int] | None = None
    named_code: tuple[str, ...] = ()
    pairs: int = 0
    rerank_seconds: tuple[float, float] = (0.0, 0.0)
    bound: CallBound = field(default_factory=CallBound)
    judging: CallBound = field(default_factory=CallBound)
    requests: int | None = None

    @property
    def tokens(self) -> int:
        return sum(self.tokens_by_model.values())

    @property
    def complete(self) -> bool:
        return all(self.reused.values())


@dataclass(frozen=True)
class Plan:
    """The expected work of a sweep: its configurations, the speed of each model that embeds, and the fewest and most expected minutes.

    The minutes include converting or distilling a model on its first use. `delivery` says where the delivered text is not what a metric reads.
    `timed`: the latencies of all configurations together are in the outputs.
    """

    configurations: tuple[PlannedConfiguration, ...]
    speeds: Mapping[EncodingModel, Speed]
    minutes_low: float
    minutes_high: float
    delivery: tuple[str, ...] = ()
    timed: bool = True

    @property
    def complete(self) -> bool:
        """True if all results are in the store."""
        return all(planned.complete and not planned.error for planned in self.configurations)

    @property
    def tokens_by_model(self) -> dict[EncodingModel, int]:
        """The tokens to embed by each model."""
        return {model: sum(planned.tokens_by_model.get(model, 0) for planned in self.configurations) for model in self.speeds}

    @property
    def duration(self) -> str:
        """The expected duration as a range."""
        return duration_text(self.minutes_low, self.minutes_high)

    def __repr__(self) -> str:
        return f"Plan({plural(len(self.configurations), 'configuration')}, {'all in the store' if self.complete else self.duration})"

    def __str__(self) -> str:
        return "\n".join(plan_lines(self))

    def _repr_html_(self) -> str:
        return table_html("What a sweep would compute", _rows(self), ". ".join(note.removesuffix(".") for note in _notes(self)))


def plan_experiment(experiment: ExperimentSpec, outputs: Path) -> Plan:
    """Plan an experiment under an outputs folder."""
    graph, counted = Graph(context_of(experiment, outputs)), set[bytes]()
    with without_preparing():
        nodes = graph.plan(experiment.configurations)
        planned = tuple(_planned(graph, nodes, configuration, counted) for configuration in experiment.configurations)
        usable = {each.name for each in planned if not each.error and not each.named_code}
        configurations = [each for each in experiment.configurations if each.name in usable]
        bounds, judged = bounds_of(graph, nodes, configurations), judging_bounds(graph, nodes, configurations)
        planned = tuple(
            replace(each, bound=bounds.get(each.name, each.bound), judging=judged.get(each.name, each.judging)) for each in planned
        )
        prepared = {embedder: embedder.preparation() for each in experiment.configurations for embedder in _working(graph, nodes, each)}
    models = dict.fromkeys(model for configuration in planned for model, tokens in configuration.tokens_by_model.items() if tokens)
    speeds = speeds_of(graph.run.workspace.store, models)
    timed = is_measured(graph, experiment.configurations) if all(each.complete for each in planned) else False
    low, high = (
        _minutes(planned, speeds, list(prepared.values()), end) + (0 if timed else _LATENCY[end] * len(planned) / 60) for end in (0, 1)
    )
    return Plan(planned, speeds, low, high, tuple(_delivery(experiment, graph.run, planned)), timed)


def _working(graph: Graph, nodes: NodePlan, configuration: Configuration) -> set[Embedder]:
    embedders = (graph.stages[stage].embedder(configuration) for stage, stored in nodes.reused(configuration).items() if not stored)
    return {embedder for embedder in embedders if embedder}


def _minutes(
    planned: Sequence[PlannedConfiguration], speeds: Mapping[EncodingModel, Speed], prepared: Sequence[tuple[float, float]], end: int
) -> float:
    """Return the fewest (`end` 0) or most (1) expected minutes."""
    todo = [configuration for configuration in planned if not configuration.complete]
    seconds = _SWEEP[end] + sum(_CONFIGURATION[end] + _CHUNK[end] * configuration.chunks for configuration in todo)
    seconds += sum(preparation[end] for preparation in prepared)
    for configuration in todo:
        seconds += sum(tokens / speeds[model][1 - end] for model, tokens in configuration.tokens_by_model.items() if tokens)
        seconds += configuration.rerank_seconds[end]
    return seconds / 60


def duration_text(low: float, high: float) -> str:
    """Format a range of minutes."""
    if high < 1:
        return "less than a minute"
    unit, size = ("hours", 60) if high >= 120 else ("minutes", 1)
    ends = [f"{end / size:.0f}" for end in (low, high)]
    if ends[0] == "0":
        return f"up to {ends[1]} {unit if ends[1] != '1' else unit[:-1]}"
    return f"about {' to '.join(dict.fromkeys(ends))} {unit if ends[1] != '1' else unit[:-1]}"


def _planned(graph: Graph, nodes: NodePlan, configuration: Configuration, counted: set[bytes]) -> PlannedConfiguration:
    name, embedder, cache = configuration.name, configuration.embedding, graph.run.workspace.vectors
    reused = nodes.reused(configuration)
    if configuration.named_code and not graph.run.allow_code:
        return PlannedConfiguration(name, reused, exact=False, named_code=configuration.named_code)
    if configuration.targets:
        return PlannedConfiguration(name, reused, requests=_requests_to_target(graph, nodes, configuration))
    try:
        if graph.stages["chunks"].embedder(configuration) and not reused["chunks"]:
            return _estimated(graph, configuration, reused, counted)
        table = graph.walk(configuration, ["chunks"]).chunks_table
        deliverable = _deliverable(table, configuration.k)
        pairs, seconds = _reranking(configuration, reused, len(graph.run.dataset.queries), len(table))
        if embedder is None:
            return PlannedConfiguration(name, reused, len(table), deliverable=deliverable, pairs=pairs, rerank_seconds=seconds)
        (vectors,) = graph.nodes(configuration, ["vectors"])
        cost = chunk_encoder(embedder).plan(encoder_chunks(graph.inputs(vectors)), cache, counted)
    except Exception as error:  # planning continues with the other configurations
        return PlannedConfiguration(name, reused, error=error_line(error))
    tokens = {} if reused["vectors"] else {EncodingModel.of(embedder): cost.tokens}
    return PlannedConfiguration(
        name, reused, len(table), tokens, cost.truncated, cost.exact, deliverable=deliverable, pairs=pairs, rerank_seconds=seconds
    )


def _requests_to_target(graph: Graph, nodes: NodePlan, configuration: Configuration) -> int:
    """Return the most requests to a target: for searches, and for the answer of each variant. Replies that are stored are not asked for."""
    missing = [planned.node for planned in nodes.nodes[configuration.name] if not planned.stored]
    given = [node for node in missing if node.variant.condition == RETRIEVED or configuration.takes_context]
    answers = sum(node.stage == "answers" for node in given)
    asked = any(node.stage == "responses" for node in missing)
    searches = sum(asked and (target.searches or not answers) for target in configuration.targets)
    return len(graph.run.dataset.queries) * (answers + searches)


def _reranking(configuration: Configuration, reused: Mapping[str, bool], queries: int, chunks: int) -> tuple[int, tuple[float, float]]:
    """Return the pairs that a reranker scores at most, and the fewest and most seconds that it takes."""
    reranker = configuration.rerank
    if reranker is None or reranker.assumed_speed is None or reused.get("reranked", False):
        return 0, (0.0, 0.0)
    pairs = queries * min(reranker.pool, chunks)
    slow, fast = reranker.assumed_speed
    # Retrievers share about half of their best chunks.
    return pairs, (pairs / fast / 2, pairs / slow)


def _deliverable(chunks: pd.DataFrame, k: int) -> tuple[int, int]:
    tokens = np.sort(chunks["tokens"].to_numpy(np.int64)[np.unique(slice_numbers(chunks), return_index=True)[1]])
    return int(tokens.sum()), int(tokens[-k:].sum())


def _delivery(experiment: ExperimentSpec, run: RunContext, planned: Sequence[PlannedConfiguration]) -> list[str]:
    """Say where the delivered text cannot be what a metric reads. Only a sweep shows how many chunks match a question."""
    if run.primary is None or not run.dataset.needs:
        return []
    cuts = {configuration.name: configuration.delivery(run.primary) for configuration in experiment.configurations}
    budgets = {name: cut.tokens for name, cut in cuts.items() if cut.tokens is not None}
    notes = other_budgets(str(run.primary), run.primary.tokens, budgets) if run.primary.tokens is not None else []
    whole = {
        each.name: budgets[each.name]
        for each in planned
        if each.name in budgets and each.deliverable and each.deliverable[0] < budgets[each.name]
    }
    most = {each.name: each.deliverable[1] for each in planned if each.name not in budgets and each.deliverable}
    read = sorted({metric.tokens for metric in experiment.metrics if metric.tokens is not None})
    return notes + whole_corpus(whole, len(planned)) + short_deliveries(read, most, len(planned))


def _estimated(graph: Graph, configuration: Configuration, reused: Mapping[str, bool], counted: set[bytes]) -> PlannedConfiguration:
    """Estimate the tokens to embed: the sentences that a chunker compares, plus the documents for chunks with unknown borders."""
    (chunks,), compared_by = graph.nodes(configuration, ["chunks"]), configuration.pipeline.chunking.compared_by
    texts = graph.stages["chunks"].texts(graph.inputs(chunks)) or ()
    tokens = Counter[EncodingModel]()
    if compared_by:
        tokens[EncodingModel.of(compared_by)] += plan_texts(texts, compared_by, graph.run.workspace.vectors, counted).tokens
    embedder, documents = configuration.embedding, [document.text for document in graph.run.dataset.documents]
    inside = int(embedder.lengths(documents, "document").sum()) if embedder else sum(map(len, documents)) // 4
    if embedder:
        tokens[EncodingModel.of(embedder)] += inside
    size = configuration.pipeline.chunking.sizes[0] or 256
    # Semantic chunks are filled to about half of their size.
    return PlannedConfiguration(configuration.name, reused, 2 * -(-inside // size), tokens, 0, exact=False)


def plan_lines(plan: Plan) -> list[str]:
    """Return a line for each configuration, then the total."""
    rows = _rows(plan)
    return [*aligned([tuple(rows[0]), *(tuple(row.values()) for row in rows)]), "", *_notes(plan)]


def _rows(plan: Plan) -> list[dict[str, str]]:
    rows = []
    for planned in plan.configurations:
        compute, reuse = ([stage for stage, stored in planned.reused.items() if stored is wanted] for wanted in (False, True))
        approximate = "" if planned.exact else "about "
        chunks, tokens = (
            ("-", "-")
            if planned.error or planned.named_code or planned.requests is not None
            else (f"{approximate}{planned.chunks:,}", f"{approximate}{planned.tokens:,}")
        )
        work = {"compute": _stages(compute, reuse), "reuse": _stages(reuse, compute)}
        row = {"configuration": planned.name, **work, "chunks": chunks}
        rows.append(row | {"new tokens to embed": tokens})
    return rows


def _stages(names: Sequence[str], others: Sequence[str]) -> str:
    return "all" if names and not others else ", ".join(map(in_words, names)) or "-"


def _notes(plan: Plan) -> list[str]:
    cut = [planned.name for planned in plan.configurations if planned.truncated]
    tokens = [_speed_text(model, tokens, plan.speeds[model]) for model, tokens in plan.tokens_by_model.items()] or ["0 new tokens to embed"]
    pairs = sum(planned.pairs for planned in plan.configurations)
    tokens += [f"at most {pairs:,} pairs of question and chunk to rerank"] if pairs else []
    times = [] if plan.timed else [f"latencies of {plural(len(plan.configurations), 'configuration')} to measure"]
    total = sum((planned.bound for planned in plan.configurations), CallBound())
    judged = sum((planned.judging for planned in plan.configurations), CallBound())
    return [
        f"{capitalised(plan.duration)}{' without the time of models on servers' if total.calls else ''}: {'; '.join([*tokens, *times])}",
        *([f"answers cost at most about {total}; replies that are in the cache cost nothing"] if total.calls else []),
        *([f"judging costs at most about {judged}; replies that are in the cache cost nothing"] if judged.calls else []),
        *(f"asks the target {each.name} at most {plural(each.requests, 'request')}" for each in plan.configurations if each.requests),
        *plan.delivery,
        *([f"not ranked, because chunks exceed the embedder's window: {', '.join(cut)}"] if cut else []),
        *_code_notes(plan),
        *(f"{planned.name}: cannot be planned and will fail: {planned.error}" for planned in plan.configurations if planned.error),
    ]


def _code_notes(plan: Plan) -> list[str]:
    """Name the functions that planning did not run."""
    names = [planned.name for planned in plan.configurations if planned.named_code]
    functions = list(dict.fromkeys(name for planned in plan.configurations for name in planned.named_code))
    if not names:
        return []
    return [f"not planned, because only running {listed(functions)} tells what a sweep computes for them: {listed(names)}; {PERMISSION}"]


def _speed_text(model: EncodingModel, tokens: int, speed: Speed) -> str:
    source = "measured here" if speed.measured else "assumed, no speed was measured in this store yet"
    return f"{tokens:,} new tokens to embed with {model} at {approximate(speed.low)} to {approximate(speed.high)} tokens/s ({source})"
