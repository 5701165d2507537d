"""The definition of a metric: what it reads, which queries it applies to, how its values are computed and read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.components.context.conditions import COUNTERFACTUAL, INJECTION, IRRELEVANT_ONLY, MISSING_GOLD, NONE, RETRIEVED
from workbench.components.judging.base import Task
from workbench.core.errors import RunError
from workbench.measures.metrics.case import Case, Cut, MetricValues
from workbench.measures.metrics.coverage import Bools
from workbench.measures.metrics.difference_bounds import LargestDifference

Source = Literal["ranking", "context", "answer", "judgement"]
Family = Literal["documents", "hits", "chunks", "spans", "other", "answers"]
LabelsRead = Literal["", "all", "retrieved"]
SuiteTest = Literal["", "faithfulness", "context precision", "negative"]
Comparison = Literal["", "words", "meaning", "label", "judge"]
# The source of metrics that come from no publication.
WORKBENCH = "Workbench"


@dataclass(frozen=True, slots=True)
class Requirement:
    """The queries to which a metric applies: `met(case)` (q), and the reason for the others, or `detailed(case)` if that depends on the case.

    One `of_context` says nothing about a query whose context is not known because its answer failed.
    """

    met: Callable[[Case], Bools]
    reason: str
    of_context: bool = False
    detailed: Callable[[Case], str] | None = None


def _in_condition(*conditions: str) -> Callable[[Case], Bools]:
    return lambda case: case.each(case.variant.condition in conditions)


ANSWERABLE = Requirement(lambda case: case.labels.answerable, "unanswerable")
RELEVANT = Requirement(lambda case: case.labels.relevant_counts > 0, "no relevant document")
EVIDENCE = Requirement(lambda case: case.labels.has_evidence, "no evidence spans")
EITHER = Requirement(lambda case: case.labels.has_evidence | (case.labels.relevant_counts > 0), "no relevant document")
NEGATIVE = Requirement(lambda case: case.labels.has_negatives, "no known-irrelevant document")
EXPECTED = Requirement(lambda case: np.array([bool(texts) for texts in case.labels.expected], dtype=np.bool_), "no expected answer")
GENERATED = Requirement(lambda case: case.each(not case.answers.verbatim), "verbatim by construction")
GIVEN = Requirement(lambda case: ~case.answers.refused, "refused")
ATTACKED = Requirement(_in_condition(INJECTION), "no planted instruction")
RETRIEVED_CONTEXT = Requirement(_in_condition(RETRIEVED), "the context was not retrieved")
ALTERED = Requirement(_in_condition(COUNTERFACTUAL), "no altered copy")
WITH_GOLD = Requirement(lambda case: case.contexts.gold, "evidence missing from the context", of_context=True)
WITHOUT_GOLD = Requirement(lambda case: ~case.contexts.gold & (case.contexts.relevant == 0), "evidence in the context", of_context=True)
OPEN_BOOK = Requirement(lambda case: case.each(case.variant.condition != NONE), "closed book")
NO_SOURCES = "the answer names no sources"
SOURCED = Requirement(lambda case: case.contexts.known, NO_SOURCES, of_context=True)
IN_CONTEXT = (OPEN_BOOK, SOURCED)
REFUSABLE = Requirement(
    lambda case: ~case.labels.answerable | case.each(case.variant.condition in (MISSING_GOLD, IRRELEVANT_ONLY)),
    "answerable, and its evidence was not removed",
)
VERDICTS = Requirement(
    lambda case: case.each(not case.judgements.only_score),
    "the judge of claims is a score",
    detailed=lambda case: case.judgements.only_score,
)
CONTRADICTIONS = Requirement(
    lambda case: case.each(not case.judgements.no_verdicts_on_contradictions),
    "the judge of claims is a score, or does not tell contradicted claims from absent ones",
    detailed=lambda case: case.judgements.no_verdicts_on_contradictions,
)


@dataclass(frozen=True, slots=True)
class MetricDefinition:
    """A metric without a cut: `compute(case, cut)`, the parts of a case that it `reads`, the allowed cuts, and how to read its values.

    Raise `version` when `compute` returns different values, because it is part of the key of stored scores. Of several requirements that a
    query does not meet, the first names the reason. `definition` is the metric in a sentence, `formula` its value for one query in the
    symbols of docs/reference/metrics.md, `source` its origin. `words` say for a page what a mean is, with `{first}` for the cut, where the definition
    would not; `quantity` names it on an axis.

    Parameters
    ----------
    family: the unit of counting. Metrics that read more than the ranking are of `answers`.
    reads_index: whether its value, or only its attainable maximum, depends on chunks that were not retrieved, which are not known of a target.
    labels_read: `all` if it needs the labels of documents that were not retrieved; `retrieved` if it needs no others, so that its bounds over
        unjudged documents hold for each configuration alone; empty if neither is claimed.
    aliases: the names of other tools, for which it is suggested.
    usual: an experiment that answers computes it if its file names no metrics.
    compares: how it compares the answer's content with the expected one. The report compares answers by the first such metric of a run.
    tasks: the judges' tasks that it reads. `thresholds`: those of the end-to-end test that it reads.
    suite_test: the test of a RAG test suite that a rule on it is.
    largest_difference: the largest difference of two configurations on a question over all ways to label its unjudged documents, by which the
        labeller orders questions; None for a metric without such a bound.
    """

    name: str
    compute: Callable[[Case, Cut], MetricValues]
    family: Family = "answers"
    cut: Literal["k", "k or tokens", "none"] = "none"
    requires: tuple[Requirement, ...] = ()
    definition: str = "defined by the package that provides it"
    formula: str = "–"
    source: str = "–"
    reads: tuple[Source, ...] = ("ranking",)
    higher_is_better: bool = True
    proportion: bool = True
    version: int = 1
    reads_index: Literal["", "value", "attainable"] = ""
    labels_read: LabelsRead = ""
    usual: bool = False
    aliases: tuple[str, ...] = ()
    compares: Comparison = ""
    tasks: tuple[Task, ...] = ()
    thresholds: tuple[str, ...] = ()
    suite_test: SuiteTest = ""
    words: str = ""
    quantity: str = ""
    largest_difference: LargestDifference | None = None

    @property
    def not_applicable(self) -> str:
        """The reasons for which the metric does not apply to a query."""
        return ", or ".join(requirement.reason for requirement in self.requires) or "–"

    @property
    def of_answers(self) -> bool:
        """True if it reads more than the ranking, and so has a value for each variant of the answers."""
        return self.reads != ("ranking",)

    @property
    def judged(self) -> bool:
        """True if it reads judgements."""
        return "judgement" in self.reads

    def applies(self, case: Case) -> Bools:
        """Mask of the queries that meet all requirements. Shape (q,)."""
        met = case.each(True)
        for requirement in self.requires:
            met &= requirement.met(case)
        return met


def not_computed(_: Case, __: Cut) -> MetricValues:
    """The function of a metric that is only recorded in a run."""
    raise RunError("the metric is that of a run, and its package is not installed", "install the package, and run workbench sweep again")
