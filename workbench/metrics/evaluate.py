"""All metrics of one configuration, query by query."""

from collections.abc import Sequence
from typing import get_args

import numpy as np
import pandas as pd

from workbench.errors import InputError
from workbench.metrics.case import Case, SpanDefinition
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import Metric

UNANSWERABLE = "unanswerable"


def evaluate(labels: Labels, retrieved: Retrieved, metrics: Sequence[Metric], spans: SpanDefinition = "exact") -> pd.DataFrame:
    """A row for each metric and query: `query, metric, value, state, reason, attainable`, metrics in the order given.

    `state` is `scored`, `unscored` or `not_applicable`, with its `reason`; `value` is NaN unless scored. `attainable` is the largest
    value possible for the query, NaN if there is no maximum. Queries without results score 0. `spans` chooses the definition of span metrics.
    """
    if spans not in get_args(SpanDefinition):
        raise InputError(f"there is no definition {spans!r} of span metrics", f"choose {' or '.join(get_args(SpanDefinition))}")
    case = Case(labels, retrieved, spans, document_depths(metrics))
    tables = [score(case, metric) for metric in dict.fromkeys(metrics)]
    columns = ["query", "metric", "value", "state", "reason", "attainable"]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)


def document_depths(metrics: Sequence[Metric]) -> frozenset[int]:
    """The k of the metrics over documents: one run of trec_eval serves them all."""
    return frozenset(metric.k for metric in metrics if metric.family == "documents" and metric.k is not None)


def score(case: Case, metric: Metric) -> pd.DataFrame:
    """One metric's rows, as `evaluate` has them."""
    labels, requires = case.labels, metric.kind.requires
    scores = metric.kind.compute(case, metric.cut)
    reason = np.full(labels.queries, "", dtype=object)
    state = np.full(labels.queries, "scored", dtype=object)
    for why, queries in reversed(scores.unscored):
        reason[queries], state[queries] = why, "unscored"
    missing = ~requires.met(labels)
    reason[missing], state[missing] = requires.reason, "not_applicable"
    if not requires.unanswerable:
        reason[~labels.answerable], state[~labels.answerable] = UNANSWERABLE, "not_applicable"
    attainable = np.full(labels.queries, np.nan) if scores.attainable is None else scores.attainable
    return pd.DataFrame(
        {
            "query": np.arange(labels.queries),
            "metric": str(metric),
            "value": np.where(state == "scored", scores.value, np.nan),
            "state": state,
            "reason": reason,
            "attainable": np.where(state == "not_applicable", np.nan, attainable),
        }
    )
