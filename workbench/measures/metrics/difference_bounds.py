"""Bound the difference of two configurations on a question over all ways to label its unjudged documents.

The unjudged documents are those among the first k of either configuration. Each is relevant with grade 1 or not, and it has one label,
whichever configurations found it. The two therefore cannot be bounded one by one: a document that both found changes both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.measures.metrics.coverage import Floats, Ints

# The rank of a document in a ranking that lacks it.
_NOT_FOUND = 0


@dataclass(frozen=True)
class JudgedPair:
    """The documents that either of two configurations has among its first k for a question, and what is known about them.

    `first` and `second` (documents) are the ranks in the two, 0 where one did not find it; `grades` (documents) are at least 0, and -1
    without a judgement. `relevant` are the grades of all relevant documents of the question, descending.
    """

    k: int
    first: Ints
    second: Ints
    grades: Ints
    relevant: Ints

    @classmethod
    def of(cls, k: int, first: Sequence[str], second: Sequence[str], grades: Mapping[str, int]) -> "JudgedPair":
        """Pair two rankings of document ids. A negative grade is a judgement that the document is not relevant."""
        ranks = [{doc_id: rank for rank, doc_id in enumerate(ranked[:k], 1)} for ranked in (first, second)]
        pool = sorted(ranks[0].keys() | ranks[1].keys())
        own, other = (np.array([ranked.get(doc_id, _NOT_FOUND) for doc_id in pool], dtype=np.int64) for ranked in ranks)
        known = np.array([max(grades[doc_id], 0) if doc_id in grades else -1 for doc_id in pool], dtype=np.int64)
        relevant = np.array(sorted((grade for grade in grades.values() if grade > 0), reverse=True), dtype=np.int64)
        return cls(k, own, other, known, relevant)

    @property
    def reversed(self) -> "JudgedPair":
        """The pair of the second with the first."""
        return JudgedPair(self.k, self.second, self.first, self.grades, self.relevant)


LargestDifference = Callable[[JudgedPair], float]


def difference_bounds(largest: LargestDifference, pair: JudgedPair) -> tuple[float, float]:
    """Return the least and the largest difference, first minus second. Both are 0 if no label gives the question a value."""
    return 0.0 - largest(pair.reversed), 0.0 + largest(pair)


def largest_of_sums(
    weight: Callable[[Ints], Floats], divisor: Callable[[JudgedPair, int], float], pair: JudgedPair, graded: bool = False
) -> float:
    """The largest difference of a metric that is a sum over relevant documents, divided by what their number alone decides.

    For each number of newly relevant documents, the best ones are those that add most to the first and least to the second.
    """
    gains = weight(pair.first) - weight(pair.second)
    known = float((gains * (pair.grades if graded else 1))[pair.grades > 0].sum())
    added = np.concatenate([[0.0], np.cumsum(np.sort(gains[pair.grades < 0])[::-1])])
    return max(
        ((known + float(gain)) / divisor(pair, number) for number, gain in enumerate(added) if len(pair.relevant) + number), default=0.0
    )


def largest_of_best(weight: Callable[[Ints], Floats], pair: JudgedPair) -> float:
    """The largest difference of a metric that only reads the best relevant document. One more relevant document reaches it."""
    first, second = weight(pair.first), weight(pair.second)
    relevant, unknown = pair.grades > 0, pair.grades < 0
    own, other = first[relevant].max(initial=0), second[relevant].max(initial=0)
    candidates = (np.maximum(own, first[unknown]) - np.maximum(other, second[unknown])).tolist()
    return max(candidates + ([float(own - other)] if len(pair.relevant) else []), default=0.0)


def largest_of_precisions(pair: JudgedPair) -> float:
    """A bound, which can be wider than any labels reach, of the largest difference of average precision: as many relevant documents in both, first in one and last in the other."""
    unknown = pair.grades < 0
    if (pair.first == pair.second).all():
        return 0.0
    only_first = int((unknown & (pair.second == _NOT_FOUND)).sum())
    numbers = range(0 if len(pair.relevant) else 1, int(unknown.sum()) + 1)
    differences = (
        (_precisions(pair, pair.first, number, 1) - _precisions(pair, pair.second, number - only_first, -1)) / (len(pair.relevant) + number)
        for number in numbers
    )
    return max(differences, default=0.0)


def _precisions(pair: JudgedPair, ranks: Ints, added: int, step: int) -> float:
    """The sum of the precisions at relevant documents if unjudged ones are relevant: the first `added` with `step` 1, the last with -1."""
    unknown = np.sort(ranks[(pair.grades < 0) & (ranks != _NOT_FOUND)])[::step][: max(added, 0)]
    places = np.sort(np.concatenate([ranks[(pair.grades > 0) & (ranks != _NOT_FOUND)], unknown]))
    return float((np.arange(1, len(places) + 1) / places).sum())


def ideal(pair: JudgedPair, number: int) -> float:
    """The largest DCG at k if this number of unjudged documents is relevant."""
    grades = np.concatenate([pair.relevant, np.ones(number, dtype=np.int64)])[: pair.k]
    return float((grades / np.log2(np.arange(len(grades)) + 2)).sum())


def found(ranks: Ints) -> Floats:
    """1 for a document that was found, else 0."""
    return np.asarray((ranks != _NOT_FOUND), dtype=np.float64)


def reciprocal(ranks: Ints) -> Floats:
    """1 / rank, 0 for a document that was not found."""
    return found(ranks) / np.fmax(ranks, 1.0)


def discount(ranks: Ints) -> Floats:
    """1 / log2(rank + 1), 0 for a document that was not found."""
    discounts: Floats = np.log2(np.fmax(ranks, 1.0) + 1)
    return found(ranks) / discounts


def after_labelling(pair: JudgedPair, number: int) -> float:
    """R if this number of unjudged documents is relevant."""
    return len(pair.relevant) + number


def retrievable(pair: JudgedPair, number: int) -> float:
    """min(k, R) if this number of unjudged documents is relevant."""
    return min(pair.k, len(pair.relevant) + number)


def depth(pair: JudgedPair, _: int) -> float:
    """k, whatever is relevant."""
    return pair.k
