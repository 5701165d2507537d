"""One judged metric of one variant for each question."""

import numpy as np
import pandas as pd

from workbench.metrics.answers.evaluate import tabulated
from workbench.metrics.case import Cut
from workbench.metrics.judged.case import JudgedCase
from workbench.metrics.judged.registry import JudgedKind


def judged_values(case: JudgedCase, kind: JudgedKind, cut: Cut) -> pd.DataFrame:
    """Tabulate a metric for each question: `query, value, state, reason`, as `metrics.answers.evaluate` does.

    If the judge of claims does not give what a metric needs, it applies to no question, and if that is
    not known yet because calls of the judge's test failed, no question is scored.
    """
    table = tabulated(case.answered, kind, kind.compute(case, cut))
    if case.untested and kind.needs != "scores":
        scored = table["state"] == "scored"
        return table.assign(
            value=table["value"].mask(scored),
            state=table["state"].mask(scored, "unscored"),
            reason=table["reason"].mask(scored, case.untested),
        )
    if not (lacking := case.lacks(kind.needs)):
        return table
    reasons = np.array(case.answered.contexts.reasons, dtype=object)
    return table.assign(value=np.nan, state="not_applicable", reason=np.where(reasons == "", lacking, reasons))
