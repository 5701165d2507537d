"""How many claims of an answer the context supports."""

import numpy as np

from workbench.judging.base import Verdict
from workbench.metrics.answers.case import AnswerValues
from workbench.metrics.case import Cut
from workbench.metrics.judged.case import AnswerJudgements, JudgedCase
from workbench.metrics.judged.values import error_of, floats, grouped, mean_of

NO_CLAIMS = "the answer has no claims"


def faithfulness(case: JudgedCase, _: Cut) -> AnswerValues:
    """Supported claims / claims."""
    return _share(case, "supported")


def contradiction_rate(case: JudgedCase, _: Cut) -> AnswerValues:
    """Contradicted claims / claims."""
    return _share(case, "contradicted")


def support_overlap(case: JudgedCase, _: Cut) -> AnswerValues:
    """Mean overlap of the claims with the context."""
    values = [mean_of(each.overlap) for each in case.judgements]
    errors = [each.claims_error or error_of(each.overlap, each.claims) for each in case.judgements]
    return AnswerValues(floats(values), _without_claims(case), grouped(errors))


def share_of(verdict: Verdict, judged: AnswerJudgements) -> float:
    """Return the share of an answer's claims that have a verdict, NaN without claims."""
    return sum(each.verdict == verdict for each in judged.support) / judged.claims if judged.claims else np.nan


def claims_error(judged: AnswerJudgements) -> str:
    """Return why not all claims of an answer have a verdict, or an empty text."""
    return judged.claims_error or error_of(judged.support, judged.claims)


def _share(case: JudgedCase, verdict: Verdict) -> AnswerValues:
    values = [share_of(verdict, each) for each in case.judgements]
    return AnswerValues(floats(values), _without_claims(case), grouped([claims_error(each) for each in case.judgements]))


def _without_claims(case: JudgedCase) -> tuple[tuple[str, np.ndarray[tuple[int], np.dtype[np.bool_]]], ...]:
    empty = [not each.claims and not each.claims_error for each in case.judgements]
    return ((NO_CLAIMS, np.array(empty, dtype=np.bool_)),)
