"""How far the best relevant document stands above the best other one."""

import numpy as np

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Bools, Floats, Ints

NO_RELEVANT = "no relevant document within the ranking's depth"
NO_OTHER = "no other document within the ranking's depth"
NO_SPREAD = "the query's scores do not vary"


def margin(case: Case, _: Cut) -> MetricValues:
    """Score of the best relevant document minus that of the best other one (unjudged ones count as other), in the retriever's units."""
    ranking, labels = case.retrieved.ranking, case.labels
    query, score = ranking["query"].to_numpy(dtype=np.int64), ranking["score"].to_numpy(dtype=np.float64)
    good = np.isin(query * labels.documents + ranking["doc"].to_numpy(dtype=np.int64), labels.relevant_pairs)
    best, has_best = _first(query, score, good, labels.queries)
    other, has_other = _first(query, score, ~good, labels.queries)
    return MetricValues(best - other, unscored=((NO_RELEVANT, ~has_best), (NO_OTHER, ~has_other)))


def margin_spread(case: Case, cut: Cut) -> MetricValues:
    """margin / standard deviation of the query's scores over the searched chunks: comparable across embedders."""
    raw, spread = margin(case, cut), np.asarray(case.retrieved.spread, dtype=np.float64)
    varies = spread > 0
    value = np.divide(raw.value, spread, out=np.zeros(len(spread)), where=varies)
    return MetricValues(value, unscored=(*raw.unscored, (NO_SPREAD, ~varies)))


def _first(query: Ints, score: Floats, chosen: Bools, queries: int) -> tuple[Floats, Bools]:
    """(queries) the score of each query's first chosen row, and whether it has one."""
    found, rows = np.unique(query[chosen], return_index=True)
    scores, has = np.zeros(queries), np.zeros(queries, dtype=np.bool_)
    scores[found], has[found] = score[chosen][rows], True
    return scores, has
