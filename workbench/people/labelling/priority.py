"""Order questions by how much their labels can change the comparison of the leading configurations.

The width of the bounds of a question's difference (`metrics.difference_bounds`) is what its labels can still change. It is 0 once the
documents are judged.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.core.records import Dataset, Query
from workbench.core.text.formatting import plural, signed
from workbench.measures.metrics.coverage import Floats
from workbench.measures.metrics.difference_bounds import JudgedPair, difference_bounds
from workbench.measures.metrics.names import Metric
from workbench.people.labelling.adjudication import drafted_by
from workbench.report.analysis.decision import decide
from workbench.report.analysis.findings import findings
from workbench.report.results.run_tables import RunTables

# Metrics of spans have no bounds over unjudged documents. A run without a metric that has bounds is ordered by this one.
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
    """Return the primary metric if its differences can be bounded, else the first such metric of the run, else nDCG@10."""
    metrics = [Metric.parse(name) for name in (str(run.primary), *run.measures)]
    return next((metric for metric in metrics if metric.definition.largest_difference and metric.k), Metric.parse(_STAND_IN))


def rivals(run: RunTables) -> tuple[str, ...]:
    """Return the two configurations that the report compares, and the rest of the tie set, in the order of the verdict."""
    found = findings(run)
    compared = [standing.name for standing in (decide(found).shown, decide(found).other) if standing]
    return tuple(dict.fromkeys([*compared, *(found.verdict.best if found.verdict else ())]))


def leading_bounds(dataset: Dataset, rankings: Rankings, metric: Metric, a: str, b: str) -> tuple[Floats, Floats]:
    """Return the lower and the upper bound of a - b for each question (q), given the judgements of the dataset."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for qrel in dataset.qrels:
        grades[qrel.query_id][qrel.doc_id] = qrel.relevance
    largest = metric.definition.largest_difference
    assert largest, f"the differences of {metric} have no bounds"
    known = {document.doc_id for document in dataset.documents}
    bounds = np.zeros((len(dataset.queries), 2))
    for place, query in enumerate(dataset.queries):
        if query.answerable:
            first, second = ([doc_id for doc_id in rankings[name].get(query.query_id, ()) if doc_id in known] for name in (a, b))
            bounds[place] = difference_bounds(largest, JudgedPair.of(metric.k or 0, first, second, grades[query.query_id]))
    return bounds[:, 0], bounds[:, 1]


def queue(dataset: Dataset, run: RunTables, rankings: Rankings) -> tuple[QueuedQuestion, ...]:
    """Order the questions: those whose labels can change the leading difference most come first, then those of the rest of the tie set.

    `dataset` contains the labels so far.
    """
    names, metric = [name for name in rivals(run) if name in rankings], deciding_metric(run)
    if len(names) < 2:
        return queue_without_run(dataset)
    bounds = np.array([leading_bounds(dataset, rankings, metric, names[0], other) for other in names[1:]])
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
    if query.is_placeholder:
        return "nobody has written the question that its passage answers"
    return f"it is a draft{drafted_by(query)} that nobody has accepted"
