"""All metrics of one configuration for each query, and bounds of document metrics over unjudged documents."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.core.errors import InputError
from workbench.measures.metrics.case import Case, Cut, SpanDefinition
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.metrics.definition import MetricDefinition
from workbench.measures.metrics.documents import first_documents
from workbench.measures.metrics.inputs import Labels, Retrieved
from workbench.measures.metrics.names import Metric

_PART_OF_INDEX = "not all chunks of the index are known"


def evaluate(labels: Labels, retrieved: Retrieved, metrics: Sequence[Metric], spans: SpanDefinition = "exact") -> pd.DataFrame:
    """Tabulate each metric of rankings and query, metrics in the given order: `query, metric, value, state, reason, attainable`.

    `state` is `scored`, `unscored` or `not_applicable`, with its `reason`; `value` is NaN unless scored. `attainable` is the largest
    value possible for the query, NaN without a maximum. Queries without results score 0. `spans` selects the definition of span metrics.
    """
    if spans not in get_args(SpanDefinition):
        raise InputError(f"unknown definition {spans!r} of span metrics", f"choose {' or '.join(get_args(SpanDefinition))}")
    for metric in metrics:
        metric.require_ranking()
    case = Case(labels, retrieved, spans, document_depths(metrics))
    tables = [score(case, metric) for metric in dict.fromkeys(metrics)]
    columns = ["query", "metric", "value", "state", "reason", "attainable"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def document_depths(metrics: Sequence[Metric]) -> frozenset[int]:
    """The k of the metrics over documents, for a single run of trec_eval."""
    return frozenset(metric.k for metric in metrics if metric.family == "documents" and metric.k is not None)


def score(case: Case, metric: Metric) -> pd.DataFrame:
    """One metric's rows of `evaluate`."""
    table = values_of(case, metric.definition, metric.cut)
    table.insert(1, "metric", str(metric))
    return table


def values_of(case: Case, definition: MetricDefinition, cut: Cut) -> pd.DataFrame:
    """Tabulate a metric at a cut for each query: `query, value, state, reason, attainable`.

    A query to which the condition or the metric does not apply is `not_applicable`, one whose answer failed is `unscored`. Of several
    reasons the first counts: the condition's, the metric's requirements in order, the failed answer, those that the metric returns.
    """
    scores, states = definition.compute(case, cut), _States(len(case))
    # In reverse, so that the first reason remains.
    for why, queries in reversed(scores.unscored):
        states.put(queries, "unscored", why)
    for why, queries in reversed(scores.not_applicable):
        states.put(queries, "not_applicable", why)
    failed = states.put_each("unscored", case.answers.errors) if "answer" in definition.reads else case.each(False)
    for requirement in reversed(definition.requires):
        outside = ~requirement.met(case)
        if requirement.of_context and failed.any():
            # Of a request that failed, nobody knows the context.
            outside &= ~failed | case.contexts.known
        if outside.any():
            states.put(outside, "not_applicable", requirement.detailed(case) if requirement.detailed else requirement.reason)
    if definition.of_answers:
        states.put_each("not_applicable", case.contexts.reasons)
    known = not definition.reads_index or case.retrieved.whole_index
    if not known and definition.reads_index == "value":
        states.put(case.each(True), "not_applicable", _PART_OF_INDEX)
    attainable = scores.attainable if known and scores.attainable is not None else np.full(len(case), np.nan)
    return pd.DataFrame(
        {
            "query": np.arange(len(case)),
            "value": np.where(states.state == "scored", scores.value, np.nan),
            "state": states.state,
            "reason": states.reason,
            "attainable": np.where(states.state == "not_applicable", np.nan, attainable),
        }
    )


class _States:
    """The state and the reason of each query. A later reason replaces an earlier one."""

    def __init__(self, queries: int) -> None:
        self.state: npt.NDArray[np.object_] = np.full(queries, "scored", dtype=object)
        self.reason: npt.NDArray[np.object_] = np.full(queries, "", dtype=object)

    def put(self, queries: Bools, state: str, reason: str) -> None:
        self.state[queries], self.reason[queries] = state, reason

    def put_each(self, state: str, reasons: Sequence[str]) -> Bools:
        """Put the reasons that are not empty, and return their queries (q)."""
        chosen = np.array([bool(reason) for reason in reasons], dtype=np.bool_)
        self.state[chosen], self.reason[chosen] = state, np.array(reasons, dtype=object)[chosen]
        return chosen


def unjudged_values(case: Case, metric: Metric) -> tuple[Floats, Floats]:
    """Compute a document metric twice (q), with the configuration's unjudged documents in the first k graded 0 and graded 1. NaN if unscored.

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
    return low, np.where(np.isnan(low), np.nan, high)
