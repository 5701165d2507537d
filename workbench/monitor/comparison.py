"""Compare the last UTC day of a log with the seven days before it: all questions, and slices of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import scipy

from workbench.measures.metrics.coverage import Floats
from workbench.measures.statistics.intervals import ALPHA, Interval, independent_difference
from workbench.measures.statistics.samples import DrawnSample, sampled_mean
from workbench.monitor.alerts.settings import CARDS, LIMITS, TAIL
from workbench.monitor.alerts.signals import version_names, versions_of
from workbench.monitor.judging import JudgeErrors, estimate
from workbench.monitor.log.summary import BEFORE, TODAY, WEEK

CHANGE = "change"
SUPPORT = ("faithfulness", "support_overlap")
# The days of a page's lines.
DAYS = 14
# Slices of one field, the largest of today.
_MOST_SLICES = 20
# Fewer earlier days have no usual range.
_FEWEST_DAYS = 3
_MEASURES = {alert.name: alert for alert in LIMITS if alert.column not in ("score", "lost")}
SLICED = ("faithfulness", "no_results")
_DRAWN = ("id", "cluster", "logged", "stratum", "probability", "reason")
COLUMNS = ("by", "group", "measure", "period", "value", "low", "high", "n", "of", "verdict")
_ROW = dict.fromkeys(("value", "low", "high"), np.nan) | {"n": 0, "of": 0, "verdict": ""}


def compare_days(
    table: pd.DataFrame, drawn: pd.DataFrame, evaluations: pd.DataFrame, errors: Mapping[str, JudgeErrors], changed: int | None = None
) -> pd.DataFrame:
    """Tabulate today, the week before and their differences: by, group, measure, period, value, low, high, n, of, verdict.

    `table` are rows of `signals`, `drawn` the same questions from `sampling.draw`, `evaluations` those of `judging.judge`. Periods are
    `today`, `week`, `change` (today minus week) and, of all questions, 14 days by date. Measures are those of alerts; of latency and cost it is the share of
    questions above the week's 95th percentile. Of n of `of` questions the value is known.

    Intervals have 95 %, and conversations are the units. Those of differences are MOVER's (Zou and Donner 2008). A difference has the `verdict` worse or
    better if its interval, widened by Bonferroni for all differences of one kind (of all questions, or of slices), excludes 0, and if a value of all questions
    is also outside the `usual_range` of the week's days, which fewer than 3 days do not have. `changed` is the time of the last change of a version, in nanoseconds since 1970.
    """
    rows = _recent(table, drawn)
    if rows.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    today = rows["day"].max()
    compared = rows[rows["day"] >= today - pd.Timedelta(days=BEFORE)]
    periods = {TODAY: compared[compared["day"] == today], WEEK: compared[compared["day"] < today]}
    scores = evaluations[evaluations["metric"].isin(SUPPORT)]
    values = _Values({name: _bounds(name, rows, periods[WEEK]) for name in _MEASURES}, scores, errors)
    tabulated = [*_of_slice("all", "", periods, (*_MEASURES, "faithfulness"), values)]
    for day, own in rows.groupby("day"):
        tabulated += _of_period(("all", "", f"{day:%Y-%m-%d}"), own, (*_MEASURES, "faithfulness"), values)
    for by, labels in _slices(compared):
        counts = labels[compared["day"] == today].value_counts()
        for group in counts.index[:_MOST_SLICES] if labels.nunique() > 1 else ():
            parts = {period: own[labels.loc[own.index] == group] for period, own in periods.items()}
            tabulated += _of_slice(by, str(group), parts, SLICED, values)
    return _with_verdicts(pd.DataFrame([_ROW | row for row in tabulated], columns=list(COLUMNS)), changed)


def keyed(comparison: pd.DataFrame) -> dict[tuple[str, str, str, str], dict[str, Any]]:
    """Return the rows of a comparison by slice, group, measure and period."""
    return {
        (row["by"], row["group"], row["measure"], row["period"]): {str(name): value for name, value in row.items()}
        for row in comparison.to_dict("records")
    }


@dataclass(frozen=True, eq=False)
class _Values:
    """The ends of scales or the limits of tails, the judged scores, and the errors of their judge."""

    bounds: Mapping[str, tuple[float, float]]
    scores: pd.DataFrame
    errors: Mapping[str, JudgeErrors]

    def mean(self, measure: str, rows: pd.DataFrame) -> Interval:
        """Return the mean of a measure over questions."""
        if measure != "faithfulness":
            return _mean(rows, measure, *self.bounds[measure])
        metric = str(self.scores["metric"].iloc[0]) if len(self.scores) else SUPPORT[0]
        return estimate(self.scores, rows, metric, self.errors, of_process=True).interval if len(rows) else _NOTHING


def _recent(table: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """Return the questions of the last 14 days with their UTC day, and conversations as numbers."""
    days = drawn["time"].dt.floor("D")
    recent = days > days.max() - pd.Timedelta(days=DAYS)
    rows: pd.DataFrame = table.loc[recent, [*(measure.column for measure in _MEASURES.values()), "setup", "turn"]].join(
        drawn.loc[recent, list(_DRAWN)]
    )
    return rows.assign(day=days[recent], cluster=pd.factorize(rows["cluster"])[0])


def _bounds(name: str, rows: pd.DataFrame, week: pd.DataFrame) -> tuple[float, float]:
    """Return the ends of a scale, or the 95th percentile of the week above which values are in the tail."""
    measure = _MEASURES[name]
    if measure.kind == "share":
        return 0.0, 1.0
    if measure.kind == "scale":
        return float(rows[measure.column].min()), float(rows[measure.column].max())
    known = week[week[measure.column].notna()]
    values, weights = known[measure.column].to_numpy(np.float64), _weights(known)
    limit = float(np.quantile(values, 1 - TAIL, weights=weights, method="inverted_cdf")) if len(values) else np.nan
    return limit, limit


def _of_slice(
    by: str, group: str, periods: Mapping[str, pd.DataFrame], measures: Sequence[str], values: _Values
) -> Iterator[dict[str, Any]]:
    rows = [row for period, own in periods.items() for row in _of_period((by, group, period), own, measures, values)]
    yield from rows
    for measure in measures:
        now, before = (row for row in rows if row["measure"] == measure)
        ends = ((row["value"], row["low"], row["high"]) for row in (now, before))
        value, low, high = independent_difference(*ends)
        yield {**now, "period": CHANGE, "value": value, "low": low, "high": high}


def _of_period(key: tuple[str, str, str], rows: pd.DataFrame, measures: Sequence[str], values: _Values) -> Iterator[dict[str, Any]]:
    by, group, period = key
    for measure in measures:
        mean = values.mean(measure, rows)
        ends = {"value": mean.value, "low": mean.low, "high": mean.high}
        yield {"by": by, "group": group, "measure": measure, "period": period, **ends, "n": mean.n, "of": len(rows)}


_NOTHING = Interval(np.nan, np.nan, np.nan, 0, 0)


def _mean(rows: pd.DataFrame, measure: str, low: float, high: float) -> Interval:
    values = rows[_MEASURES[measure].column].to_numpy(np.float64)
    if _MEASURES[measure].kind == "tail":
        values, low, high = np.where(np.isnan(values) | np.isnan(low), np.nan, values > low), 0.0, 1.0
    if np.isnan(values).all():
        return _NOTHING
    if low == high:
        return Interval(low, np.nan, np.nan, int((~np.isnan(values)).sum()), 0)
    weights = _weights(rows)
    sample = DrawnSample(np.zeros(len(rows), dtype=np.int64), weights, rows["cluster"].to_numpy(np.int64), np.array([weights.sum()]))
    mean = sampled_mean((values - low) / (high - low), sample)
    value, lower, upper = (low + (high - low) * end for end in (mean.value, mean.low, mean.high))
    return replace(mean, value=value, low=lower, high=upper)


def _weights(rows: pd.DataFrame) -> Floats:
    # As in the summary: a single line must not outweigh the log.
    return np.minimum(1 / rows["logged"].to_numpy(np.float64), 1e6)


def _slices(rows: pd.DataFrame) -> "Iterator[tuple[str, pd.Series[Any]]]":
    """Yield the fields by which questions are sliced, with the label of each question."""
    setups = {setup: versions_of(*setup) for setup in rows["setup"].unique()}
    for name in version_names(rows["setup"])[0]:
        yield name, rows["setup"].map({setup: own.get(name, "none") for setup, own in setups.items()})
    turns = rows["turn"].astype("float64")
    if turns.notna().any():
        yield "turn", pd.Series(np.select([turns == 1, turns > 1], ["first", "later"], "unknown"), index=rows.index)


def _with_verdicts(comparison: pd.DataFrame, changed: int | None) -> pd.DataFrame:
    """Add the verdicts on differences."""
    changes = comparison[(comparison["period"] == CHANGE) & comparison["low"].notna()]
    for _, family in changes.groupby(changes["by"] == "all"):
        stretch = scipy.special.ndtri(ALPHA / 2 / len(family)) / scipy.special.ndtri(ALPHA / 2)
        for place, row in family.iterrows():
            value, days = row["value"], daily(comparison, row["measure"])
            rises, falls = value - stretch * (value - row["low"]) > 0, value + stretch * (row["high"] - value) < 0
            low, high = usual_range(days, changed) if row["by"] == "all" else (np.inf, -np.inf)
            # Without a usual range, of NaN, no value is outside it.
            if (rises or falls) and (days.iloc[-1] < low or days.iloc[-1] > high):
                comparison.loc[place, "verdict"] = "worse" if falls != CARDS[row["measure"]].in_points else "better"
    return comparison


def usual_range(days: "pd.Series[float]", changed: int | None) -> tuple[float, float]:
    """Return the lowest and the highest value of the week before the last of `days`, NaN for fewer than 3.

    If a version changed within the week, and 3 of its days are over before that, it is their range.
    """
    end = pd.Timestamp(changed or 0, unit="ns").floor("D")
    week = {day: value for day, value in days.iloc[-1 - BEFORE : -1].items() if not np.isnan(value)}
    before = [value for day, value in week.items() if pd.Timestamp(str(day)) < end]
    values = before if len(before) >= _FEWEST_DAYS else [*week.values()]
    return (min(values), max(values)) if len(values) >= _FEWEST_DAYS else (np.nan, np.nan)


def daily(comparison: pd.DataFrame, measure: str) -> "pd.Series[float]":
    """Return the values of a measure by date: the 14 days until today, NaN for those without one."""
    rows = comparison[(comparison["by"] == "all") & (comparison["measure"] == measure) & comparison["period"].str.match(r"\d{4}-")]
    values = rows.set_index(pd.to_datetime(rows["period"]))["value"]
    return values.reindex(pd.date_range(end=values.index.max(), periods=DAYS)) if len(values) else values
