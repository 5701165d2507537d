"""Metrics over distinct documents, each ranked by its best chunk: trec_eval's definitions, computed by trec_eval's code.

`found` is the number of relevant documents among the first k, R the number of relevant ones. A document is relevant from
relevance 1. trec_eval receives scores made from ranks, so its rule for ties never applies.
"""

from functools import partial

import numpy as np
import numpy.typing as npt

from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Floats, Ints, ratio, totals
from workbench.metrics.definition import ANSWERABLE, NEGATIVE, RELEVANT, WORKBENCH, MetricDefinition
from workbench.metrics.inputs import filled_ranks

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
    names = [name if place >= 0 else f"?{number}" for name, place, number in zip(case.shared(_names)[doc], doc.tolist(), rank, strict=True)]
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
        formula="found / R",
    ),
    _metric(
        "precision",
        precision,
        aliases=("p",),
        definition="share of the first k documents that are relevant",
        formula="found / k",
        labels_read="retrieved",
        suite_test="context precision",
    ),
    _metric(
        "success",
        success,
        aliases=("hit_rate", "hit", "hits"),
        definition="1 if a relevant document is among the first k: the hit rate",
        formula="1 if found > 0, else 0",
        labels_read="retrieved",
    ),
    _metric(
        "mrr",
        mrr,
        aliases=("rr",),
        definition="1 / rank of the first relevant document among the first k, else 0",
        formula="1 / min {i ≤ k : document i is relevant}, else 0",
        labels_read="retrieved",
    ),
    _metric(
        "ndcg",
        ndcg,
        labels_read="all",
        definition="discounted gain of the first k documents, divided by the largest possible",
        formula="DCG / largest DCG, where DCG = Σ grade(i) / log2(i + 1) over the ranks i ≤ k",
        source=f"{_TREC_EVAL}; Järvelin and Kekäläinen 2002",
    ),
    _metric(
        "map",
        average_precision,
        aliases=("ap",),
        labels_read="all",
        definition="mean of the precision at each relevant document's rank among the first k",
        formula="Σ precision@i / R over the ranks i ≤ k of relevant documents",
    ),
    _metric(
        "recall_cap",
        recall_cap,
        labels_read="all",
        definition="relevant documents among the first k, divided by the largest possible number",
        formula="found / min(k, R)",
        source=WORKBENCH,
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
