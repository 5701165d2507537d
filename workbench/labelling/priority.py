"""Order questions by how much their labels can change the comparison of the leading configurations.

The bounds of a metric take every unjudged document as irrelevant, or every one as relevant (`metrics.evaluate.unjudged_values`). The
width of the bounds of a question's difference is what its labels can still change, and it is 0 once the documents are judged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.analysis.findings import findings
from workbench.core.formatting import plural, signed
from workbench.labelling.review import drafted_by
from workbench.metrics.case import Case
from workbench.metrics.coverage import Floats
from workbench.metrics.evaluate import unjudged_values
from workbench.metrics.inputs import Labels, Retrieved
from workbench.metrics.names import Metric
from workbench.records import Dataset, Query
from workbench.results.run_tables import RunTables

# Metrics of spans have no bounds over unjudged documents. Without a document metric in the run, this one stands in.
_STAND_IN = "ndcg@10"
_UNLABELLED = "no document is labelled relevant yet"
Rankings = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class QueuedQuestion:
    """A question to label, with the reason for its place. `width` is what its labels can change in the leading difference."""

    query_id: str
    reason: str
    width: float


def deciding_metric(run: RunTables) -> Metric:
    """Return the primary metric if it is over documents, else the first such metric of the run, else nDCG@10."""
    metrics = [Metric.parse(name) for name in (str(run.primary), *run.measures)]
    return next((metric for metric in metrics if metric.family == "documents" and metric.k), Metric.parse(_STAND_IN))


def rivals(run: RunTables) -> tuple[str, ...]:
    """Return the leader, the configuration it is compared with, and the rest of the tie set, in the order of the verdict."""
    found = findings(run)
    leading = [standing.name for standing in (found.first, found.comparator) if standing]
    return tuple(dict.fromkeys([*leading, *(found.verdict.best if found.verdict else ())]))


def difference_bounds(dataset: Dataset, rankings: Rankings, metric: Metric, a: str, b: str) -> tuple[Floats, Floats]:
    """Return the lower and the upper bound of a - b for each question (q), given the judgements of the dataset.

    A question without any relevant document has no value yet: its difference is between -1 and 1, or 0 if both found the same.
    """
    labels = Labels.of(dataset)
    one, other = (_bounds(dataset, labels, rankings[name], metric) for name in (a, b))
    low, high = one[0] - other[1], one[1] - other[0]
    unlabelled = np.isnan(low) & labels.answerable
    same = [rankings[a].get(query.query_id, [])[: metric.k] == rankings[b].get(query.query_id, [])[: metric.k] for query in dataset.queries]
    open_ends = np.where(np.array(same, dtype=np.bool_), 0.0, 1.0)
    return np.where(unlabelled, -open_ends, np.nan_to_num(low)), np.where(unlabelled, open_ends, np.nan_to_num(high))


def _bounds(dataset: Dataset, labels: Labels, ranked: Mapping[str, Sequence[str]], metric: Metric) -> tuple[Floats, Floats]:
    places = {document.doc_id: place for place, document in enumerate(dataset.documents)}
    rows = [
        (query, rank, places[doc_id], -float(rank))
        for query, each in enumerate(dataset.queries)
        for rank, doc_id in enumerate((doc_id for doc_id in ranked.get(each.query_id, ()) if doc_id in places), 1)
    ]
    ranking = pd.DataFrame(rows, columns=["query", "rank", "doc", "score"]).astype({"query": int, "rank": int, "doc": int, "score": float})
    chunks = pd.DataFrame(columns=["doc", "start", "end", "delivered_start", "delivered_end"], dtype=np.int64)
    hits = pd.DataFrame(columns=["query", "rank", "chunk", "score"], dtype=np.int64)
    case = Case(labels, Retrieved(chunks, hits, ranking, np.zeros(labels.queries)), "exact", frozenset([metric.k or 0]))
    values = unjudged_values(case, metric)
    # A relevant document below a gap lowers nDCG.
    return np.minimum(values.low, values.high), np.maximum(values.low, values.high)


def queue(dataset: Dataset, run: RunTables, rankings: Rankings) -> tuple[QueuedQuestion, ...]:
    """Order the questions: those whose labels can change the leading difference most come first, then those of the rest of the tie set.

    `dataset` contains the labels so far.
    """
    names, metric = [name for name in rivals(run) if name in rankings], deciding_metric(run)
    if len(names) < 2:
        return queue_without_run(dataset)
    bounds = np.array([difference_bounds(dataset, rankings, metric, names[0], other) for other in names[1:]])
    widths = bounds[:, 1] - bounds[:, 0]
    rest = widths[1:].sum(axis=0)
    order = np.lexsort((-rest, -widths[0]))
    relevant = {qrel.query_id for qrel in dataset.qrels if qrel.relevance > 0}
    pair = f"{metric} of {names[0]} minus {names[1]}"
    queued = []
    for place in order.tolist():
        query, width = dataset.queries[place], float(widths[0, place])
        low, high = (signed(float(bound), 2) for bound in bounds[0, :, place])
        difference = f"{pair} is between {low} and {high} for this question"
        if query.answerable and query.query_id not in relevant:
            reason = _UNLABELLED + (f"; {difference}" if width else "")
        elif width > 0:
            reason = f"{difference}, depending on its unjudged documents"
        elif rest[place] > 0:
            reason = f"its unjudged documents can change comparisons within the tie set ({plural(len(names), 'configuration')})"
        else:
            reason = "its labels do not change the comparison"
        if query.is_draft:
            reason = f"{_draft(query)}; {reason}" if width > 0 else _draft(query)
        queued.append(QueuedQuestion(query.query_id, reason, width))
    return tuple(queued)


def queue_without_run(dataset: Dataset) -> tuple[QueuedQuestion, ...]:
    """Order the questions of a dataset without a comparison: those without a label first, then drafts, in the dataset's order."""
    relevant = {qrel.query_id for qrel in dataset.qrels if qrel.relevance > 0}
    unlabelled, drafts, rest = list[QueuedQuestion](), list[QueuedQuestion](), list[QueuedQuestion]()
    for query in dataset.queries:
        if query.answerable and query.query_id not in relevant:
            unlabelled.append(QueuedQuestion(query.query_id, _UNLABELLED, 0.0))
        elif query.is_draft:
            drafts.append(QueuedQuestion(query.query_id, _draft(query), 0.0))
        else:
            rest.append(QueuedQuestion(query.query_id, "it has labels", 0.0))
    return (*unlabelled, *drafts, *rest)


def _draft(query: Query) -> str:
    return f"it is a draft{drafted_by(query)} that nobody has accepted"
