"""Span precision under perfect retrieval: the cost of a chunking before any retriever errs."""

import numpy as np

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Bools, Ints, Union, meeting, ratio
from workbench.metrics.delivery import Slices, slices


def span_precision_omega(case: Case, _: Cut) -> MetricValues:
    """|T ∩ A| / |T|, T the text that perfect retrieval delivers, A the union of all evidence alternatives.

    Exact (ours): for each need, every delivered slice that shares a character with the alternative that needs the least
    delivered text (the first of equals). Chroma (its report's precision Ω): T is the union of the slices that touch any evidence,
    a shared border included, and the denominator |T ∪ A|.
    """
    labels, table = case.labels, case.shared(slices)
    touching = case.spans == "chroma"
    alternative, piece = meeting(table.starts, table.ends, labels.alternative_start, labels.alternative_end, touching=touching)
    if not touching:
        kept = _least(case, table, alternative, piece)[alternative]
        alternative, piece = alternative[kept], piece[kept]
    width, queries = labels.width, labels.queries
    origin = labels.alternative_query * width
    text = Union.of(origin[alternative] + table.starts[piece], origin[alternative] + table.ends[piece])
    evidence = Union.of(*labels.evidence)
    found, whole = text.shared_by_group(evidence, width, queries), text.by_group(width, queries)
    if touching:
        whole = whole + evidence.by_group(width, queries) - found
    return MetricValues(ratio(found, whole), np.ones(queries))


def _least(case: Case, table: Slices, alternative: Ints, piece: Ints) -> Bools:
    """(alternatives) whether each is its need's cheapest, in characters of delivered text."""
    labels = case.labels
    count, width = len(labels.alternative_need), labels.width
    text = Union.of(alternative * width + table.starts[piece], alternative * width + table.ends[piece])
    # An alternative in no slice cannot be delivered, so it is no cheap way to meet the need.
    cost = np.where(np.bincount(alternative, minlength=count) > 0, text.by_group(width, count), np.inf)
    order = np.lexsort((cost, labels.alternative_need))
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[order[np.unique(labels.alternative_need[order], return_index=True)[1]]] = True
    return chosen
