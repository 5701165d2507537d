"""How well a score tells answerable queries from unanswerable ones."""

import numpy as np
import numpy.typing as npt
from scipy import stats


def answerable_auroc(top_scores: npt.ArrayLike, answerable: npt.ArrayLike) -> float | None:
    """P(top score of an answerable query > that of an unanswerable one), ties counted half; None unless both kinds exist.

    `top_scores` (q) are the scores of each query's first hit, -inf for no results, which thus looks unanswerable; `answerable` (q) is
    bool. It is Mann-Whitney's U / (answerable · unanswerable).
    """
    scores, wanted = np.asarray(top_scores, dtype=np.float64), np.asarray(answerable, dtype=np.bool_)
    good = int(wanted.sum())
    bad = len(wanted) - good
    if not good or not bad:
        return None
    above = stats.rankdata(scores)[wanted].sum() - good * (good + 1) / 2
    return float(above / (good * bad))
