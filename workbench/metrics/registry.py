"""All retrieval metrics. To add one, write its function and a line here, or an entry point of another package."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from workbench.core.registry import Registry
from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Bools
from workbench.metrics.families.chunks import chunk_precision, hit_precision, hit_recall
from workbench.metrics.families.documents import average_precision, irrelevant, judged, mrr, ndcg, precision, recall, recall_cap, success
from workbench.metrics.families.margins import margin, margin_spread
from workbench.metrics.families.spans import complete, need_recall, span_iou, span_precision, span_precision_omega, span_recall
from workbench.metrics.inputs import Labels

Family = Literal["documents", "hits", "chunks", "spans", "other"]


@dataclass(frozen=True, slots=True)
class Requirement:
    """The labels that a metric requires of a query: `met(labels)` (queries), and the reason for queries that do not meet it."""

    met: Callable[[Labels], Bools]
    reason: str
    unanswerable: bool = False


RELEVANT = Requirement(lambda labels: labels.relevant_counts > 0, "no relevant document")
EVIDENCE = Requirement(lambda labels: labels.has_evidence, "no evidence spans")
EITHER = Requirement(lambda labels: labels.has_evidence | (labels.relevant_counts > 0), "no relevant document")
NEGATIVE = Requirement(lambda labels: labels.has_negatives, "no known-irrelevant document", unanswerable=True)


@dataclass(frozen=True, slots=True)
class Kind:
    """A metric without a cut: `compute(case, cut)`, the allowed cuts, the applicable queries, and how to read its values.

    Raise `version` when `compute` returns different values, because it is part of the key of stored scores. `definition` is the metric in a
    sentence, `formula` its value for one question in the symbols of docs/reference/metrics.md, `source` its origin. `reads_index`: whether its
    value, or only its attainable maximum, depends on chunks that were not retrieved, which are not known of a target.
    """

    compute: Callable[[Case, Cut], MetricValues]
    family: Family
    cut: Literal["k", "k or tokens", "none"]
    requires: Requirement
    definition: str = "defined by the package that provides it"
    formula: str = "–"
    source: str = "–"
    higher_is_better: bool = True
    proportion: bool = True
    version: int = 1
    reads_index: Literal["", "value", "attainable"] = ""


_TREC = "trec_eval, over distinct documents, each ranked by its best chunk; relevant is a grade of 1 or more"
_GAIN = f"{_TREC}; Järvelin and Kekäläinen 2002"
_SMITH = "Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval"
_TEST_CODE = "common in test code"
_HERE = "Workbench"
_BUILTIN: dict[str, Kind] = {
    "recall": Kind(recall, "documents", "k", RELEVANT, "share of the relevant documents among the first k documents", "found / R", _TREC),
    "precision": Kind(precision, "documents", "k", RELEVANT, "share of the first k documents that are relevant", "found / k", _TREC),
    "success": Kind(
        success, "documents", "k", RELEVANT, "1 if a relevant document is among the first k: the hit rate", "1 if found > 0, else 0", _TREC
    ),
    "mrr": Kind(
        mrr,
        "documents",
        "k",
        RELEVANT,
        "1 / rank of the first relevant document among the first k, else 0",
        "1 / min {i ≤ k : document i is relevant}, else 0",
        _TREC,
    ),
    "ndcg": Kind(
        ndcg,
        "documents",
        "k",
        RELEVANT,
        "discounted gain of the first k documents, divided by the largest possible",
        "DCG / largest DCG, where DCG = Σ grade(i) / log2(i + 1) over the ranks i ≤ k",
        _GAIN,
    ),
    "map": Kind(
        average_precision,
        "documents",
        "k",
        RELEVANT,
        "mean of the precision at each relevant document's rank among the first k",
        "Σ precision@i / R over the ranks i ≤ k of relevant documents",
        _TREC,
    ),
    "recall_cap": Kind(
        recall_cap,
        "documents",
        "k",
        RELEVANT,
        "relevant documents among the first k, divided by the largest possible number",
        "found / min(k, R)",
        _HERE,
    ),
    "judged": Kind(
        judged,
        "documents",
        "k",
        RELEVANT,
        "share of the first k documents that have any judgement",
        "judged documents / documents, among the first k",
        _HERE,
        version=2,
    ),
    "irrelevant": Kind(
        irrelevant,
        "documents",
        "k",
        NEGATIVE,
        "1 if a known-irrelevant document is among the first k; lower is better",
        "1 if a hard negative is among the first k, else 0",
        _HERE,
        higher_is_better=False,
    ),
    "hit_recall": Kind(
        hit_recall,
        "hits",
        "k",
        RELEVANT,
        "share of the relevant documents among those of the first k delivered chunks",
        "relevant documents of the first k chunks / R",
        _TEST_CODE,
    ),
    "hit_precision": Kind(
        hit_precision,
        "hits",
        "k",
        RELEVANT,
        "share of the documents of the first k delivered chunks that are relevant",
        "relevant documents of the first k chunks / their distinct documents",
        _TEST_CODE,
    ),
    "chunk_precision": Kind(
        chunk_precision,
        "chunks",
        "k",
        EITHER,
        "share of the k delivered chunks that overlap evidence by at least half of the shorter of the two",
        "relevant chunks among the first k / k",
        _HERE,
        reads_index="attainable",
    ),
    "span_recall": Kind(
        span_recall, "spans", "k or tokens", EVIDENCE, "share of the evidence's characters that were delivered", "|D ∩ E| / |E|", _SMITH
    ),
    "span_precision": Kind(
        span_precision, "spans", "k or tokens", EVIDENCE, "share of the delivered characters that are evidence", "|D ∩ A| / |D|", _SMITH
    ),
    "span_iou": Kind(
        span_iou,
        "spans",
        "k or tokens",
        EVIDENCE,
        "share of delivered evidence in all text that was delivered or should have been",
        "|D ∩ A| / (|D| + |E ∖ D|)",
        _SMITH,
    ),
    "need_recall": Kind(
        need_recall,
        "spans",
        "k or tokens",
        EVIDENCE,
        "share of the pieces of evidence that were delivered whole",
        "pieces of evidence with an alternative inside D / pieces of evidence",
        _HERE,
    ),
    "complete": Kind(
        complete,
        "spans",
        "k or tokens",
        EVIDENCE,
        "1 if every piece of evidence was delivered whole",
        "1 if need_recall = 1, else 0",
        _HERE,
    ),
    "span_precision_omega": Kind(
        span_precision_omega,
        "spans",
        "none",
        EVIDENCE,
        "span precision if retrieval were perfect",
        "|T ∩ A| / |T|",
        _SMITH,
        reads_index="value",
    ),
    "margin": Kind(
        margin,
        "other",
        "none",
        RELEVANT,
        "score of the best relevant document minus that of the best other one",
        "max s(relevant) − max s(other)",
        _HERE,
        proportion=False,
        version=2,
    ),
    "margin_spread": Kind(
        margin_spread,
        "other",
        "none",
        RELEVANT,
        "the margin in standard deviations of the question's scores",
        "margin / σ",
        _HERE,
        proportion=False,
        version=2,
    ),
}
KINDS: Registry[Kind] = Registry(_BUILTIN, "workbench.metrics", Kind)
