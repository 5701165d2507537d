"""Rank configurations by cheap proxies and set aside those that are far behind. The others run in full."""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.components.embedding.base import NO_WINDOW
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.embedding.torch_model import model_settings
from workbench.components.retrieval.dense import DenseRetriever
from workbench.core.errors import InputError, StoreError, WorkbenchError
from workbench.core.fingerprint import fingerprint
from workbench.core.records import Dataset
from workbench.core.storage.result_store import ResultWriter, StoredResult
from workbench.measures.metrics.coverage import Floats
from workbench.measures.statistics.clusters import query_clusters, weighted
from workbench.measures.statistics.screening import MARGIN, ScreenedConfiguration, Screening, screened
from workbench.measures.statistics.verdict import FEWEST_QUERIES
from workbench.runner.execution.local import Say, check_code, context_of, finished_text, primary_of, retrieval_primary, score_of
from workbench.runner.experiment.read import ExperimentSpec
from workbench.runner.pipeline.configuration import Configuration, PipelineConfiguration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.graph import Graph

VERSION = 1
SEED = 6
QUERIES = 200
FEWEST = 3
_KIND = "screenings"


@dataclass(frozen=True)
class Proxies:
    """A cheap proxy by name for each configuration of an experiment, on a sample of its `of` answerable questions."""

    experiment: ExperimentSpec
    graph: Graph
    of: int
    cheap: dict[str, PipelineConfiguration]

    @property
    def run(self) -> RunContext:
        """Return the run context of the sampled questions with the primary metric."""
        return self.graph.run

    @cached_property
    def keys(self) -> dict[str, str]:
        """Return the key of each proxy's scores. Configurations with equal keys cannot be distinguished."""
        nodes = {name: self.graph.nodes(proxy, ["scores"]) for name, proxy in self.cheap.items()}
        return {name: fingerprint([self.graph.key(node) for node in scores]) for name, scores in nodes.items()}

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Group configurations comparable by proxy: those of one embedder and kind of retrieval, which lose equally to their proxies."""
        parts = {
            each.name: (each.embedding and each.embedding.model_dump(), each.pipeline.retrieval.kind)
            for each in self.experiment.configurations
            if each.name in self.cheap
        }
        return _grouped({name: fingerprint(*part) for name, part in parts.items()})

    @cached_property
    def alike(self) -> tuple[tuple[str, ...], ...]:
        """Group configurations that differ only in settings that their proxy ignores."""
        return tuple(names for names in _grouped(self.keys) if len(names) > 1)

    @property
    def key(self) -> str:
        """Hash everything that determines the screening, without running anything."""
        return fingerprint("screening", VERSION, self.keys, self.groups, self.experiment.baseline, self.experiment.average, MARGIN)


def _grouped(labels: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
    groups: dict[str, list[str]] = defaultdict(list)
    for name, label in labels.items():
        groups[label].append(name)
    return tuple(map(tuple, groups.values()))


def screen(experiment: ExperimentSpec, outputs: Path, say: Say, queries: int = QUERIES) -> ExperimentSpec:
    """Set aside the configurations that are far behind by proxy, and record the differences as the experiment's `screening`.

    The proxies run through the ordinary stages, so results in the store are reused. An experiment that cannot be screened is returned
    unchanged, after a message. Raises InputError for fewer than 30 queries.
    """
    if queries < FEWEST_QUERIES:
        raise InputError(f"--screen-queries {queries} is too small", f"give {FEWEST_QUERIES} or more")
    check_code(experiment)
    proxies = proxies_of(experiment, outputs, queries)
    if reason := _unscreenable(proxies):
        say(f"nothing is screened out: {reason}")
        return experiment
    compute = partial(_write_screening, proxies, say)
    return _without(experiment, proxies.run.workspace.store.obtain(_KIND, proxies.key, compute))


def as_screened(experiment: ExperimentSpec, outputs: Path) -> ExperimentSpec:
    """Remove the configurations that the last sweep screened out. Changes nothing if it screened nothing or ran another experiment."""
    path = outputs / experiment.name / "screening.parquet"
    if not path.is_file():
        return experiment
    proxies = proxies_of(experiment, outputs, int(pd.read_parquet(path)["queries"].iloc[0]))
    if _by_answers(proxies):
        return experiment
    entry = proxies.run.workspace.store.get(_KIND, proxies.key)
    return _without(experiment, entry) if entry else experiment


def proxies_of(experiment: ExperimentSpec, outputs: Path, queries: int) -> Proxies:
    """Return the proxies of an experiment on a seeded sample of at most `queries` answerable questions."""
    context = context_of(experiment, outputs)
    answerable = [place for place, query in enumerate(context.dataset.queries) if query.answerable]
    chosen = np.sort(np.random.default_rng(SEED).permutation(answerable)[:queries])
    sample, primary = _sampled(context.dataset, chosen.tolist()), retrieval_primary(experiment, context.dataset)
    graph = Graph(replace(context, dataset=sample, metrics=(primary,), indexed=False, primary=None))
    # A target has no proxy, and is never set aside.
    own = [each.pipeline for each in experiment.configurations if not each.targets]
    return Proxies(experiment, graph, len(answerable), {each.name: proxy_of(each) for each in own})


def proxy_of(configuration: PipelineConfiguration) -> PipelineConfiguration:
    """Return the configuration with exact search and static embeddings, as wide as its embedder's window, if it has embeddings.

    It answers nothing, because calls of a model are not cheap. The embeddings are distilled from the same model if it is a sentence-transformers model, else from all-MiniLM-L6-v2.
    """
    configuration = replace(configuration, context=None, answering=None)
    embedder, retrieval = configuration.embedding, configuration.retrieval
    if isinstance(retrieval, DenseRetriever):
        # Proxies have no index.
        configuration = replace(configuration, retrieval=retrieval.model_copy(update={"search": "exact"}))
    if embedder is None or isinstance(embedder, StaticEmbedder):
        return configuration
    usual = StaticEmbedder()
    if isinstance(embedder, SentenceTransformerEmbedder):
        usual = StaticEmbedder(model=embedder.model, allow_pickle=embedder.allow_pickle)
    hidden = model_settings(usual.model, "config.json").get("hidden_size", usual.dimensions)
    # A proxy uses no special tokens and no prompt.
    window = embedder.window()
    most = max(8, window - int(embedder.lengths([""], "document")[0])) if window < NO_WINDOW else None
    fitting = {"dimensions": min(usual.dimensions, hidden), "max_tokens": most}
    return replace(configuration, embedding=usual.model_copy(update=fitting))


def _sampled(dataset: Dataset, places: list[int]) -> Dataset:
    queries = tuple(dataset.queries[place] for place in places)
    ids = {query.query_id for query in queries}
    qrels = tuple(qrel for qrel in dataset.qrels if qrel.query_id in ids)
    return replace(dataset, queries=queries, qrels=qrels, needs=tuple(need for need in dataset.needs if need.query_id in ids))


def _unscreenable(proxies: Proxies) -> str:
    """Return why an experiment cannot be screened, or an empty text if it can."""
    if _by_answers(proxies):
        return "the primary metric is of answers, and a proxy answers no question; set primary to a metric of rankings"
    configurations, queries = len(proxies.cheap), len(proxies.run.dataset.queries)
    if configurations < FEWEST:
        return f"screening needs {FEWEST} configurations, but the experiment has {configurations}"
    if queries < FEWEST_QUERIES:
        return f"screening needs {FEWEST_QUERIES} answerable questions, but the dataset has {queries}"
    if all(len(group) == 1 for group in proxies.groups):
        return "no two configurations share embedder and retrieval, and a proxy cannot compare others"
    return ""


def _by_answers(proxies: Proxies) -> bool:
    return primary_of(proxies.experiment, proxies.run.dataset).of_answers


def _write_screening(proxies: Proxies, say: Say, writer: ResultWriter) -> None:
    """Run the proxies and decide within each group. A configuration whose proxy fails is kept."""
    (metric,), keys, experiment = proxies.run.metrics, proxies.keys, proxies.experiment
    values, cut = _run_proxies(proxies, say)
    own = [each for each in experiment.configurations if each.name in proxies.cheap]
    rows: dict[str, ScreenedConfiguration] = {}
    for group in proxies.groups:
        results = screened(
            {name: values[name] for name in group},
            weighted(query_clusters(proxies.run.labels), experiment.average),
            proxies={each.name: _description(each, proxies.cheap[each.name]) for each in own},
            spared={name for name, key in keys.items() if key == keys.get(experiment.baseline or "")},
            never_first=cut,
            higher_is_better=metric.higher_is_better,
        )
        rows |= {row.configuration: row for row in results}
    ordered = tuple(rows[configuration.name] for configuration in own)
    screening = Screening(str(metric), len(proxies.run.dataset.queries), proxies.of, MARGIN, SEED, ordered, proxies.alike)
    writer.values("screening", screening.as_json())


def _run_proxies(proxies: Proxies, say: Say) -> tuple[dict[str, Floats], set[str]]:
    """Return each proxy's values (queries,) by name, and the proxies whose window truncates chunks and so cannot compare chunking."""
    values, cut = {}, set()
    (metric,) = proxies.run.metrics
    for number, (name, proxy) in enumerate(proxies.cheap.items(), 1):
        values[name], began = np.full(proxies.run.labels.queries, np.nan), time.monotonic()
        try:
            result = proxies.graph.walk(proxy)
            values[name] = result.scores_table.sort_values("query")["value"].to_numpy(np.float64)
            message = finished_text(result, metric, score_of(result, metric), time.monotonic() - began)
            if result.truncated.any():
                cut.add(name)
        except StoreError:
            raise
        except Exception as error:  # of any kind: the configuration itself reports it, or runs
            message = f"has no proxy ({error.what if isinstance(error, WorkbenchError) else type(error).__name__}) and is run in full"
        say(f"screening [{number}/{len(proxies.cheap)}] {name}: {message}")
    return values, cut


def _description(configuration: Configuration, proxy: PipelineConfiguration) -> str:
    embedder = proxy.embedding
    if embedder is None or embedder == configuration.embedding:
        return "the configuration itself"
    return f"{embedder.kind} embeddings of {embedder.model}"


def _without(experiment: ExperimentSpec, entry: StoredResult) -> ExperimentSpec:
    screening = Screening.of_json(entry.values("screening"))
    dropped = {row.configuration for row in screening.dropped}
    remaining = tuple(configuration for configuration in experiment.configurations if configuration.name not in dropped)
    return replace(experiment, configurations=remaining, screening=screening)
