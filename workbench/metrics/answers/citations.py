"""Cited passages compared with the evidence of the question."""

import numpy as np

from workbench.context.conditions import COUNTERFACTUAL
from workbench.metrics.case import Case, Cut, MetricValues
from workbench.metrics.coverage import Bools, Floats
from workbench.metrics.definition import ANSWERABLE, EVIDENCE, WORKBENCH, MetricDefinition
from workbench.records import Passage, Span

NO_CITATION = "no passage is cited"
NO_EVIDENCE = "no evidence in the context"


def citation_precision(case: Case, _: Cut) -> MetricValues:
    """Cited passages with evidence / cited passages. A refusal cites nothing."""
    cited, good = np.zeros(len(case)), np.zeros(len(case))
    for place, numbers in enumerate(_cited(case)):
        proven = proves(case, place)
        cited[place], good[place] = len(numbers), proven[:, numbers].any(axis=0).sum()
    values: Floats = good / np.maximum(cited, 1)
    return MetricValues(values, not_applicable=((NO_CITATION, cited == 0),))


def citation_recall(case: Case, _: Cut) -> MetricValues:
    """Pieces of evidence with a cited passage / pieces of evidence with a passage in the context."""
    present, found = np.zeros(len(case)), np.zeros(len(case))
    for place, numbers in enumerate(_cited(case)):
        proven = proves(case, place)
        present[place], found[place] = proven.any(axis=1).sum(), proven[:, numbers].any(axis=1).sum()
    values: Floats = found / np.maximum(present, 1)
    return MetricValues(values, not_applicable=((NO_EVIDENCE, present == 0),))


def _cited(case: Case) -> list[list[int]]:
    """Return the distinct numbers of the cited passages of each question."""
    answers, passages = case.answers, case.contexts.passages
    pairs = zip(answers.citations, passages, answers.refused.tolist(), strict=True)
    return [[] if refused else sorted({n for n in numbers if 0 <= n < len(shown)}) for numbers, shown, refused in pairs]


def proves(case: Case, place: int) -> Bools:
    """Mask of the pieces of a question's evidence that each passage has. Shape (needs, passages)."""
    needs, passages = case.labels.needs[place], case.contexts.passages[place]
    cells = [[any(_has(passage, span) for span in need.alternatives) for passage in passages] for need in needs]
    return np.array(cells, dtype=np.bool_).reshape(len(needs), len(passages))


def _has(passage: Passage, span: Span) -> bool:
    """Check that a passage overlaps evidence by at least half of the shorter of the two. An altered copy does not have it."""
    common = min(passage.end, span.end) - max(passage.start, span.start)
    shorter = min(passage.end - passage.start, span.end - span.start)
    return passage.doc_id == span.doc_id and passage.planted != COUNTERFACTUAL and common > 0 and 2 * common >= shorter


CITATION_METRICS = (
    MetricDefinition(
        "citation_precision",
        citation_precision,
        reads=("context", "answer"),
        requires=(ANSWERABLE, EVIDENCE),
        definition="share of the cited passages that overlap evidence by at least half of the shorter of the two",
        formula="cited passages with evidence / cited passages",
        source=WORKBENCH,
        usual=True,
    ),
    MetricDefinition(
        "citation_recall",
        citation_recall,
        reads=("context", "answer"),
        requires=(ANSWERABLE, EVIDENCE),
        definition="share of the pieces of evidence in the context that a cited passage has",
        formula="pieces of evidence with a cited passage / pieces of evidence in the context; 0 for a refusal",
        source=WORKBENCH,
        usual=True,
    ),
)
