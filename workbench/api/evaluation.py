"""Evaluate an index, or any other retrieval system, on a dataset, and check whether a target serves stale data."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.api.arguments import require
from workbench.api.given_systems import indexed, target_for
from workbench.api.pipeline import Index, Pipeline
from workbench.api.scoring.score import Scores, scores_of
from workbench.api.scoring.systems import EnoughHits, run_system
from workbench.api.systems import scores_of_target, usual_metrics
from workbench.core.errors import InputError, RunError
from workbench.core.records import Dataset, Variant
from workbench.core.text.guessed_names import checked_names
from workbench.data.checks import checked
from workbench.llm.session import CallResources
from workbench.measures.metrics.expressions import computed_anew
from workbench.measures.metrics.inputs import Labels
from workbench.measures.metrics.names import Metric, metrics_given
from workbench.measures.statistics.clusters import query_clusters
from workbench.runner.pipeline.graph import Graph
from workbench.systems.base import Target, TargetDownError, TargetResources
from workbench.systems.callable.target import PythonTarget
from workbench.systems.freshness import FreshnessData, FreshnessReport, read_freshness
from workbench.systems.freshness import check_freshness as check_target

# It takes a question and a number of hits.
SearchFunction = Callable[[str, int], Iterable[Any]]


@checked_names
def evaluate(
    system: Index | Pipeline | SearchFunction | object,
    dataset: Dataset,
    metrics: Sequence[str | Metric] | str | Metric | None = None,
    *,
    k: int | None = None,
) -> Scores:
    """Score an index, a search function or any other system on the questions of a dataset.

    Parameters
    ----------
    system: an index or a pipeline, which gets the scores that a sweep gives the same configuration; a callable `(query, k) -> hits`; or any other
        system that `compare` takes. A hit is a document id, with or without the suffix of its file, or a mapping or an object with an id, a text, or
        `doc_id`, `start` and `end` (characters of the document).
    metrics: names or expressions, such as `"recall@5"` or `recall @ 5`; by default those of an experiment that the system and the labels allow.
    k: ask a callable for exactly this many hits. By default it is asked for more, up to 1,000, until the hits have as many distinct
        documents, slices and tokens as the metrics read.

    Returns
    -------
    `Scores` with the means, their 95 % intervals clustered by document, and the value of each question: `scores["recall@5"]` is a mean. A question on
    which a system fails, or returns something that is no list of hits, is `unscored` with the reason, and no mean includes it.

    Raises
    ------
    InputError: a metric does not exist or reads what no hit has, no hit is in the dataset, or the index contains other documents than the dataset.
    RunError: the system failed on every question, or found nothing for any.

    Examples
    --------
    >>> import workbench as wb
    >>> dataset = wb.load_dataset("experiments/handbook", split="dev")
    >>> index = wb.Pipeline(retrieval=wb.BM25Retriever()).index(dataset)
    >>> scores = wb.evaluate(index, dataset, ["recall@5", wb.mrr @ 10])
    >>> scores.table["metric"].tolist()
    ['recall@5', 'mrr@10']
    >>> same = wb.evaluate(lambda query, k: index.search(query, k), dataset, [wb.recall @ 5])
    >>> bool(same.table["value"][0] == scores.table["value"][0])
    True
    """
    require(dataset, Dataset, "dataset")
    chosen = [] if metrics is None else metrics_given(metrics)
    computed_anew(chosen)
    if not dataset.queries:
        raise InputError("the dataset has no questions", "load one with questions")
    query_ids, clusters = [query.query_id for query in dataset.queries], query_clusters(Labels.of(checked(dataset)))
    system = indexed(system, dataset)
    answered = any(metric.of_answers for metric in chosen)
    if isinstance(system, Index) and not answered:
        if k is not None:
            raise InputError("an index is ranked as deep as the metrics read", "leave k out, or pass index.search")
        return scores_of(_index_rows(system, dataset, chosen or usual_metrics(dataset)), query_ids, clusters)
    depth = EnoughHits.for_metrics(chosen or usual_metrics(dataset), dataset)
    target = target_for("", system, dataset, k=k, depth=depth, answered=answered)
    if answered or not isinstance(target, PythonTarget) or not target.searches:
        return scores_of_target(target, dataset, chosen)
    rows, notes = run_system(target, dataset, chosen, usual_metrics(dataset))
    return scores_of(rows, query_ids, clusters, notes)


def _index_rows(index: Index, dataset: Dataset, metrics: Sequence[Metric]) -> pd.DataFrame:
    if dataset.documents != index.run.dataset.documents:
        raise InputError("the index contains other documents than the dataset", "build it with pipeline.index(dataset)")
    graph = Graph(replace(index.run, dataset=dataset, metrics=tuple(metrics)))
    results = graph.walk(index.pipeline.configuration, ("chunks", "vectors", "index", "queries", "hits", "scores"))
    return pd.concat(
        [results.of("scores", Variant(), str(metric)).table("scores").assign(metric=str(metric)) for metric in metrics], ignore_index=True
    )


def check_freshness(target: Target, data: FreshnessData | str | Path) -> FreshnessReport:
    """Let a target ingest, replace and delete documents, and check each time that it serves neither old nor deleted text.

    All documents of `data` are deleted from the target at the end.

    Parameters
    ----------
    target: a target that takes documents.
    data: a folder with `documents`, `earlier` versions and the questions of `stale.jsonl`, or what `read_freshness` made of one.

    Raises
    ------
    InputError: the target takes no documents, or the folder is not such a folder.
    RunError: the target does not start, or breaks down.

    Examples
    --------
    >>> import workbench as wb
    >>> data = wb.read_freshness("experiments/handbook").only(["finance/company-cards"])
    >>> wb.check_freshness(wb.PipelineTarget(name="ours", chunker=wb.FixedChunker(size=128)), data).verdict
    'passed'
    """
    require(target, Target, "target")
    found = data if isinstance(data, FreshnessData) else read_freshness(Path(data))
    try:
        return check_target(target, found, TargetResources(CallResources()))
    except TargetDownError as error:
        raise RunError(f"the target {target.name} failed: {error}", "check that it runs and that its settings fit") from None
