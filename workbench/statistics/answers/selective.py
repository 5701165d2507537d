"""Risk against coverage of a system that answers only if it is confident enough."""

from dataclasses import dataclass

import numpy as np

from workbench.metrics.coverage import Floats


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """The risk at each coverage: arrays (t) over the distinct confidences, highest first.

    At `threshold` and above, the share `coverage` of the `n` questions is answered, and `risk` is the mean loss, 1 - score, of these answers.
    `area` is the mean risk over the answered coverages (AURC; Geifman and El-Yaniv 2017), `best_area` that of a confidence that orders the same
    answers perfectly, and `random_area` that of one that knows nothing, which is the risk of all answers.
    """

    threshold: Floats
    coverage: Floats
    risk: Floats
    area: float
    best_area: float
    random_area: float
    n: int


def risk_coverage(confidence: Floats, scores: Floats, n: int) -> RiskCoverage | None:
    """Compute the curve from the confidence (a) and the score between 0 and 1 (a) of each answer given to `n` questions. None without an answer.

    Answers with the same confidence are added together, and the area takes their mean order. Questions without an answer lower the coverage only.
    """
    if not len(scores):
        return None
    order = np.argsort(-confidence, kind="stable")
    ranked, loss = confidence[order], 1 - scores[order]
    last = np.flatnonzero(np.append(np.diff(ranked) != 0, True))
    answered, lost = last + 1, np.cumsum(loss)[last]
    # Within ties every order is as likely, so that each of them has the mean loss.
    sizes = np.diff(answered, prepend=0)
    expected = np.repeat(np.diff(lost, prepend=0.0) / sizes, sizes)
    return RiskCoverage(ranked[last], answered / n, lost / answered, _area(expected), _area(np.sort(loss)), float(loss.mean()), n)


def _area(loss: Floats) -> float:
    """The mean over all prefixes of their mean loss."""
    return float((np.cumsum(loss) / np.arange(1, len(loss) + 1)).mean())
