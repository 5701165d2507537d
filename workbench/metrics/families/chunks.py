"""Metrics over the first k delivered chunks: overlap with evidence, and documents, counted as in most RAG test code."""

import numpy as np

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Floats, Ints, ratio, sharing_half, totals
from workbench.metrics.definition import ANSWERABLE, EITHER, RELEVANT, WORKBENCH, MetricDefinition
from workbench.metrics.delivery import delivered, delivered_documents, slices


def chunk_precision(case: Case, cut: Cut) -> MetricValues:
    """Relevant chunks among the first k delivered / k; at most min(k, all relevant chunks) / k.

    A chunk is relevant if it overlaps an evidence alternative by at least half of the shorter of the two or, for a query
    without any evidence, if it comes from a relevant document.
    """
    labels, table, text = case.labels, case.shared(slices), case.shared(delivered, cut)
    evident = case.shared(_evident)
    by_evidence = np.isin(text.query * len(table.starts) + text.piece, evident)
    by_document = np.isin(delivered_documents(case, cut), labels.relevant_pairs)
    relevant = np.where(labels.has_evidence[text.query], by_evidence, by_document)
    value = totals(text.query, relevant, labels.queries) / cut.depth
    return MetricValues(value, np.minimum(case.shared(_available), cut.depth) / cut.depth)


def _evident(case: Case, _: Cut) -> Ints:
    """The distinct keys query * slices + slice of all slices that overlap evidence by at least half of the shorter of the two."""
    labels, table = case.labels, case.shared(slices)
    alternative, piece = sharing_half(table.starts, table.ends, labels.alternative_start, labels.alternative_end)
    return np.unique(labels.alternative_query[alternative] * len(table.starts) + piece)


def _available(case: Case, _: Cut) -> Ints:
    labels, table = case.labels, case.shared(slices)
    by_evidence = np.bincount(case.shared(_evident) // max(len(table.starts), 1), minlength=labels.queries)
    query, doc = np.divmod(labels.relevant_pairs, labels.documents)
    by_document = totals(query, np.bincount(table.doc, minlength=labels.documents)[doc], labels.queries)
    return np.where(labels.has_evidence, by_evidence, by_document).astype(np.int64)


def hit_recall(case: Case, cut: Cut) -> MetricValues:
    """Relevant documents among those of the first k chunks / relevant documents; at most min(k, R) / R."""
    relevant = np.maximum(case.labels.relevant_counts, 1).astype(np.float64)
    return MetricValues(case.shared(_documents, cut)[0] / relevant, np.minimum(relevant, cut.depth) / relevant)


def hit_precision(case: Case, cut: Cut) -> MetricValues:
    """Relevant documents among those of the first k chunks / distinct documents of these chunks; 0 without results."""
    relevant, distinct = case.shared(_documents, cut)
    return MetricValues(ratio(relevant, distinct), np.ones(case.labels.queries))


def _documents(case: Case, cut: Cut) -> tuple[Floats, Floats]:
    """Count the relevant distinct documents and the distinct documents. Shape (queries,) each."""
    labels, pairs = case.labels, np.unique(delivered_documents(case, cut))
    query, good = pairs // labels.documents, np.isin(pairs, labels.relevant_pairs)
    return totals(query, good, labels.queries), totals(query, np.ones_like(query), labels.queries)


CHUNK_METRICS = (
    MetricDefinition(
        "hit_recall",
        hit_recall,
        "hits",
        "k",
        (ANSWERABLE, RELEVANT),
        "share of the relevant documents among those of the first k delivered chunks",
        "relevant documents of the first k chunks / R",
        "common in test code",
    ),
    MetricDefinition(
        "hit_precision",
        hit_precision,
        "hits",
        "k",
        (ANSWERABLE, RELEVANT),
        "share of the documents of the first k delivered chunks that are relevant",
        "relevant documents of the first k chunks / their distinct documents",
        "common in test code",
        suite_test="context precision",
    ),
    MetricDefinition(
        "chunk_precision",
        chunk_precision,
        "chunks",
        "k",
        (ANSWERABLE, EITHER),
        "share of the k delivered chunks that overlap evidence by at least half of the shorter of the two",
        "relevant chunks among the first k / k",
        WORKBENCH,
        reads_index="attainable",
        suite_test="context precision",
    ),
)
