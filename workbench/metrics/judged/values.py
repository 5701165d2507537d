"""Collect the values and the errors of judgements by question."""

from collections.abc import Sequence

import numpy as np

from workbench.judging.base import Judgement
from workbench.metrics.case import Reasons
from workbench.metrics.coverage import Floats

NOT_JUDGED = "not judged"
RAGAS = "Es et al. 2024, Ragas"


def scores_of(judgements: Sequence[Judgement]) -> list[float]:
    """Return the scores, NaN for a failed judgement."""
    return [np.nan if judgement.score is None else judgement.score for judgement in judgements]


def mean_of(judgements: Sequence[Judgement]) -> float:
    """Return the mean score, NaN without judgements or if one failed."""
    scores = scores_of(judgements)
    return float(np.mean(scores)) if scores else np.nan


def error_of(judgements: Sequence[Judgement], expected: int) -> str:
    """Return why there are not as many successful judgements as expected, or an empty text."""
    errors = (judgement.error or "the judge gave no score" for judgement in judgements if _failed(judgement))
    return next(errors, "" if len(judgements) >= expected else NOT_JUDGED)


def grouped(reasons: Sequence[str]) -> Reasons:
    """Return each reason with its questions (q), without the empty reason."""
    every = np.array(reasons, dtype=object)
    return tuple((reason, np.asarray(every == reason, dtype=np.bool_)) for reason in dict.fromkeys(reasons) if reason)


def floats(values: Sequence[float]) -> Floats:
    """Return values as an array."""
    return np.array(values, dtype=np.float64)


def _failed(judgement: Judgement) -> bool:
    return bool(judgement.error) or judgement.score is None
