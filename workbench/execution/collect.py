"""Everything that a finished run leaves, as tables and a manifest."""

import json
import platform
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import pandas as pd

from workbench import __version__
from workbench.analysis.comparisons import comparisons_table
from workbench.execution.dataset_tables import evidence_table, judgements_table, passages_table, questions_table
from workbench.execution.local import Outcome
from workbench.execution.result import Result
from workbench.execution.screening import screening_table
from workbench.execution.tables import configurations_table, hits_table, metrics_table, queries_table, timings_table
from workbench.metrics.names import Metric
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.results.tables import joined
from workbench.retrieval.rank import SEED
from workbench.schemas import SCHEMAS

_VERSIONS = (
    "chromadb",
    "sentence-transformers",
    "torch",
    "transformers",
    "openvino",
    "numpy",
    "ir-measures",
    "pytrec-eval-terrier",
)


def collect(outcome: Outcome) -> RunTables:
    """A finished run as its tables, each made when it is first asked for; what is costly comes from the store where it is there."""
    context, screening = outcome.context, outcome.experiment.screening

    def each(name: str, make: Callable[[RunContext, Result], pd.DataFrame]) -> pd.DataFrame:
        parts = [make(context, result).assign(configuration=result.configuration.name) for result in outcome.results]
        return joined(SCHEMAS[name], parts)

    sources: dict[str, Callable[[RunTables], pd.DataFrame]] = {
        "metrics": lambda _: metrics_table(outcome),
        "queries": lambda _: queries_table(outcome),
        "hits": lambda _: hits_table(outcome),
        "configurations": lambda _: configurations_table(outcome),
        "comparisons": comparisons_table,
        "timings": lambda _: timings_table(outcome),
        "questions": lambda _: questions_table(context.dataset, context.labels),
        "judgements": lambda _: judgements_table(context.dataset),
        "evidence": lambda _: evidence_table(context.dataset),
        "passages": lambda _: passages_table(
            context.dataset, context.labels, [result.explanation("context") for result in outcome.results]
        ),
        "context": lambda _: each("context", _context),
        "causes": lambda _: each("causes", _causes),
        "query_details": lambda _: each("query_details", _query_details),
        "chunk_faults": lambda _: each("chunk_faults", _chunk_faults),
        "chunk_lengths": lambda _: each("chunk_lengths", _chunk_lengths),
    }
    if screening is not None:
        sources["screening"] = lambda _: screening_table(screening)
    # As it is read back: JSON has no tuples.
    return RunTables(json.loads(json.dumps(manifest(outcome), allow_nan=False)), sources)


def manifest(outcome: Outcome) -> dict[str, Any]:
    """What was run on what: settings, metrics, fingerprints, versions, seeds, commit, failures. Nothing in it differs between equal runs."""
    dataset, experiment, screening = outcome.context.dataset, outcome.experiment, outcome.experiment.screening
    return {
        "experiment": experiment.settings,
        "primary": str(outcome.primary),
        "baseline": experiment.baseline,
        "metrics": {str(metric): _measure(metric) for metric in outcome.context.metrics},
        "configurations": {one.name: _settings(one) for one in experiment.configurations},
        "dataset": {
            "name": dataset.name,
            "documents": len(dataset.documents),
            "queries": len(dataset.queries),
            "unanswerable": sum(not query.answerable for query in dataset.queries),
            "judgements": len(dataset.qrels),
            "needs": len(dataset.needs),
        },
        "fingerprints": _fingerprints(outcome),
        # A configuration may have failed because nothing here can encode for it.
        "encoders": {one.name: one.embedding.encoder()._asdict() for one in _finished(outcome) if one.embedding},
        "failures": outcome.failures,
        **({"screening": screening.about} if screening else {}),
        "versions": {"python": platform.python_version(), "workbench": __version__}
        | {name: found for name in _VERSIONS if (found := _version(name))},
        "seeds": {"ties": SEED},
        "commit": _commit(),
    }


def _measure(metric: Metric) -> dict[str, Any]:
    names = ("name", "family", "k", "tokens", "higher_is_better", "proportion", "bounded_by_k")
    return {name: getattr(metric, name) for name in names} | {name: getattr(metric.kind, name) for name in ("definition", "source")}


def _settings(configuration: Configuration) -> dict[str, Any]:
    chosen = {"chunking": configuration.chunking, "embedding": configuration.embedding, "retrieval": configuration.retrieval}
    return {stage: component.model_dump(mode="json") if component else None for stage, component in chosen.items()}


def _finished(outcome: Outcome) -> list[Configuration]:
    return [one for one in outcome.experiment.configurations if one.name not in outcome.failures]


def _fingerprints(outcome: Outcome) -> dict[str, Any]:
    finished = _finished(outcome)
    found: dict[str, Any] = dict(outcome.context.fingerprints)
    found["configurations"] = {one.name: outcome.graph.fingerprint(one) for one in finished}
    return found | {"settings": {one.name: outcome.graph.settings(one) for one in finished}}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the working directory, where that is under git: it is the experiment's, not the package's."""
    try:
        answer = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None


def _context(context: RunContext, result: Result) -> pd.DataFrame:
    rows = result.explanation("context")
    return rows.assign(query_id=context.query_ids[rows["query"]], doc_id=context.doc_ids[rows["doc"]])


def _causes(context: RunContext, result: Result) -> pd.DataFrame:
    rows, needs = result.explanation("misses"), context.dataset.needs
    spans = [needs[need].alternatives[0] if need >= 0 else None for need in rows["need"].tolist()]
    documents = context.doc_ids[rows["doc"].to_numpy(np.int64)]
    places = [
        (f"{span.doc_id}:{span.start}-{span.end}", span.doc_id) if span else (doc, doc) for span, doc in zip(spans, documents, strict=True)
    ]
    evidence, doc_ids = zip(*places, strict=True) if places else ((), ())
    query_ids = context.query_ids[rows["query"].to_numpy(np.int64)]
    return rows.assign(condition=RETRIEVED, query_id=query_ids, evidence=list(evidence), doc_id=list(doc_ids))


def _query_details(context: RunContext, result: Result) -> pd.DataFrame:
    queries = len(context.query_ids)
    about = result.hits.table(f"{result.search}_about").set_index("query").reindex(range(queries))
    attainable = result.entries["scores"][str(context.primary)].table("scores")["attainable"].to_numpy(np.float64)
    found = result.explanation("details").assign(query_id=context.query_ids, attainable=attainable)
    return found.assign(top_score=about["top"].to_numpy(np.float64), tied=about["tied"].eq(True).to_numpy())


def _chunk_faults(_: RunContext, result: Result) -> pd.DataFrame:
    rows = pd.DataFrame(result.entry("chunk_faults").values("faults")).rename(columns={"name": "fault"})
    return rows.assign(examples=[json.dumps(examples) for examples in rows["examples"]])


def _chunk_lengths(_: RunContext, result: Result) -> pd.DataFrame:
    # What nothing embeds is counted as it is delivered.
    lengths = result.lengths if result.embeds else result.chunks_table["tokens"].to_numpy(np.int64)
    tokens, chunks = np.unique(lengths, return_counts=True)
    return pd.DataFrame({"tokens": tokens, "chunks": chunks})
