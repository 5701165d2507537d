"""Document metrics as their papers define them, one question at a time, to test those of Workbench, which trec_eval's code computes.

A ranking is a list of distinct documents, the best first. `grades` are the judgements of the question: a document is relevant from grade 1, and R
is the number of relevant documents, at least 1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from hashlib import blake2b

import numpy as np

Ranking = Sequence[str]
Grades = Mapping[str, int]

_SEED = (20_260_101).to_bytes(8, "little")


def tie_breaker(identity: str) -> bytes:
    """The hash by which equal scores are ordered: 64 bits of BLAKE2b of the id, keyed by the seed."""
    return blake2b(identity.encode(), digest_size=8, key=_SEED).digest()


def ranked(hits: Iterable[tuple[str, float]]) -> list[str]:
    """Rank distinct documents by the score of their best chunk. `hits` have the document and the score of each chunk, in any order."""
    best: dict[str, float] = {}
    for doc, score in hits:
        best[doc] = max(score, best.get(doc, score))
    return sorted(best, key=lambda doc: (-best[doc], tie_breaker(doc)))


def relevant(documents: Iterable[str], grades: Grades) -> np.ndarray:
    """Whether each document is relevant. Shape (documents,)."""
    return np.array([grades.get(doc, 0) >= 1 for doc in documents], dtype=bool)


def recall(ranking: Ranking, grades: Grades, k: int) -> float:
    """found / R for `found` relevant documents among the first k (Manning, Raghavan and Schütze 2008, section 8.3)."""
    return relevant(ranking[:k], grades).sum() / relevant(grades, grades).sum()


def precision(ranking: Ranking, grades: Grades, k: int) -> float:
    """found / k, also for fewer than k documents (Manning, Raghavan and Schütze 2008, section 8.4)."""
    return relevant(ranking[:k], grades).sum() / k


def success(ranking: Ranking, grades: Grades, k: int) -> float:
    """1 if found > 0, else 0 (success@k of Craswell and Hawking 2004, Overview of the TREC 2004 Web Track)."""
    return float(relevant(ranking[:k], grades).any())


def reciprocal_rank(ranking: Ranking, grades: Grades, k: int) -> float:
    """1 / the rank of the first relevant document, 0 without one among the first k (Voorhees 1999, The TREC-8 Question Answering Track Report)."""
    ranks = np.flatnonzero(relevant(ranking[:k], grades)) + 1
    return 1 / ranks[0] if len(ranks) else 0.0


def ndcg(ranking: Ranking, grades: Grades, k: int) -> float:
    """DCG / DCG of the ideal order, DCG = Σ grade / log2(rank + 1) over the first k ranks, where a grade below 0 gains nothing.

    Järvelin and Kekäläinen 2002, Cumulated gain-based evaluation of IR techniques, with linear gains; the discount is that of Burges et al. 2005, Learning to rank.
    """

    def dcg(gains: Sequence[int]) -> float:
        first = np.maximum(gains[:k], 0)
        return float((first / np.log2(np.arange(len(first)) + 2)).sum())

    return dcg([grades.get(doc, 0) for doc in ranking]) / dcg(sorted(grades.values(), reverse=True))


def average_precision(ranking: Ranking, grades: Grades, k: int) -> float:
    """Σ precision@i / R over the ranks i ≤ k of relevant documents (Manning, Raghavan and Schütze 2008, section 8.4)."""
    ranks = np.flatnonzero(relevant(ranking[:k], grades)) + 1
    return sum(precision(ranking, grades, rank) for rank in ranks.tolist()) / relevant(grades, grades).sum()


def recall_cap(ranking: Ranking, grades: Grades, k: int) -> float:
    """found / min(k, R) (the capped recall of Thakur et al. 2021, BEIR)."""
    return relevant(ranking[:k], grades).sum() / min(k, relevant(grades, grades).sum())


def judged(ranking: Ranking, grades: Grades, k: int) -> float:
    """The share of the first k documents, or of all if there are fewer, that have a grade; 0 without results (docs/reference/metrics.md)."""
    return float(np.mean([doc in grades for doc in ranking[:k]] or [False]))


def hard_negatives(dataset: Iterable[Grades]) -> list[set[str]]:
    """The documents of each question with a grade below 0 or, in a dataset without such grades, of 0 (docs/reference/metrics.md)."""
    questions = list(dataset)
    limit = 0 if any(grade < 0 for grades in questions for grade in grades.values()) else 1
    return [{doc for doc, grade in grades.items() if grade < limit} for grades in questions]


def irrelevant(ranking: Ranking, negatives: Set[str], k: int) -> float:
    """1 if a hard negative is among the first k, else 0."""
    return float(any(doc in negatives for doc in ranking[:k]))


FORMULAS: dict[str, Callable[[Ranking, Grades, int], float]] = {
    "recall": recall,
    "precision": precision,
    "success": success,
    "mrr": reciprocal_rank,
    "ndcg": ndcg,
    "map": average_precision,
    "recall_cap": recall_cap,
    "judged": judged,
}
