"""Risk against coverage for generators that report a confidence."""

import numpy as np
import pandas as pd

from workbench.analysis.answers.values import answer_measure
from workbench.errors import InputError
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.statistics.answers.selective import RiskCoverage, risk_coverage


def risk_of(run: RunTables, configuration: str, metric: str, condition: str = RETRIEVED) -> RiskCoverage | None:
    """Return the curve of a metric that is a proportion, None if the generator reports no confidence.

    All questions that were asked and did not fail count for the coverage, refused ones as not answered. An answer to an unanswerable question
    scores 0. An answer without a score otherwise, such as one without an expected answer, is left out with its question.
    """
    measure = answer_measure(run, metric)
    if not (measure.proportion and measure.higher_is_better):
        raise InputError(f"{metric} is no share of right answers", "choose a metric such as token_f1")
    rows = _scored(run, configuration, metric, condition)
    rows = rows[rows["score"].notna() | rows["refused"]]
    answered = rows[~rows["refused"] & rows["confidence"].notna()]
    if answered.empty:
        return None
    return risk_coverage(answered["confidence"].to_numpy(np.float64), answered["score"].to_numpy(np.float64), len(rows))


def _scored(run: RunTables, configuration: str, metric: str, condition: str) -> pd.DataFrame:
    """The answers of a condition that were given or refused, with their `score`: 0 for unanswerable questions, NaN if unknown."""
    keys, answers, scores = ["variant", "repeat", "query_id"], run.of("answers", configuration), run.of("queries", configuration)
    answers = answers[(answers["condition"] == condition) & (answers["error"] == "") & (answers["reason"] == "")]
    scores = scores[(scores["condition"] == condition) & (scores["metric"] == metric)][[*keys, "value"]]
    rows = answers.merge(scores, how="left", on=keys).merge(run.questions[["query_id", "answerable"]], on="query_id")
    return rows.assign(score=rows["value"].where(rows["answerable"], 0.0))
