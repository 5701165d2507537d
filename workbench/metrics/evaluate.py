"""All metrics of one configuration for each query, and bounds of document metrics over unjudged documents."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, get_args

import numpy as np
import pandas as pd

from workbench.errors import InputError
from workbench.metrics.case import Case, Cut, SpanDefinition
from workbench.metrics.coverage import Floats
from workbench.metrics.families.documents import first_documents
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import Metric
from workbench.metrics.registry import Kind

UNANSWERABLE = "unanswerable"
_PART_OF_INDEX = "not all chunks of the index are known"


def evaluate(labels: Labels, retrieved: Retrieved, metrics: Sequence[Metric], spans: SpanDefinition = "exact") -> pd.DataFrame:
    """Tabulate each metric and query, metrics in the given order: `query, metric, value, state, reason, attainable`.

    `state` is `scored`, `unscored` or `not_applicable`, with its `reason`; `value` is NaN unless scored. `attainable` is the largest
    value possible for the query, NaN without a maximum. Queries without results score 0. `spans` selects the definition of span metrics.
    """
    if spans not in get_args(SpanDefinition):
        raise InputError(f"unknown definition {spans!r} of span metrics", f"choose {' or '.join(get_args(SpanDefinition))}")
    case = Case(labels, retrieved, spans, document_depths(metrics))
    tables = [score(case, metric) for metric in dict.fromkeys(metrics)]
    columns = ["query", "metric", "value", "state", "reason", "attainable"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def document_depths(metrics: Sequence[Metric]) -> frozenset[int]:
    """The k of the metrics over documents, for a single run of trec_eval."""
    return frozenset(metric.k for metric in metrics if metric.family == "documents" and metric.k is not None)


def score(case: Case, metric: Metric) -> pd.DataFrame:
    """One metric's rows of `evaluate`."""
    table = values_of(case, metric.ranking_kind, metric.cut)
    table.insert(1, "metric", str(metric))
    return table


def values_of(case: Case, kind: Kind, cut: Cut) -> pd.DataFrame:
    """A kind's rows of `evaluate` at a cut, without the metric's name."""
    labels, requires = case.labels, kind.requires
    scores = kind.compute(case, cut)
    reason = np.full(labels.queries, "", dtype=object)
    state = np.full(labels.queries, "scored", dtype=object)
    for why, queries in reversed(scores.unscored):
        reason[queries], state[queries] = why, "unscored"
    missing = ~requires.met(labels)
    reason[missing], state[missing] = requires.reason, "not_applicable"
    if not requires.unanswerable:
        reason[~labels.answerable], state[~labels.answerable] = UNANSWERABLE, "not_applicable"
    known = case.retrieved.whole_index or not kind.reads_index
    if not known and kind.reads_index == "value":
        reason[:], state[:] = _PART_OF_INDEX, "not_applicable"
    attainable = scores.attainable if known and scores.attainable is not None else np.full(labels.queries, np.nan)
    return pd.DataFrame(
        {
            "query": np.arange(labels.queries),
            "value": np.where(state == "scored", scores.value, np.nan),
            "state": state,
            "reason": reason,
            "attainable": np.where(state == "not_applicable", np.nan, attainable),
        }
    )


class UnjudgedValues(NamedTuple):
    """Values (q) of a metric if the unjudged documents of the first k are irrelevant (`low`) or relevant (`high`). NaN if unscored."""

    low: Floats
    high: Floats


def unjudged_values(case: Case, metric: Metric) -> UnjudgedValues:
    """Compute a document metric twice, with the configuration's unjudged documents in the first k graded 0 and graded 1.

    They bound `success`, `precision` and `mrr`. Metrics that divide by the number of relevant documents (`recall`, `map`, `ndcg`) count
    this configuration's own unjudged documents there, not those that only others retrieved. Metrics of other units raise an error.
    """
    labels = case.labels
    if metric.family != "documents" or metric.k is None:
        raise InputError(f"{metric} is not over documents", "bounds exist for recall@5, precision@5, ndcg@10 and the like")
    query, doc = np.divmod(np.setdiff1d(first_documents(case, metric.cut), labels.judged_pairs), labels.documents)
    judged = replace(
        labels,
        qrel_query=np.concatenate([labels.qrel_query, query]),
        qrel_doc=np.concatenate([labels.qrel_doc, doc]),
        qrel_relevance=np.concatenate([labels.qrel_relevance, np.ones_like(doc)]),
    )
    cases = (case, Case(judged, case.retrieved, case.spans))
    low, high = (score(bound, metric)["value"].to_numpy(np.float64) for bound in cases)
    return UnjudgedValues(low, np.where(np.isnan(low), np.nan, high))
