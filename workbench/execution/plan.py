"""What a sweep would compute, what it would reuse, and what that costs; chunks are cut for it, nothing is embedded."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.embedding.embed import described
from workbench.embedding.late.chunks import asked_of
from workbench.embedding.late.pooling import Reader, is_late, reader_of
from workbench.execution.local import bench_of
from workbench.experiment.read import Experiment
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stages import chunks_stage, embedder_inputs
from workbench.storage.result_store import Store

STAGES = ("chunks", "vectors", "index", "hits", "scores")
# Before anything was measured here, by encoder: two quiet cores with all-MiniLM-L6-v2 (docs/performance.md).
_ASSUMED = {"openvino bfloat16": 20_000, "openvino float32": 12_000, "static": 400_000}
_ASSUMED_OF_OTHERS = 4_000
_SECONDS_A_NOTEBOOK = 2
# Chunking, index, hits and scores.
_SECONDS_A_CHUNK = 0.0007
# What embedded where an entry does not say so.
_BEFORE = "torch float32"


@dataclass(frozen=True)
class PlannedConfiguration:
    """One configuration: whether each stage is in the store, its chunks, and the tokens that it alone adds to the embedding."""

    name: str
    reused: dict[str, bool]
    chunks: int
    tokens: int
    truncated: int


@dataclass(frozen=True)
class Plan:
    """All configurations, the speed that was assumed or measured (tokens a second), and the minutes expected."""

    configurations: tuple[PlannedConfiguration, ...]
    tokens_a_second: float
    measured: bool
    minutes: float

    @property
    def complete(self) -> bool:
        """Whether everything is in the store already."""
        return all(all(planned.reused.values()) for planned in self.configurations)


def plan_experiment(experiment: Experiment, outputs: Path) -> Plan:
    """The plan of an experiment under an outputs folder."""
    bench = bench_of(experiment, outputs)
    before = {one.name: _reused(bench, one) for one in experiment.configurations}
    counted: set[bytes] = set()
    planned = tuple(_planned(bench, one, before[one.name], counted) for one in experiment.configurations)
    encoders = {one.embedding.encoder().name for one in experiment.configurations if one.embedding}
    measured = measured_rate(bench.workplace.store, encoders)
    rate = measured or assumed_rate(encoders)
    new = [one for one in planned if not all(one.reused.values())]
    seconds = sum(one.tokens for one in planned) / rate + sum(_SECONDS_A_NOTEBOOK + _SECONDS_A_CHUNK * one.chunks for one in new)
    return Plan(planned, rate, measured is not None, seconds / 60)


def _reused(bench: RunContext, configuration: Configuration) -> dict[str, bool]:
    keys = bench.keys(configuration)
    needed = {stage: key for stage in STAGES if (key := getattr(keys, stage)) is not None}
    indexes = bench.workplace.indexes
    return {stage: (indexes / key).is_dir() if stage == "index" else bench.workplace.store.has(stage, key) for stage, key in needed.items()}


def _planned(bench: RunContext, configuration: Configuration, reused: dict[str, bool], counted: set[bytes]) -> PlannedConfiguration:
    table = chunks_stage(bench, configuration).table("chunks")
    embedder = configuration.embedding
    if embedder is None:
        return PlannedConfiguration(configuration.name, reused, len(table), 0, 0)
    if is_late(embedder):
        tokens = 0 if reused["vectors"] else _late_tokens(bench, table, reader_of(embedder), counted)
        return PlannedConfiguration(configuration.name, reused, len(table), tokens, 0)
    texts = embedder_inputs(bench, table)
    (hashes, lengths), window = described(texts, embedder, "document"), embedder.window()
    truncated = int(np.maximum(lengths - window, 0).sum())
    if reused["vectors"]:
        return PlannedConfiguration(configuration.name, reused, len(table), 0, truncated)
    missing = dict(zip((key.tobytes() for key in hashes), lengths, strict=True))
    there = bench.workplace.vectors.present(list(missing)) | counted
    counted |= missing.keys()
    tokens = sum(min(int(length), window) for key, length in missing.items() if key not in there)
    return PlannedConfiguration(configuration.name, reused, len(table), tokens, truncated)


def _late_tokens(bench: RunContext, table: pd.DataFrame, reader: Reader, counted: set[bytes]) -> int:
    """The tokens of the documents that lack a slice; a document is encoded once for all configurations."""
    tokens = 0
    for asked in asked_of(bench.dataset.documents, table):
        name, keys = reader.document_key(asked.document), reader.keys(asked)
        if name not in counted and len(bench.workplace.vectors.present(keys)) < len(set(keys)):
            counted.add(name)
            tokens += reader.tokens(asked.document)
    return tokens


def assumed_rate(encoders: set[str]) -> float:
    """Tokens a second of the slowest of these encoders, as far as one knows without having measured."""
    return min((_ASSUMED.get(encoder, _ASSUMED_OF_OTHERS) for encoder in encoders), default=_ASSUMED_OF_OTHERS)


def measured_rate(store: Store, encoders: set[str]) -> float | None:
    """Tokens a second over all that these encoders ever embedded into this store; None before there is anything."""
    tokens = seconds = 0.0
    for folder in (store.root / "vectors").glob("*"):
        entry = store.get("vectors", folder.name) if folder.is_dir() else None
        about = entry.values("encoded") if entry else {}
        encoded = about.get("tokens", 0) if about.get("encoder", _BEFORE) in encoders else 0
        if entry and encoded:
            tokens, seconds = tokens + encoded, seconds + entry.seconds + about.get("workers_seconds", 0.0)
    return tokens / seconds if seconds else None
