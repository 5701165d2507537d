"""Document metrics as they would be if the retrieved documents that nobody judged were relevant."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.errors import InputError
from workbench.metrics.coverage import Floats, Ints
from workbench.metrics.evaluate import evaluate
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import Metric


class UnjudgedValues(NamedTuple):
    """(q) values of a metric with the unjudged documents of the first k not relevant (`low`) and relevant (`high`); NaN unscored."""

    low: Floats
    high: Floats


def unjudged_values(labels: Labels, retrieved: Retrieved, metric: Metric) -> UnjudgedValues:
    """A document metric twice, with the unjudged documents among the configuration's first k counted 0 and counted 1 (grade 1).

    They bound `success`, `precision` and `mrr`. Metrics that divide by the number of relevant documents (`recall`, `map`, `ndcg`) count
    this configuration's own unjudged documents there, not those that only others retrieved. Metrics of other units are refused.
    """
    if metric.family != "documents" or metric.k is None:
        raise InputError(f"{metric} is not over documents", "bounds exist for recall@5, precision@5, ndcg@10 and the like")
    low = _values(labels, retrieved, metric)
    high = _values(with_relevant(labels, _unjudged(labels, retrieved, metric.k)), retrieved, metric)
    return UnjudgedValues(low, np.where(np.isnan(low), np.nan, high))


def with_relevant(labels: Labels, pairs: Ints) -> Labels:
    """The labels with the judgement 1 added for each pair, query * documents + document."""
    query, doc = pairs // labels.documents, pairs % labels.documents
    return replace(
        labels,
        qrel_query=np.concatenate([labels.qrel_query, query]),
        qrel_doc=np.concatenate([labels.qrel_doc, doc]),
        qrel_relevance=np.concatenate([labels.qrel_relevance, np.ones_like(pairs)]),
    )


def _unjudged(labels: Labels, retrieved: Retrieved, k: int) -> Ints:
    top = retrieved.ranking[retrieved.ranking["rank"] <= k]
    shown = top["query"].to_numpy(np.int64) * labels.documents + top["doc"].to_numpy(np.int64)
    return np.setdiff1d(shown, labels.judged_pairs)


def _values(labels: Labels, retrieved: Retrieved, metric: Metric) -> Floats:
    rows = evaluate(labels, retrieved, [metric])
    return rows.set_index("query")["value"].reindex(range(labels.queries)).to_numpy(np.float64)
