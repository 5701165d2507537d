"""Metrics of the claims of an answer, by their support in the context."""

import numpy as np

from workbench.judging.base import Verdict
from workbench.metrics.case import AnswerJudgements, Case, Cut, MetricValues, Reasons
from workbench.metrics.definition import CONTRADICTIONS, GENERATED, GIVEN, IN_CONTEXT, VERDICTS, WORKBENCH, MetricDefinition
from workbench.metrics.judged.values import RAGAS, error_of, floats, grouped, mean_of

NO_CLAIMS = "the answer has no claims"


def faithfulness(case: Case, _: Cut) -> MetricValues:
    """Supported claims / claims."""
    return _share(case, "supported")


def contradiction_rate(case: Case, _: Cut) -> MetricValues:
    """Contradicted claims / claims."""
    return _share(case, "contradicted")


def support_overlap(case: Case, _: Cut) -> MetricValues:
    """Mean overlap of the claims with the context."""
    values = [mean_of(each.overlap) for each in case.judgements.of_answers]
    errors = [each.claims_error or error_of(each.overlap, each.claims) for each in case.judgements.of_answers]
    return MetricValues(floats(values), unscored=grouped(errors), not_applicable=_without_claims(case))


def share_of(verdict: Verdict, judged: AnswerJudgements) -> float:
    """Return the share of an answer's claims that have a verdict, NaN without claims."""
    return sum(each.verdict == verdict for each in judged.support) / judged.claims if judged.claims else np.nan


def claims_error(judged: AnswerJudgements) -> str:
    """Return why not all claims of an answer have a verdict, or an empty text."""
    return judged.claims_error or error_of(judged.support, judged.claims)


def _share(case: Case, verdict: Verdict) -> MetricValues:
    judged, untested = case.judgements.of_answers, case.judgements.untested
    errors = [claims_error(each) or untested for each in judged]
    return MetricValues(
        floats([share_of(verdict, each) for each in judged]), unscored=grouped(errors), not_applicable=_without_claims(case)
    )


def _without_claims(case: Case) -> Reasons:
    empty = [not each.claims and not each.claims_error for each in case.judgements.of_answers]
    return ((NO_CLAIMS, np.array(empty, dtype=np.bool_)),)


_OF_CLAIMS = (*IN_CONTEXT, GENERATED, GIVEN)
CLAIM_METRICS = (
    MetricDefinition(
        "faithfulness",
        faithfulness,
        aliases=("groundedness",),
        reads=("context", "answer", "judgement"),
        requires=(VERDICTS, *_OF_CLAIMS),
        definition="share of the answer's claims that a passage of the context supports, by the judge `support`",
        formula="supported claims / claims",
        source=RAGAS,
        usual=True,
        tasks=("support",),
        suite_test="faithfulness",
    ),
    MetricDefinition(
        "contradiction_rate",
        contradiction_rate,
        reads=("context", "answer", "judgement"),
        requires=(CONTRADICTIONS, *_OF_CLAIMS),
        definition="share of the answer's claims that a passage of the context contradicts, by the judge `support`; lower is better",
        formula="contradicted claims / claims",
        source=WORKBENCH,
        higher_is_better=False,
        tasks=("support",),
        suite_test="faithfulness",
    ),
    MetricDefinition(
        "support_overlap",
        support_overlap,
        reads=("context", "answer", "judgement"),
        requires=_OF_CLAIMS,
        definition="how much of the answer's claims the words, numbers and sentences of the context contain, whichever judge is set; "
        "a score without verdicts",
        formula="mean of the claims' scores by the judge `overlap`",
        source=WORKBENCH,
        usual=True,
        suite_test="faithfulness",
    ),
)
