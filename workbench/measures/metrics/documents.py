"""Metrics over distinct documents, each ranked by its best chunk.

Those of trec_eval are computed by trec_eval's code. `found` is the number of relevant documents among the first k, R the number of relevant ones. A
document is relevant from relevance 1. trec_eval receives scores made from ranks, so its rule for ties never applies. The margins separate the
best relevant document from the best other one, and answerable from unanswerable queries, by scores.
"""

from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd

from workbench.measures.metrics import difference_bounds
from workbench.measures.metrics.case import Case, Cut, MetricValues
from workbench.measures.metrics.coverage import Floats, Ints, ratio, totals
from workbench.measures.metrics.definition import ANSWERABLE, NEGATIVE, RELEVANT, WORKBENCH, MetricDefinition
from workbench.measures.metrics.inputs import filled_ranks

_TREC = ("recall", "P", "success", "map_cut", "ndcg_cut")
_TREC_EVAL = "trec_eval, over distinct documents, each ranked by its best chunk; relevant is a grade of 1 or more"


def recall(case: Case, cut: Cut) -> MetricValues:
    """found / R (trec_eval's recall_k); at most min(k, R) / R."""
    return MetricValues(_trec(case, cut, f"recall_{cut.k}"), _reachable(case, cut) / _counts(case))


def precision(case: Case, cut: Cut) -> MetricValues:
    """found / k (trec_eval's P_k), even if fewer than k documents were retrieved; at most min(k, R) / k."""
    return MetricValues(_trec(case, cut, f"P_{cut.k}"), _reachable(case, cut) / cut.depth)


def success(case: Case, cut: Cut) -> MetricValues:
    """1 if any relevant document is among the first k (trec_eval's success_k, also known as hit rate)."""
    return MetricValues(_trec(case, cut, f"success_{cut.k}"), _ones(case))


def mrr(case: Case, cut: Cut) -> MetricValues:
    """1 / the rank of the first relevant document, 0 beyond k (trec_eval's recip_rank on a run cut at k); its mean is the MRR."""
    reciprocal = _trec(case, cut, "recip_rank")
    return MetricValues(np.where(reciprocal >= 1 / cut.depth, reciprocal, 0.0), _ones(case))


def ndcg(case: Case, cut: Cut) -> MetricValues:
    """Sum of relevance / log2(rank + 1) over the first k, divided by that of the ideal order (trec_eval's ndcg_cut_k).

    Järvelin and Kekäläinen 2002, with linear gains.
    """
    return MetricValues(_trec(case, cut, f"ndcg_cut_{cut.k}"), _ones(case))


def average_precision(case: Case, cut: Cut) -> MetricValues:
    """Sum of the precision at each relevant document among the first k, divided by R (trec_eval's map_cut_k); at most min(k, R) / R."""
    return MetricValues(_trec(case, cut, f"map_cut_{cut.k}"), _reachable(case, cut) / _counts(case))


def recall_cap(case: Case, cut: Cut) -> MetricValues:
    """found / min(k, R): found as a share of the relevant documents that fit into k places."""
    return MetricValues(_among(case, cut, case.labels.relevant_pairs) / _reachable(case, cut), _ones(case))


