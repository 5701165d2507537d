"""Metrics over the documents of the first k delivered chunks, which most RAG test code calls recall and precision."""

import numpy as np

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Floats, ratio, totals
from workbench.metrics.delivery import delivered_documents


def hit_recall(case: Case, cut: Cut) -> MetricValues:
    """Relevant documents among those of the first k chunks / relevant documents; at most min(k, R) / R."""
    relevant = np.maximum(case.labels.relevant_counts, 1).astype(np.float64)
    return MetricValues(case.shared(_documents, cut)[0] / relevant, np.minimum(relevant, cut.depth) / relevant)


def hit_precision(case: Case, cut: Cut) -> MetricValues:
    """Relevant documents among those of the first k chunks / distinct documents of these chunks; 0 without results."""
    found, distinct = case.shared(_documents, cut)
    return MetricValues(ratio(found, distinct), np.ones(case.labels.queries))


def _documents(case: Case, cut: Cut) -> tuple[Floats, Floats]:
    """(queries) each: relevant distinct documents, distinct documents."""
    labels, pairs = case.labels, np.unique(delivered_documents(case, cut))
    query, good = pairs // labels.documents, np.isin(pairs, labels.relevant_pairs)
    return totals(query, good, labels.queries), totals(query, np.ones_like(query), labels.queries)
