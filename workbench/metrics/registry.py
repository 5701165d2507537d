"""All retrieval metrics: a new one is its function and one line here, or an entry point of another package."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.core.registry import Registry
from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Bools
from workbench.metrics.families.chunks import chunk_precision
from workbench.metrics.families.documents import average_precision, irrelevant, judged, mrr, ndcg, precision, recall, recall_cap, success
from workbench.metrics.families.hits import hit_precision, hit_recall
from workbench.metrics.families.margins import margin, margin_spread
from workbench.metrics.families.omega import span_precision_omega
from workbench.metrics.families.spans import complete, need_recall, span_iou, span_precision, span_recall
from workbench.metrics.inputs import Labels

Family = Literal["documents", "hits", "chunks", "spans", "other"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a query's labels must hold for a metric to apply to it: `met(labels)` (queries), and the reason given where it is not."""

    met: Callable[[Labels], Bools]
    reason: str
    unanswerable: bool = False


RELEVANT = Requirement(lambda labels: labels.relevant_counts > 0, "no relevant document")
EVIDENCE = Requirement(lambda labels: labels.has_evidence, "no evidence spans")
EITHER = Requirement(lambda labels: labels.has_evidence | (labels.relevant_counts > 0), "no relevant document")
NEGATIVE = Requirement(lambda labels: labels.has_negatives, "no known-irrelevant document", unanswerable=True)


@dataclass(frozen=True, slots=True)
class Kind:
    """One metric without its cut: `compute(case, cut)`, how it may be cut, whom it applies to, how its values are read.

    `version` is raised when `compute` begins to give other values: stored scores are kept under it.
    """

    compute: Callable[[Case, Cut], MetricValues]
    family: Family
    cut: Literal["k", "k or tokens", "none"]
    requires: Requirement
    higher_is_better: bool = True
    proportion: bool = True
    version: int = 1


_BUILTIN: dict[str, Kind] = {
    "recall": Kind(recall, "documents", "k", RELEVANT),
    "precision": Kind(precision, "documents", "k", RELEVANT),
    "success": Kind(success, "documents", "k", RELEVANT),
    "mrr": Kind(mrr, "documents", "k", RELEVANT),
    "ndcg": Kind(ndcg, "documents", "k", RELEVANT),
    "map": Kind(average_precision, "documents", "k", RELEVANT),
    "recall_cap": Kind(recall_cap, "documents", "k", RELEVANT),
    "judged": Kind(judged, "documents", "k", RELEVANT),
    "irrelevant": Kind(irrelevant, "documents", "k", NEGATIVE, higher_is_better=False),
    "hit_recall": Kind(hit_recall, "hits", "k", RELEVANT),
    "hit_precision": Kind(hit_precision, "hits", "k", RELEVANT),
    "chunk_precision": Kind(chunk_precision, "chunks", "k", EITHER),
    "span_recall": Kind(span_recall, "spans", "k or tokens", EVIDENCE),
    "span_precision": Kind(span_precision, "spans", "k or tokens", EVIDENCE),
    "span_iou": Kind(span_iou, "spans", "k or tokens", EVIDENCE),
    "need_recall": Kind(need_recall, "spans", "k or tokens", EVIDENCE),
    "complete": Kind(complete, "spans", "k or tokens", EVIDENCE),
    "span_precision_omega": Kind(span_precision_omega, "spans", "none", EVIDENCE),
    "margin": Kind(margin, "other", "none", RELEVANT, proportion=False),
    "margin_spread": Kind(margin_spread, "other", "none", RELEVANT, proportion=False),
}
KINDS: Mapping[str, Kind] = Registry(_BUILTIN, "workbench.metrics", Kind)
