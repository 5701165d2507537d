"""Collect a finished run into its tables and its manifest."""

import json
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
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
from workbench.execution.configuration_tables import configuration_row, metrics_table, queries_table, timings_table
from workbench.execution.dataset_tables import documents_table, evidence_table, judgements_table, passages_table, questions_table
from workbench.execution.latency import QUESTIONS, ROUNDS
from workbench.execution.local import Outcome
from workbench.models.files import locate
from workbench.models.weights import pickles
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.stage_results import StageResults
from workbench.results.commit import commit
from workbench.results.run_tables import RunTables
from workbench.retrieval.rank import SEED
from workbench.schemas import SCHEMAS, TableSchema

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
    run, screening, finished = outcome.run, outcome.experiment.screening, outcome.results
    dataset, latencies = run.dataset, outcome.latencies
    sources: dict[str, Callable[[RunTables], pd.DataFrame]] = {
        "metrics": lambda _: _joined(SCHEMAS["metrics"], [(results, metrics_table(results)) for results in finished]),
        "queries": lambda _: _joined(SCHEMAS["queries"], [(results, queries_table(results)) for results in finished]),
        "timings": lambda _: _joined(
            SCHEMAS["timings"], [(results, timings_table(results, latencies.get(results.configuration.name, {}))) for results in finished]
        ),
        "configurations": lambda _: _configurations(outcome),
        "comparisons": comparisons_table,
        "questions": lambda _: questions_table(dataset, run.labels),
        "documents": lambda _: documents_table(dataset),
        "judgements": lambda _: judgements_table(dataset),
        "evidence": lambda _: evidence_table(dataset),
        "passages": lambda _: passages_table(run, finished),
    }
    given = {schema.name: schema for stage in outcome.graph.stages.values() for schema in stage.tables}
    sources |= {
        name: partial(_given, outcome, schema) for name, schema in given.items() if schema.required or any(_makers(outcome, schema))
    }
    if screening is not None:
        sources["screening"] = lambda _: pd.DataFrame(map(asdict, screening.rows)).assign(
            queries=screening.queries, metric=screening.metric
        )
    own = {name: schema for name, schema in given.items() if name in sources and name not in SCHEMAS}
    # Convert to the form that is read back: JSON has no tuples.
    return RunTables(json.loads(json.dumps(manifest(outcome, own), allow_nan=False)), sources)


def _makers(outcome: Outcome, schema: TableSchema) -> Iterator[tuple[StageResults, Callable[[StageResults], pd.DataFrame]]]:
    """Yield the results of each configuration with each of its stages that gives a table."""
    for results in outcome.results:
        for name, stage in outcome.graph.stages.items():
            if name in results.entries and (make := stage.tables_of(results.configuration).get(schema)):
                yield results, make


def _given(outcome: Outcome, schema: TableSchema, _: RunTables) -> pd.DataFrame:
    """Return a table that stages give. One without configurations, such as that of the judges, is the same for all of them."""
    makers = list(_makers(outcome, schema))
    return _joined(schema, [(results, make(results)) for results, make in (makers if "configuration" in schema.dtypes else makers[:1])])


def _joined(schema: TableSchema, parts: Iterable[tuple[StageResults, pd.DataFrame]]) -> pd.DataFrame:
    tables = [table.assign(configuration=results.configuration.name) for results, table in parts if len(table)]
    return pd.concat(tables, ignore_index=True) if tables else schema.empty()


def _configurations(outcome: Outcome) -> pd.DataFrame:
    """Return a row for each configuration. Failed ones come last and have only their error."""
    rows = [configuration_row(results) for results in outcome.results]
    rows += [{"configuration": name, "error": line} for name, line in outcome.failures.items()]
    return pd.DataFrame(rows, columns=SCHEMAS["configurations"].names)


def manifest(outcome: Outcome, tables: Mapping[str, TableSchema]) -> dict[str, Any]:
    """Return settings, metrics, fingerprints, versions, seeds, commit and failures. Equal runs have equal manifests.

    `tables` are those of stages of other packages.
    """
    dataset, experiment, graph = outcome.run.dataset, outcome.experiment, outcome.graph
    repeated = repeats(dataset.queries, dataset.qrels, ((need.query_id, span) for need in dataset.needs for span in need.alternatives))
    finished = [configuration for configuration in experiment.configurations if configuration.name not in outcome.failures]
    components = [component for each in (*finished, experiment.judging) if each for component in each.components.values()]
    return {
        "experiment": experiment.settings,
        "primary": str(outcome.primary),
        "baseline": experiment.baseline,
        "average": experiment.average,
        "smallest_difference": experiment.smallest_difference,
        "metrics": {str(metric): metric.record for metric in outcome.run.metrics},
        "conditions": list(dict.fromkeys(variant.condition for variant in outcome.run.variants)),
        "repeats": 1 + max(variant.repeat for variant in outcome.run.variants),
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
            **outcome.run.fingerprints,
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
        **({"tables": {name: schema.as_json() for name, schema in tables.items()}} if tables else {}),
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