def judged(case: Case, cut: Cut) -> MetricValues:
    """The share of the first k documents (or of all, if fewer are retrieved) that have any judgement, which none outside the dataset has."""
    outside, labels = case.retrieved.outside, case.labels
    unknown = outside["query"][outside["rank"] <= cut.depth].to_numpy(np.int64)
    shown = np.bincount(np.concatenate([first_documents(case, cut) // labels.documents, unknown]), minlength=labels.queries)
    return MetricValues(ratio(_among(case, cut, case.labels.judged_pairs), shown.astype(np.float64)), _ones(case))


def irrelevant(case: Case, cut: Cut) -> MetricValues:
    """1 if a hard negative is among the first k: a document of relevance below 0 or, in a dataset without such grades, 0."""
    return MetricValues((_among(case, cut, case.labels.irrelevant_pairs) > 0).astype(np.float64))


def first_documents(case: Case, cut: Cut) -> Ints:
    """The first k documents of each query by rank, as keys query * documents + document."""
    ranking = case.retrieved.ranking[case.retrieved.ranking["rank"] <= cut.depth]
    keys: Ints = ranking["query"].to_numpy(np.int64) * case.labels.documents + ranking["doc"].to_numpy(np.int64)
    return keys


def _among(case: Case, cut: Cut, pairs: Ints) -> Floats:
    """The number of the first k documents that are among these pairs. Shape (queries,)."""
    keys = first_documents(case, cut)
    return totals(keys // case.labels.documents, np.isin(keys, pairs), case.labels.queries)


def _counts(case: Case) -> Ints:
    """R, at least 1, to avoid a division by zero for queries without relevant documents."""
    return np.maximum(case.labels.relevant_counts, 1)


def _reachable(case: Case, cut: Cut) -> Floats:
    return np.minimum(_counts(case), cut.depth).astype(np.float64)


def _ones(case: Case) -> Floats:
    return np.ones(case.labels.queries)


def _trec(case: Case, cut: Cut, measure: str) -> Floats:
    # A deeper run has the same measures at k, so one run is enough for all depths.
    return case.shared(_trec_eval, Cut() if cut.k in case.depths else cut)[measure]


def _trec_eval(case: Case, cut: Cut) -> dict[str, Floats]:
    """trec_eval's measures at k, or at all depths if k is missing, as arrays over queries. 0 for queries without results."""
    # Not installed where runs are only read, which need the names of metrics.
    import pytrec_eval

    queries, depths = case.labels.queries, sorted(case.depths if cut.k is None else {cut.k})
    names = [f"{name}_{k}" for name in _TREC for k in depths] + ["recip_rank"]
    measures = {f"{name}.{','.join(map(str, depths))}" for name in _TREC} | {"recip_rank"}
    evaluator = pytrec_eval.RelevanceEvaluator(case.shared(_qrels), measures)
    results = evaluator.evaluate(_run(case, Cut(k=depths[-1])))
    rows = np.array([[result[name] for name in names] for result in results.values()], dtype=np.float64).reshape(-1, len(names))
    values = np.zeros((queries, len(names)))
    values[[int(query) for query in results]] = rows
    return dict(zip(names, values.T, strict=True))


def _qrels(case: Case, _: Cut) -> dict[str, dict[str, int]]:
    labels = case.labels
    qrels: dict[str, dict[str, int]] = {}
    # trec_eval interprets a negative relevance as "not judged". Here it only means "not relevant".
    relevance = np.maximum(labels.qrel_relevance, 0).tolist()
    for query, doc, grade in zip(labels.qrel_query.tolist(), labels.qrel_doc.tolist(), relevance, strict=True):
        qrels.setdefault(str(query), {})[str(doc)] = grade
    return qrels


def _run(case: Case, cut: Cut) -> dict[str, dict[str, float]]:
    """Build pytrec_eval's nested dictionary of the first k documents, scored by -rank.

    A rank without a document is that of one outside the dataset, which a target returned: it takes a place and is not relevant.
    """
    ranking = filled_ranks(case.retrieved.ranking[case.retrieved.ranking["rank"] <= cut.depth])
    query, doc, rank = (ranking[name].to_numpy(np.int64) for name in ("query", "doc", "rank"))
    queries, starts = np.unique(query, return_index=True)
    scores = (-rank.astype(np.float64)).tolist()
    names = [name if known >= 0 else f"?{number}" for name, known, number in zip(case.shared(_names)[doc], doc.tolist(), rank, strict=True)]
    borders = [*starts.tolist(), len(query)]
    spans = zip(queries.tolist(), borders[:-1], borders[1:], strict=True)
    return {str(number): dict(zip(names[a:b], scores[a:b], strict=True)) for number, a, b in spans}


def _names(case: Case, _: Cut) -> npt.NDArray[np.object_]:
    """Names of the documents for trec_eval, one shared string per document. Shape (documents,)."""
    return np.array([str(doc) for doc in range(case.labels.documents)], dtype=object)


_metric = partial(MetricDefinition, family="documents", cut="k", requires=(ANSWERABLE, RELEVANT), source=_TREC_EVAL)
DOCUMENT_METRICS = (
    _metric(
        "recall",
        recall,
        aliases=("r",),
        labels_read="all",
        definition="share of the relevant documents among the first k documents",
        quantity="share of the relevant documents found",
        formula="found / R",
        largest_difference=partial(difference_bounds.largest_of_sums, difference_bounds.found, difference_bounds.after_labelling),
    ),
    _metric(
        "precision",
        precision,
        aliases=("p",),
        definition="share of the first k documents that are relevant",
        formula="found / k",
        labels_read="retrieved",
        suite_test="context precision",
        largest_difference=partial(difference_bounds.largest_of_sums, difference_bounds.found, difference_bounds.depth),
    ),
    _metric(
        "success",
        success,
        aliases=("hit_rate", "hit", "hits"),
        definition="1 if a relevant document is among the first k: the hit rate",
        formula="1 if found > 0, else 0",
        labels_read="retrieved",
        largest_difference=partial(difference_bounds.largest_of_best, difference_bounds.found),
    ),
    _metric(
        "mrr",
        mrr,
        aliases=("rr",),
        definition="1 / rank of the first relevant document among the first k, else 0",
        formula="1 / min {i ≤ k : document i is relevant}, else 0",
        labels_read="retrieved",
        largest_difference=partial(difference_bounds.largest_of_best, difference_bounds.reciprocal),
    ),
    _metric(
        "ndcg",
        ndcg,
        labels_read="all",
        definition="discounted gain of the first k documents, divided by the largest possible",
        formula="DCG / largest DCG, where DCG = Σ grade(i) / log2(i + 1) over the ranks i ≤ k",
        source=f"{_TREC_EVAL}; Järvelin and Kekäläinen 2002",
        largest_difference=partial(difference_bounds.largest_of_sums, difference_bounds.discount, difference_bounds.ideal, graded=True),
    ),
    _metric(
        "map",
        average_precision,
        aliases=("ap",),
        labels_read="all",
        definition="mean of the precision at each relevant document's rank among the first k",
        formula="Σ precision@i / R over the ranks i ≤ k of relevant documents",
        largest_difference=difference_bounds.largest_of_precisions,
    ),
    _metric(
        "recall_cap",
        recall_cap,
        labels_read="all",
        definition="relevant documents among the first k, divided by the largest possible number",
        formula="found / min(k, R)",
        source=WORKBENCH,
        largest_difference=partial(difference_bounds.largest_of_sums, difference_bounds.found, difference_bounds.retrievable),
    ),
    _metric(
        "judged",
        judged,
        definition="share of the first k documents that have any judgement",
        formula="judged documents / documents, among the first k",
        source=WORKBENCH,
        version=2,
    ),
    _metric(
        "irrelevant",
        irrelevant,
        labels_read="all",
        requires=(NEGATIVE,),
        definition="1 if a known-irrelevant document is among the first k; lower is better",
        formula="1 if a hard negative is among the first k, else 0",
        source=WORKBENCH,
        higher_is_better=False,
        suite_test="negative",
    ),
)


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


_margin = partial(MetricDefinition, family="other", requires=(ANSWERABLE, RELEVANT), source=WORKBENCH, proportion=False, version=2)
MARGIN_METRICS = (
    _margin(
        "margin",
        margin,
        definition="score of the best relevant document minus that of the best other one",
        formula="max s(relevant) − max s(other)",
    ),
    _margin(
        "margin_spread",
        margin_spread,
        definition="the margin in standard deviations of the question's scores",
        formula="margin / σ",
    ),
)
