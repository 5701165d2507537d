"""One judged metric of one variant for each question."""

import numpy as np
import pandas as pd

from workbench.metrics.answers.evaluate import tabulated
from workbench.metrics.case import Cut
from workbench.metrics.judged.case import JudgedCase
from workbench.metrics.judged.registry import JudgedKind


def judged_values(case: JudgedCase, kind: JudgedKind, cut: Cut) -> pd.DataFrame:
    """Tabulate a metric for each question: `query, value, state, reason`, as `metrics.answers.evaluate` does.

    If the judge of claims is a score, a metric of verdicts applies to no question.
    """
    table = tabulated(case.answered, kind, kind.compute(case, cut))
    if not (kind.needs_verdicts and case.only_score):
        return table
    reasons = np.array(case.answered.contexts.reasons, dtype=object)
    return table.assign(value=np.nan, state="not_applicable", reason=np.where(reasons == "", case.only_score, reasons))
