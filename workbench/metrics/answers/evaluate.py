"""One answer metric of one variant for each question."""

from typing import Protocol

import numpy as np
import pandas as pd

from workbench.metrics.answers.case import AnswerCase, AnswerValues
from workbench.metrics.answers.registry import AnswerKind, AnswerScope


class ScopedKind(Protocol):
    """What a metric of answers or of judgements says about the questions to which it applies."""

    @property
    def scopes(self) -> tuple[AnswerScope, ...]:
        """Return the questions to which it applies."""
        ...

    @property
    def of_answers(self) -> bool:
        """Return whether a failed answer has no value."""
        ...


def answer_values(case: AnswerCase, kind: AnswerKind) -> pd.DataFrame:
    """Tabulate a metric for each question: `query, value, state, reason`, as `metrics.evaluate` does."""
    return tabulated(case, kind, kind.compute(case))


def tabulated(case: AnswerCase, kind: ScopedKind, scores: AnswerValues) -> pd.DataFrame:
    """Tabulate the values of a metric for each question: `query, value, state, reason`.

    A question to which the condition or the metric does not apply is `not_applicable`, one whose answer failed is `unscored`. Of several
    reasons the first counts: the condition's, the metric's scopes in order, the failed answer, those that the metric returns.
    """
    state, reason = np.full(len(case), "scored", dtype=object), np.full(len(case), "", dtype=object)
    failed = np.array([bool(error) for error in case.answers.errors], dtype=np.bool_) & kind.of_answers
    # In reverse, so that the first reason remains.
    for name, reasons in (("unscored", scores.unscored), ("not_applicable", scores.not_applicable)):
        for why, queries in reversed(reasons):
            state[queries], reason[queries] = name, why
    state[failed], reason[failed] = "unscored", np.array(case.answers.errors, dtype=object)[failed]
    for scope in reversed(kind.scopes):
        # Of a request that failed, nobody knows the context.
        outside = ~scope.met(case) & ~(scope.of_context & failed & ~case.knows_context)
        state[outside], reason[outside] = "not_applicable", scope.reason
    excluded = np.array([bool(why) for why in case.contexts.reasons], dtype=np.bool_)
    state[excluded], reason[excluded] = "not_applicable", np.array(case.contexts.reasons, dtype=object)[excluded]
    values = np.where(state == "scored", scores.value, np.nan)
    return pd.DataFrame({"query": np.arange(len(case)), "value": values, "state": state, "reason": reason})
