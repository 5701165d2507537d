"""Estimates for all questions of a log from the judged ones."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.monitor.sampling import REFUSED
from workbench.statistics.intervals import Interval
from workbench.statistics.judging.calibration import CalibrationValue
from workbench.statistics.judging.sampled import DrawnSample, corrected_for_judge, sampled_mean

# The sensitivity and the false alarms of a judge, as `workbench judge calibrate` measures them.
JudgeErrors = tuple[CalibrationValue, CalibrationValue]
_TASKS = {"faithfulness": "support", "support_overlap": "support", "answer_relevance": "answer_relevance"}


@dataclass(frozen=True, slots=True)
class LogEstimate:
    """The mean of a metric over `of` questions of a log, from `interval.n` drawn ones.

    `name` is what it may be called: faithfulness needs a judge with measured errors, else it is a score. `judged` is the mean by the judge alone,
    None if the value is not corrected. `unscored` counts drawn questions without a score by reason.
    """

    metric: str
    name: str
    interval: Interval
    judged: Interval | None
    unscored: Mapping[str, int]
    of: int


def estimate(
    evaluations: pd.DataFrame,
    drawn: pd.DataFrame,
    metric: str,
    errors: Mapping[str, JudgeErrors] | None = None,
    of_process: bool = False,
) -> LogEstimate:
    """Estimate the mean of a metric over the questions of which some were drawn. Sessions are the clusters.

    With `of_process` the interval is that of the service: other questions could have been asked. Two days differ by chance as services, not as the questions
    that they had.

    `evaluations` are rows of `judging.judge`, of one judge of each metric, `drawn` those of `sampling.draw`, of all questions or of a slice. With the `errors` of
    the judges of the tasks `support` and `answer_relevance`, the share of approved claims or answers is corrected.
    """
    # Refusals that the system declares are known without a draw.
    declared = drawn["reason"].eq(REFUSED) & (metric == "refusal_rate")
    known = drawn.assign(probability=drawn["probability"].mask(declared, drawn["logged"]), value=np.where(declared, 1.0, np.nan))
    known["stratum"] = known["stratum"].mask(declared, REFUSED)
    known = known[known["stratum"] != ""]
    codes, names = pd.factorize(known["stratum"], sort=True)
    sizes = np.bincount(codes, 1 / known["logged"], minlength=len(names)).astype(np.float64)
    known = known.assign(code=codes)[known["reason"].isin(["", REFUSED])]
    rows = evaluations.loc[evaluations["metric"] == metric, ["id", "value", "approved", "state", "reason"]]
    found = known.drop(columns="reason").merge(rows, on="id", how="left", suffixes=("_known", ""))
    found["state"] = found["state"].mask(found["value_known"].notna(), "scored")
    unscored = found.loc[~found["state"].isin(["scored", "not_applicable"]), "reason"].fillna("not judged").value_counts()
    found = found[found["state"].isin(["scored", "not_applicable"])]
    clusters = pd.factorize(found["cluster"])[0].astype(np.int64)
    sample = DrawnSample(found["code"].to_numpy(np.int64), (1 / found["probability"]).to_numpy(np.float64), clusters, sizes)
    sample = sample.of_process() if of_process else sample
    measured = (errors or {}).get(_TASKS.get(metric, ""))
    values = (found["approved"] if measured else found["value"]).fillna(found["value_known"])
    judged = sampled_mean(values.to_numpy(np.float64), sample)
    interval = corrected_for_judge(judged, *measured) if measured else judged
    counts = {str(reason): int(count) for reason, count in unscored.items()}
    return LogEstimate(metric, _name(metric, measured is not None), interval, judged if measured else None, counts, round(sizes.sum()))


def judge_errors(calibration: pd.DataFrame, judge: str) -> dict[str, JudgeErrors]:
    """Return the errors of a judge by task from the table `calibration` of a run. Tasks without both, with intervals, are left out."""
    rows = calibration[(calibration["judge"] == judge) & calibration["low"].notna()]
    found = {
        (str(row["task"]), row["measure"]): CalibrationValue(row["value"], row["low"], row["high"], int(row["n"]))
        for row in rows.to_dict("records")
    }
    return {
        task: (value, found[task, "false_alarms"])
        for (task, name), value in found.items()
        if name == "sensitivity" and (task, "false_alarms") in found
    }


def _name(metric: str, measured: bool) -> str:
    if metric not in _TASKS or measured:
        return "faithfulness" if metric == "support_overlap" else metric
    return "support score" if metric == "support_overlap" else f"{metric.replace('_', ' ')} score"
