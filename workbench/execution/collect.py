"""Collect a finished run into its tables and its manifest."""

import json
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import partial
from typing import Any

import pandas as pd

from workbench import __version__
from workbench.analysis.pairwise import comparisons_table
from workbench.core.component import Component, inner_components
from workbench.core.environment import installed_version
from workbench.datasets.repeats import repeats
from workbench.datasets.unread_files import unread_files
from workbench.execution import tables
from workbench.execution.answering.answers_table import context_slices, foreign_passages
from workbench.execution.judging.judges_table import judges_table
from workbench.execution.latency import QUESTIONS, ROUNDS
from workbench.execution.local import Outcome
from workbench.models.files import locate
from workbench.models.weights import pickles
from workbench.pipeline.configuration import Configuration
from workbench.results.commit import commit
from workbench.results.run_tables import RunTables, empty
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
    """Return the tables of a finished run, each created on first access."""
    context, screening = outcome.context, outcome.experiment.screening
    dataset = context.dataset
    sources: dict[str, Callable[[RunTables], pd.DataFrame]] = {
        "configurations": lambda _: _configurations(outcome),
        "comparisons": comparisons_table,
        "questions": lambda _: tables.questions_table(dataset, context.labels),
        "documents": lambda _: tables.documents_table(dataset),
        "judgements": lambda _: tables.judgements_table(dataset),
        "evidence": lambda _: tables.evidence_table(dataset),
        "passages": lambda _: _passages(outcome),
    }
    if _has(outcome, "claims"):
        sources["judges"] = lambda _: judges_table(outcome)
    sources |= {name: partial(_joined, outcome, name) for name in tables.CONFIGURATION_TABLES if _has(outcome, name)}
    if screening is not None:
        sources["screening"] = lambda _: pd.DataFrame(map(asdict, screening.rows)).assign(
            queries=screening.queries, metric=screening.metric
        )
    # Convert to the form that is read back: JSON has no tuples.
    return RunTables(json.loads(json.dumps(manifest(outcome), allow_nan=False)), sources)


def _passages(outcome: Outcome) -> pd.DataFrame:
    """Return the text of everything that the report shows."""
    known = tables.passages_table(outcome.context.dataset, outcome.context.labels, _shown(outcome))
    parts = [part for result in outcome.results if len(part := foreign_passages(outcome.context, result))]
    if not parts:
        return known
    foreign = pd.concat(parts, ignore_index=True).drop_duplicates()
    texts = [tables.plain(text) for text in foreign["text"]]
    return pd.concat(
        [known, foreign.assign(text=texts, end=[start + len(text) for start, text in zip(foreign["start"], texts, strict=True)])]
    )


def _shown(outcome: Outcome) -> list[pd.DataFrame]:
    """Return the slices of documents that the report shows, each table with the columns `doc`, `start` and `end`."""
    hits = [result.entry("explanations").table("context") for result in outcome.results]
    return [*hits, *(context_slices(outcome.context, result) for result in outcome.results)]


def _has(outcome: Outcome, table: str) -> bool:
    """Return whether a run has a table of its configurations."""
    judged = outcome.context.judging is not None
    needs: dict[str, Callable[[Configuration], bool]] = {
        "rewrites": lambda configuration: configuration.rewrite is not None,
        "hit_sources": lambda configuration: configuration.fuses,
        "answers": lambda configuration: configuration.answering is not None,
        "targets": lambda configuration: bool(configuration.targets),
        "samples": lambda configuration: any(target.answers for target in configuration.targets),
    }
    needs |= dict.fromkeys(("claims", "answer_judgements"), lambda configuration: judged and configuration.answering is not None)
    return table not in needs or any(needs[table](result.configuration) for result in outcome.results)


def _joined(outcome: Outcome, name: str, _: RunTables) -> pd.DataFrame:
    make = tables.CONFIGURATION_TABLES[name]
    parts = [make(outcome.context, result).assign(configuration=result.configuration.name) for result in outcome.results]
    return pd.concat(parts, ignore_index=True) if parts else empty(SCHEMAS[name])


