"""What each metric is and where its definition comes from, in words."""

from typing import NamedTuple

_TREC = "trec_eval, over distinct documents, each ranked by its best chunk; relevant is a grade of 1 or more"
_SMITH = "Smith and Troynikov 2024, Evaluating Chunking Strategies for Retrieval"


class Definition(NamedTuple):
    """A metric in a sentence, and its source."""

    text: str
    source: str


_DEFINITIONS: dict[str, Definition] = {
    "recall": Definition("share of the relevant documents among the first k documents", _TREC),
    "precision": Definition("share of the first k documents that are relevant", _TREC),
    "success": Definition("1 where a relevant document is among the first k: the hit rate", _TREC),
    "mrr": Definition("1 / rank of the first relevant document among the first k, else 0", _TREC),
    "ndcg": Definition(
        "discounted gain of the first k documents, divided by the largest possible", f"{_TREC}; Järvelin and Kekäläinen 2002"
    ),
    "map": Definition("mean of the precision at each relevant document's rank among the first k", _TREC),
    "recall_cap": Definition("relevant documents found among the first k, of min(k, relevant)", "here"),
    "judged": Definition("share of the first k documents that have any judgement", "here"),
    "irrelevant": Definition("1 where a known-irrelevant document is among the first k; lower is better", "here"),
    "hit_recall": Definition("share of the relevant documents among those of the first k delivered chunks", "what most test code computes"),
    "hit_precision": Definition("share of the documents of the first k delivered chunks that are relevant", "what most test code computes"),
    "chunk_precision": Definition(
        "share of the k delivered chunks that overlap evidence by at least half of the shorter of the two", "here"
    ),
    "span_recall": Definition("share of the evidence's characters that were delivered", _SMITH),
    "span_precision": Definition("share of the delivered characters that are evidence", _SMITH),
    "span_iou": Definition("evidence that was delivered, of all that was delivered or should have been", _SMITH),
    "need_recall": Definition("share of the pieces of evidence that were delivered whole", "here"),
    "complete": Definition("1 where every piece of evidence was delivered whole", "here"),
    "span_precision_omega": Definition("span precision if retrieval were perfect", _SMITH),
    "margin": Definition("score of the best relevant document minus that of the best other one", "here"),
    "margin_spread": Definition("the margin in standard deviations of the question's scores", "here"),
}
_ELSEWHERE = Definition("defined by the package that brings it", "–")


def definition_of(name: str) -> Definition:
    """The definition of a metric, by its name without the cut."""
    return _DEFINITIONS.get(name, _ELSEWHERE)
