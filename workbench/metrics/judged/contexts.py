"""Relevance of the passages of a context, by labels and by a judge."""

from functools import partial

import numpy as np

from workbench.metrics.answers.citations import proves
from workbench.metrics.case import NO_CUT, Case, Cut, MetricValues, Reasons
from workbench.metrics.definition import ANSWERABLE, IN_CONTEXT, WORKBENCH, MetricDefinition
from workbench.metrics.judged.values import RAGAS, error_of, floats, grouped, mean_of, scores_of

NO_PASSAGE = "no passage in the context"
NO_LABELS = "no evidence spans and no relevant document"


def context_precision_gold(case: Case, cut: Cut) -> MetricValues:
    """Relevant passages by the labels / passages, among the first k of the context."""
    labels, values, unlabelled = case.labels, [], []
    for place, passages in enumerate(case.contexts.passages):
        needs, relevant = labels.needs[place], labels.relevant_documents[place]
        by_documents = np.array([passage.doc_id in relevant for passage in passages], dtype=np.bool_)
        first = np.asarray(np.any(proves(case, place), axis=0) if needs else by_documents)[: cut.k]
        values.append(float(first.mean()) if len(first) else np.nan)
        unlabelled.append(not needs and not relevant)
    return MetricValues(floats(values), not_applicable=((NO_LABELS, np.array(unlabelled, dtype=np.bool_)), *_empty(case)))


def context_precision_judged(case: Case, cut: Cut) -> MetricValues:
    """Passages whose judged relevance reaches the threshold / passages, among the first k of the context."""
    least = case.judgements.thresholds.context_relevance
    first = [each.passages[: cut.k] for each in case.judgements.of_answers]
    values = [float(np.mean([score >= least for score in scores_of(each)])) if each else np.nan for each in first]
    return MetricValues(floats(values), unscored=_errors(case, cut), not_applicable=_empty(case))


def context_relevance(case: Case, _: Cut) -> MetricValues:
    """Mean judged relevance of the passages of the context."""
    values = [mean_of(each.passages) for each in case.judgements.of_answers]
    return MetricValues(floats(values), unscored=_errors(case, NO_CUT), not_applicable=_empty(case))


def _errors(case: Case, cut: Cut) -> Reasons:
    pairs = zip(case.judgements.of_answers, case.contexts.passages, strict=True)
    return grouped([error_of(judged.passages[: cut.k], len(passages[: cut.k])) for judged, passages in pairs])


def _empty(case: Case) -> Reasons:
    return ((NO_PASSAGE, np.array([not passages for passages in case.contexts.passages], dtype=np.bool_)),)


_metric = partial(MetricDefinition, reads=("context", "judgement"), requires=(ANSWERABLE, *IN_CONTEXT), source=RAGAS)
CONTEXT_METRICS = (
    _metric(
        "context_precision_gold",
        context_precision_gold,
        cut="k",
        definition="share of the first k passages of the context that have evidence or, without evidence, are of a relevant document",
        formula="relevant passages / passages, among the first k",
        source=WORKBENCH,
        suite_test="context precision",
    ),
    _metric(
        "context_precision_judged",
        context_precision_judged,
        aliases=("context_precision",),
        cut="k",
        definition="share of the first k passages of the context that the judge `relevance` finds relevant",
        formula="passages with a relevance of at least `judging.thresholds.context_relevance` / passages, among the first k",
        version=2,
        tasks=("context_relevance",),
        thresholds=("context_relevance",),
        suite_test="context precision",
    ),
    _metric(
        "context_relevance",
        context_relevance,
        definition="mean relevance of the passages of the context to the question, by the judge `relevance`",
        formula="mean of the passages' relevance",
        usual=True,
        tasks=("context_relevance",),
        suite_test="context precision",
    ),
)