def _configurations(outcome: Outcome) -> pd.DataFrame:
    """Return a row for each configuration. Failed ones come last and have only their error."""
    rows = [tables.configuration_row(outcome.context, result) for result in outcome.results]
    rows += [{"configuration": name, "error": line} for name, line in outcome.failures.items()]
    return pd.DataFrame(rows, columns=SCHEMAS["configurations"].names)


def manifest(outcome: Outcome) -> dict[str, Any]:
    """Return settings, metrics, fingerprints, versions, seeds, commit and failures. Equal runs have equal manifests."""
    dataset, experiment, graph = outcome.context.dataset, outcome.experiment, outcome.graph
    repeated = repeats(dataset.queries, dataset.qrels, ((need.query_id, span) for need in dataset.needs for span in need.alternatives))
    finished = [configuration for configuration in experiment.configurations if configuration.name not in outcome.failures]
    components = [component for each in (*finished, experiment.judging) if each for component in each.components.values()]
    return {
        "experiment": experiment.settings,
        "primary": str(outcome.primary),
        "baseline": experiment.baseline,
        "average": experiment.average,
        "smallest_difference": experiment.smallest_difference,
        "metrics": {str(metric): metric.record for metric in outcome.context.metrics},
        "conditions": list(dict.fromkeys(variant.condition for variant in outcome.context.variants)),
        "repeats": 1 + max(variant.repeat for variant in outcome.context.variants),
        "judging": experiment.judging.recorded_settings() if experiment.judging else None,
        "configurations": {configuration.name: _settings(configuration) for configuration in experiment.configurations},
        "dataset": {
            "name": dataset.name,
            "documents": len(dataset.corpus),
            "missing": len(dataset.documents) - len(dataset.corpus),
            "queries": len(dataset.queries),
            "unanswerable": sum(not query.answerable for query in dataset.queries),
            "repeated": len(repeated),
            "relabelled": sum(repeat.relabelled for repeat in repeated),
            "judgements": len(dataset.qrels),
            "needs": len(dataset.needs),
        },
        "fingerprints": {
            **outcome.context.fingerprints,
            "configurations": {configuration.name: graph.fingerprint(configuration) for configuration in finished},
            "settings": {configuration.name: graph.settings(configuration) for configuration in finished},
        },
        **({"unread": unread} if (unread := unread_files(experiment.settings.get("dataset"))) else {}),
        # A configuration may have failed because this machine cannot encode for it.
        "encoders": {each.name: each.embedding.encoder()._asdict() for each in finished if each.embedding},
        "code": list(experiment.named_code),
        "pickles": _pickles(components),
        "failures": outcome.failures,
        **({"screening": experiment.screening.manifest_entry} if experiment.screening else {}),
        "versions": {"python": platform.python_version(), "workbench": __version__}
        | {name: version for name in _VERSIONS if (version := installed_version(name))},
        "seeds": {"ties": SEED},
        "latency": {"concurrency": 1, "rounds": ROUNDS, "questions": QUESTIONS},
        # The commit of the experiment, not of the package.
        "commit": commit(),
    }


def _pickles(components: Iterable[Component]) -> dict[str, list[str]]:
    """Return the pickled weights that the components and those in them load, by model."""
    found: dict[str, list[str]] = {}
    for component in components:
        found |= _pickles(inner_components(component))
        model = getattr(component, "model", None) if getattr(component, "allow_pickle", False) else None
        if model and (files := pickles(locate(model))):
            found[model] = files
    return dict(sorted(found.items()))


def _settings(configuration: Configuration) -> dict[str, Any]:
    """Return the fields of each stage's component, or None for embedding without an embedder."""
    settings = {stage: component.recorded_settings() for stage, component in configuration.components.items()}
    return dict.fromkeys(("chunking", "embedding", "retrieval")) | settings
