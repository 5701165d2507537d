"""Separation of the best relevant document from the best other one, and of answerable from unanswerable queries, by scores."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.definition import ANSWERABLE, RELEVANT, WORKBENCH, MetricDefinition

NO_RELEVANT = "no relevant document within the ranking's depth"
NO_OTHER = "no other document within the ranking's depth"
NO_SPREAD = "the query's scores do not vary"


def margin(case: Case, _: Cut) -> MetricValues:
    """Score of the best relevant document minus that of the best other one, in the retriever's units.

    Documents that are unjudged, or outside the dataset, are other ones.
    """
    ranking, labels = case.retrieved.ranking, case.labels
    keys = ranking["query"].to_numpy(np.int64) * labels.documents + ranking["doc"].to_numpy(np.int64)
    good = np.isin(keys, labels.relevant_pairs)
    others = pd.concat([ranking[~good], case.retrieved.outside]).sort_values(["query", "rank"])
    first = (rows.drop_duplicates("query").set_index("query")["score"] for rows in (ranking[good], others))
    best, other = (scores.reindex(range(labels.queries)).to_numpy(np.float64) for scores in first)
    return MetricValues(best - other, unscored=((NO_RELEVANT, np.isnan(best)), (NO_OTHER, np.isnan(other))))


def margin_spread(case: Case, cut: Cut) -> MetricValues:
    """margin / standard deviation of the query's scores over the searched chunks, which is comparable across embedders."""
    raw, spread = margin(case, cut), np.asarray(case.retrieved.spread, dtype=np.float64)
    varies = spread > 0
    value = np.divide(raw.value, spread, out=np.zeros(len(spread)), where=varies)
    return MetricValues(value, unscored=(*raw.unscored, (NO_SPREAD, ~varies)))


def answerable_auroc(top_scores: npt.ArrayLike, answerable: npt.ArrayLike) -> float | None:
    """P(top score of an answerable query > that of an unanswerable one), where a tie counts as one half. None unless both kinds exist.

    `top_scores` (q) are the scores of each query's first hit, -inf without results, so that it looks unanswerable. `answerable` (q) is
    bool. The result is Mann-Whitney's U / (answerable · unanswerable).
    """
    scores, wanted = np.asarray(top_scores, dtype=np.float64), np.asarray(answerable, dtype=np.bool_)
    good, bad = scores[wanted], np.sort(scores[~wanted])
    if not len(good) or not len(bad):
        return None
    below, not_above = np.searchsorted(bad, good, "left"), np.searchsorted(bad, good, "right")
    return float((below + not_above).sum() / 2 / (len(good) * len(bad)))


MARGIN_METRICS = (
    MetricDefinition(
        "margin",
        margin,
        "other",
        "none",
        (ANSWERABLE, RELEVANT),
        "score of the best relevant document minus that of the best other one",
        "max s(relevant) − max s(other)",
        WORKBENCH,
        proportion=False,
        version=2,
    ),
    MetricDefinition(
        "margin_spread",
        margin_spread,
        "other",
        "none",
        (ANSWERABLE, RELEVANT),
        "the margin in standard deviations of the question's scores",
        "margin / σ",
        WORKBENCH,
        proportion=False,
        version=2,
    ),
)
