"""Evaluate an index, or any other retrieval system, on a dataset."""

import inspect
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import pandas as pd

from workbench.api.arguments import require
from workbench.api.pipeline import Index
from workbench.api.systems import scores_of_system
from workbench.core.formatting import plural
from workbench.datasets.checks import checked
from workbench.errors import InputError
from workbench.metrics.evaluate import evaluate as evaluate_metrics
from workbench.metrics.inputs import Labels
from workbench.metrics.names import Metric
from workbench.pipeline.graph import Graph
from workbench.records import Dataset
from workbench.scoring.score import Scores, chosen_metrics, scores_of
from workbench.scoring.systems import System, SystemRun, run_system
from workbench.statistics.clusters import query_clusters


def evaluate(
    system: Index | System | object, dataset: Dataset, metrics: Sequence[str | Metric] | str | Metric, *, k: int | None = None
) -> Scores:
    """Score an index, or any callable that returns hits for a question, on the questions of a dataset.

    Parameters
    ----------
    system: an index, which gets the scores that a sweep gives the same configuration, or a callable `(query, k) -> hits`. A hit is a
        document id, or has `doc_id`, `start` and `end` (characters of the document) as attributes or keys.
    metrics: names or expressions, such as `"recall@5"` or `recall @ 5`.
    k: ask a callable for exactly this many hits. By default it is asked for more, up to 1,000, until the hits have as many distinct
        documents, slices and tokens as the metrics read.

    Returns
    -------
    `Scores` with the means, their 95 % intervals clustered by document, and the value of each question. A question on which a callable
    raises an error is `unscored` with the error as the reason, and no mean includes it.

    Raises
    ------
    InputError: a metric does not exist, hits are malformed, or the index contains other documents than the dataset.
    RunError: the callable failed on every question.

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
    chosen = chosen_metrics(metrics)
    if not dataset.queries:
        raise InputError("the dataset has no questions", "load one with questions")
    labels = Labels.of(checked(dataset))
    query_ids = [query.query_id for query in dataset.queries]
    if not isinstance(system, Index) and (not _ranks(system) or any(metric.of_answers for metric in chosen)):
        return scores_of_system(system, dataset, chosen, k)
    if isinstance(system, Index):
        if k is not None:
            raise InputError("an index is ranked as deep as the metrics read", "leave k out, or pass index.search")
        return scores_of(_index_rows(system, dataset, chosen), query_ids, query_clusters(labels))
    run = run_system(cast(System, system), dataset, chosen, k)
    rows = evaluate_metrics(labels, run.retrieved, chosen)
    failed = rows["query"].isin(list(run.failures)) & (rows["state"] == "scored")
    rows.loc[failed, ["value", "attainable"]] = float("nan")
    rows.loc[failed, "state"] = "unscored"
    rows.loc[failed, "reason"] = rows.loc[failed, "query"].map(run.failures)
    return scores_of(rows, query_ids, query_clusters(labels), _notes(run))


def _ranks(system: object) -> bool:
    """Return whether a system is a function of a question and a number of hits."""
    if not inspect.isroutine(system):
        return False
    try:
        inspect.signature(system).bind("", 1)
    except TypeError:
        return False
    except ValueError:  # some functions written in C have no signature
        return True
    return True


def _index_rows(index: Index, dataset: Dataset, metrics: Sequence[Metric]) -> pd.DataFrame:
    if dataset.documents != index.run.dataset.documents:
        raise InputError("the index contains other documents than the dataset", "build it with pipeline.index(dataset)")
    graph = Graph(replace(index.run, dataset=dataset, metrics=tuple(metrics)))
    entries = graph.walk(index.pipeline.configuration, ("chunks", "vectors", "index", "queries", "hits", "scores"))
    return pd.concat([entries["scores"][str(metric)].table("scores") for metric in metrics], ignore_index=True)


def _notes(run: SystemRun) -> tuple[str, ...]:
    notes = []
    if run.rising:
        notes.append(f"The scores of {plural(run.rising, 'ranking')} rise with the rank: are the best hits first?")
    if run.failures:
        first = next(iter(run.failures.values()))
        notes.append(f"{plural(len(run.failures), 'question')} failed and is in no mean; the first error: {first}")
    return tuple(notes)
