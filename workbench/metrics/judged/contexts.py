"""How relevant the passages of a context are, by labels and by a judge."""

import numpy as np

from workbench.metrics.answers.case import AnswerValues
from workbench.metrics.answers.citations import proves
from workbench.metrics.case import NO_CUT, Cut
from workbench.metrics.judged.case import JudgedCase
from workbench.metrics.judged.values import Reasons, error_of, floats, grouped, mean_of, scores_of

NO_PASSAGE = "no passage in the context"
NO_LABELS = "no evidence spans and no relevant document"


def context_precision_gold(case: JudgedCase, cut: Cut) -> AnswerValues:
    """Relevant passages by the labels / passages, among the first k of the context."""
    answered = case.answered
    values, unlabelled = [], []
    for place, passages in enumerate(answered.contexts.passages):
        needs = answered.labels.needs[place]
        by_documents = np.array([passage.doc_id in case.relevant[place] for passage in passages], dtype=np.bool_)
        first = np.asarray(np.any(proves(answered, place), axis=0) if needs else by_documents)[: cut.k]
        values.append(float(first.mean()) if len(first) else np.nan)
        unlabelled.append(not needs and not case.relevant[place])
    return AnswerValues(floats(values), ((NO_LABELS, np.array(unlabelled, dtype=np.bool_)), *_empty(case)))


def context_precision_judged(case: JudgedCase, cut: Cut) -> AnswerValues:
    """Passages whose judged relevance reaches the threshold / passages, among the first k of the context."""
    least = case.thresholds.context_relevance
    first = [each.passages[: cut.k] for each in case.judgements]
    values = [float(np.mean([score >= least for score in scores_of(each)])) if each else np.nan for each in first]
    return AnswerValues(floats(values), _empty(case), _errors(case, cut))


def context_relevance(case: JudgedCase, _: Cut) -> AnswerValues:
    """Mean judged relevance of the passages of the context."""
    values = [mean_of(each.passages) for each in case.judgements]
    return AnswerValues(floats(values), _empty(case), _errors(case, NO_CUT))


def _errors(case: JudgedCase, cut: Cut) -> Reasons:
    pairs = zip(case.judgements, case.answered.contexts.passages, strict=True)
    return grouped([error_of(judged.passages[: cut.k], len(passages[: cut.k])) for judged, passages in pairs])


def _empty(case: JudgedCase) -> Reasons:
    return ((NO_PASSAGE, np.array([not passages for passages in case.answered.contexts.passages], dtype=np.bool_)),)
