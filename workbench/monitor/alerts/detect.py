"""Decide from logged questions when each alert was raised and resolved."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import AfterValidator, Field

from workbench.core.text.formatting import plural
from workbench.measures.metrics.coverage import Floats
from workbench.measures.statistics.change_points import change_estimate, first_alarm, lower_bound, masses
from workbench.monitor.alerts.settings import DRIFTS, EVENTS, LIMITS, TAIL, VECTORS, AlertSettings, LimitAlert
from workbench.monitor.alerts.signals import (
    DAY,
    TESTS_A_MONTH,
    THINNED,
    WEEK,
    ConversationValues,
    Encode,
    VersionChange,
    lost_results,
    nanoseconds,
    ordered,
    thinned,
    units,
    version_changes,
    window_tests,
)

_MONTH = 28 * DAY
# Fewer conversations say too little of a reference period.
FEWEST_REFERENCE = 50
_SILENCE = 28 * DAY
_EVIDENCE = 10
NEEDS = "a learned limit needs"
HOLDS, QUIET = "the limit holds again", "no new evidence"

Nanoseconds = Annotated[int, Field(ge=0, lt=2**63)]


def _is_change(text: str) -> str:
    """Return the text of a change, which ends with its time in the form of `iso`. Raises ValueError for another text."""
    time = text.rpartition(" at ")[2]
    if text and iso(int(nanoseconds(pd.Series([time]))[0])) != time:
        raise ValueError("a change without a time since 1970")
    return text


@dataclass(frozen=True, slots=True)
class RaisedAlert:
    """An alert that was raised. Times are nanoseconds since 1970, and `resolved` is None while it lasts.

    `since` is the estimated time of the change. The `count` conversations (or rows) from it until the alert have the `value`, between `low` and `high` with
    95 % confidence, if the interval is known: as the change is estimated from them, the value is a little extreme. `change` is the last change of a version before.
    """

    alert: str
    about: str
    raised: Nanoseconds
    since: Nanoseconds
    count: Annotated[int, Field(ge=0, lt=2**63)]
    evidence: tuple[str, ...] = ()
    resolved: Nanoseconds | None = None
    reason: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    change: Annotated[str, AfterValidator(_is_change)] = ""


class AlertTest(NamedTuple):
    """An alert that was tested on conversations (or windows) with a limit, or why it was not. Of a tail, `bound` is the number that few may exceed."""

    alert: str
    observations: int
    limit: float | None = None
    untested: str = ""
    bound: float | None = None


class DetectedAlerts(NamedTuple):
    """The alerts of a log up to a time, what was tested, and the rows that were left out by reason."""

    raised: tuple[RaisedAlert, ...]
    tested: tuple[AlertTest, ...]
    until: int
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class _Log:
    """Logged questions in order, `table` those that had equal chances to be logged, the changes of versions, the reference period, and the present."""

    whole: pd.DataFrame
    table: pd.DataFrame
    changes: list[VersionChange]
    settings: AlertSettings
    period: tuple[int, int]
    until: int

    @property
    def quiet(self) -> int:
        return round(self.settings.quiet_days * DAY)

    @property
    def idle(self) -> int:
        return round(self.settings.idle_minutes * 60e9)

    def change_before(self, time: int) -> str:
        times = self.whole["time"].to_numpy()
        row = max((change.row for change in self.changes if times[change.row] <= time), default=None)
        if row is None:
            return ""
        changed = [f"{name} changed from {old} to {new}" for changed_row, name, old, new in self.changes if changed_row == row]
        return f"{' and '.join(changed)} at {iso(int(times[row]))}"


@dataclass(frozen=True, slots=True, eq=False)
class _BadValues:
    """Values as parts of [0, 1] that are bad if large (n), with their rows. A part x was the number `offset` + `factor` x.

    `scores` (n) are the values of a scale: the test clips those beyond the reference's range, and an alert reports their mean.
    """

    parts: Floats
    rows: pd.DataFrame
    about: str
    offset: float = 0.0
    factor: float = 1.0
    bound: float | None = None
    scores: Floats | None = None

    def number(self, part: float) -> float:
        return self.offset + self.factor * part

    def worst(self, since: int, until: int) -> tuple[str, ...]:
        """Return the ids of the worst values of a time, of equal ones the latest, and each text of a question once."""
        times = self.rows["time"].to_numpy()
        inside = np.flatnonzero((times >= since) & (times <= until) & (self.parts > 0))
        ordered = self.rows.iloc[inside[np.lexsort((-times[inside], -self.parts[inside]))]]
        return tuple(ordered["id"][~ordered["query"].duplicated()][:_EVIDENCE])


def detect(
    questions: pd.DataFrame,
    settings: AlertSettings,
    judged: pd.DataFrame | None = None,
    encode: Encode | None = None,
    until: int | None = None,
) -> DetectedAlerts:
    """Return the alerts of a log: `questions` are rows of `signals`, `judged` has the columns id, metric, score, uniform and time.

    Of `judged`, the metrics `faithfulness` and `refusal_rate` are read, the latter of questions whose refusal is not logged. Only those that were sampled
    uniformly are bet on: questions that were chosen because they look bad say nothing of the others, and weights 1 / π would cost power in proportion
    to the smallest π. For the same reason rows are `thinned` to the lowest probability with which one was logged. Without `encode`, question drift and
    near-duplicates are not looked for. `until` is the present time, by default that of the last row. A decision depends on earlier rows only, so a longer log
    has the same alerts, unless a row of it was logged with a lower probability. It must begin with the same reference period.
    """
    whole, left_out = ordered(questions, until)
    table = thinned(whole)
    left_out[THINNED] = len(whole) - len(table)
    until = until if until is not None else int(whole["time"].max()) if len(whole) else 0
    begins = nanoseconds(pd.Series([settings.reference_from])) if settings.reference_from else whole["time"].to_numpy()
    start, length = int(begins.min(initial=until)), round(settings.reference_days * DAY)
    times, first = whole["time"].to_numpy(), start
    # Some rows with old times are no reference: it begins again after a long silence, before which nothing was tested.
    while not settings.reference_from and (later := times[times >= start + length]).size and later[0] - start > length + _SILENCE:
        start = int(later[0])
    silent = f"before {_SILENCE // DAY} days of silence, after which the reference period begins"
    left_out[silent] = int((times < start).sum()) if start > first else 0
    period = (start, start + length)
    # In the first half of the reference period questions become known, and the second half shows which share is usual.
    lost, uncompared = lost_results(table, int(np.searchsorted(table["time"].to_numpy(), sum(period) // 2)), encode)
    left_out["no results, and not compared with similar questions"] = uncompared
    table = table.assign(lost=lost, refused=_refused(table, judged))
    log = _Log(whole, table, version_changes(whole["setup"]), settings, period, until)
    raised, tested = list[RaisedAlert](), list[AlertTest]()
    for alert in LIMITS:
        if settings.limit(alert).active:
            rows = _judged(log, judged, left_out) if alert.column == "score" else log.table
            _watch_limit(alert, _parts(alert, rows, log), log, raised, tested)
    _watch_drift(log, encode, raised, tested)
    raised += _changed_vectors(log) if settings.vectors else ()
    return DetectedAlerts(
        tuple(_merged(raised, log.quiet)), tuple(tested), until, {name: count for name, count in left_out.items() if count}
    )


def iso(time: int) -> str:
    """Return a time as in a log, to the second."""
    return pd.Timestamp(time, unit="ns", tz="UTC").strftime("%Y-%m-%dT%H:%M:%SZ")


def counted(alert: RaisedAlert) -> str:
    """Say from how many conversations, or questions of an alert without a test, an alert was raised."""
    return plural(alert.count, "question" if alert.limit is None else "conversation")


def began(alert: RaisedAlert) -> str:
    """Say whether an alert began after the last change of a version, or about then: the time since when is an estimate."""
    changed = pd.to_datetime(alert.change.rpartition(" at ")[2], utc=True, errors="coerce")
    return "after" if alert.since >= changed.value else "about when"


def _refused(table: pd.DataFrame, judged: pd.DataFrame | None) -> "pd.Series[float]":
    """Return which questions were refused: as it is logged, else as it was judged."""
    if judged is None or judged.empty:
        return table["refused"]
    rows = judged[(judged["metric"] == "refusal_rate") & judged["uniform"].astype(bool)].drop_duplicates("id")
    return table["refused"].fillna(table["id"].map(rows.set_index("id")["score"]))


def _judged(log: _Log, judged: pd.DataFrame | None, left_out: dict[str, int]) -> pd.DataFrame:
    """Return the faithfulness of uniformly sampled answers, at the time when it was judged."""
    if judged is None or judged.empty:
        return log.table.iloc[:0].assign(score=np.nan)
    scores = judged[(judged["metric"] == "faithfulness") & judged["uniform"].astype(bool)].drop_duplicates("id")
    known = scores.merge(log.table[["id", "session", "time", "query"]], on="id", suffixes=("", "_asked"))
    number = pd.to_numeric(known["score"], errors="coerce").astype(float)
    valid = number.between(0, 1)
    unknown = int((~scores["id"].isin(log.whole["id"])).sum())
    left_out |= {"a score of an unknown question": unknown, "no score within 0 and 1": int((~valid).sum())}
    return known.assign(score=number.where(valid), time=np.maximum(nanoseconds(known["time"]), known["time_asked"]))


def _parts(alert: LimitAlert, rows: pd.DataFrame, log: _Log) -> _BadValues:
    setting, values = log.settings.limit(alert), rows[alert.column].to_numpy(dtype=np.float64)
    if alert.kind == "share":
        return _BadValues(values, rows, alert.about)
    if alert.kind == "score":
        return _BadValues(1 - values, rows, alert.about, 1.0, -1.0)
    before = values[rows["time"].between(*log.period, inclusive="left").to_numpy() & ~np.isnan(values)]
    if not len(before) and (setting.limit is None or alert.kind == "scale"):
        return _BadValues(np.where(np.isnan(values), np.nan, 0), rows, alert.about)
    if alert.kind == "tail":
        limit = setting.limit if setting.limit is not None else float(np.quantile(before, 1 - TAIL)) * (1 + setting.margin)
        return _BadValues(np.where(np.isnan(values), np.nan, values > limit), rows, alert.about.format(limit=limit), bound=limit)
    low, high = _usual_range(before)
    # Scores that are all equal are no similarities.
    parts = (high - np.clip(values, low, high)) / (high - low) if high > low else np.full(len(values), np.nan)
    return _BadValues(parts, rows, alert.about, high, low - high, scores=values)


def _usual_range(scores: Floats) -> tuple[float, float]:
    """Return the range without outliers (beyond Tukey's outer fences), of which one could make it so wide that no fall is seen in it."""
    first, third = np.quantile(scores, [0.25, 0.75])
    fence = 3 * (third - first) or np.inf
    return max(float(scores.min()), float(first - fence)), min(float(scores.max()), float(third + fence))


def _watch_limit(alert: LimitAlert, bad: _BadValues, log: _Log, raised: list[RaisedAlert], tested: list[AlertTest]) -> None:
    setting, settings = log.settings.limit(alert), log.settings
    seen = _conversations(bad, bad.parts, log)
    before = seen.values[(seen.times >= log.period[0]) & (seen.times < log.period[1])]
    learned = setting.limit is None or alert.kind == "scale"
    start = int(np.searchsorted(seen.times, log.period[1])) if learned else 0
    if why := _untested(bad, alert, seen, (start, len(before) if learned else None), log):
        tested.append(AlertTest(alert.name, 0, untested=why))
        return
    # Half of the level is for a reference that seems worse than it is, and half for the test.
    level, limit = settings.level / (1 + learned), TAIL
    if learned:
        worst = 1 - lower_bound(1 - before, level)
        # A mean of any scale has no share: its margin counts deviations. That of a tail is in its limit.
        beyond = {"tail": 0.0, "scale": setting.margin * float(before.std())}.get(alert.kind, setting.margin * worst)
        limit = max(TAIL, worst) if alert.kind == "tail" else worst + beyond
    if setting.limit is not None and alert.kind != "tail":
        limit = (setting.limit - bad.offset) / bad.factor
    limit = float(np.clip(limit, 1e-6, 1 - 1e-3))
    tested.append(AlertTest(alert.name, len(seen.times) - start, bad.number(limit), bound=bad.bound))
    raised += _episodes(alert, bad, seen, (limit, level, start), log)


def _conversations(bad: _BadValues, values: Floats, log: _Log) -> ConversationValues:
    return units(bad.rows["time"].to_numpy(), bad.rows["session"], values, log.idle, log.until)


def _untested(bad: _BadValues, alert: LimitAlert, seen: ConversationValues, numbers: tuple[int, int | None], log: _Log) -> str:
    """Return why conversations from a first one on are not tested, or nothing. The second number is of those of the reference, None if it is not needed."""
    start, before = numbers
    if bad.rows[alert.column].isna().all():
        return "no answer was judged" if alert.kind == "score" else "no question has this value"
    if before is not None and log.until < log.period[1]:
        return "the reference period is not over"
    if np.isnan(bad.parts).all():
        # Scores that are all equal are no similarities.
        return "all values of the reference period are equal"
    if not len(seen.times):
        return "no conversation with a value is over"
    if before is not None and before < FEWEST_REFERENCE:
        return f"the reference period has only {plural(before, 'conversation')} with a value, and {NEEDS} {FEWEST_REFERENCE}"
    return "" if start < len(seen.times) else "no conversation has a value since the reference period"


def _episodes(
    alert: LimitAlert, bad: _BadValues, seen: ConversationValues, test: tuple[float, float, int], log: _Log
) -> Iterator[RaisedAlert]:
    """Yield each rise of the mean above its limit, until a test says that the limit holds again or there was no new evidence for the quiet time."""
    (times, values, starts), (limit, level, start) = seen, test
    weights = masses((times - times[start]) // _MONTH, log.settings.observations)
    shown = bad.offset + bad.factor * values if bad.scores is None else _conversations(bad, bad.scores, log).values
    while (end := first_alarm(values, limit, weights, 1 / level, start)) is not None:
        first, latest = (start + place for place in change_estimate(values[start : end + 1], limit))
        some = values[first : end + 1]
        value = float(shown[first : end + 1].mean())
        low, high = sorted((bad.number(lower_bound(some, 0.025, stopped=True)), bad.number(1 - lower_bound(1 - some, 0.025, stopped=True))))
        # The interval is of clipped values. It says nothing of a mean outside it.
        known = low <= value <= high
        resolved, reason = _resolution(seen, (first, end), limit, level, weights, log)
        yield RaisedAlert(
            alert.name,
            bad.about,
            raised=int(times[end]),
            since=int(starts[first]),
            count=len(some),
            evidence=bad.worst(int(starts[first]), int(times[end])),
            resolved=resolved,
            reason=reason,
            value=value,
            low=low if known else None,
            high=high if known else None,
            limit=bad.number(limit),
            change=log.change_before(int(times[latest])),
        )
        if resolved is None:
            return
        start = max(end + 1, int(np.searchsorted(times, resolved, side="right")))


def _resolution(
    seen: ConversationValues, episode: tuple[int, int], limit: float, level: float, weights: Floats, log: _Log
) -> tuple[int | None, str]:
    """Return when an alert was resolved and why.

    The test is the same detector of the opposite, at the false-alarm rate of the whole set. The quiet time begins at the last alarm, which is raised
    again while the limit is broken, and has at least twice as many observations as the first alarm took.
    """
    (times, values, _), (first, end) = seen, episode
    fewest = 2 * (end - first + 1)
    better = first_alarm(1 - values, 1 - limit, weights, 1 / log.settings.false_alarms, end + 1)
    while True:
        quiet = int(max(times[end] + log.quiet, times[end + fewest])) if end + fewest < len(times) else None
        again = first_alarm(values, limit, weights, 1 / level, end + 1)
        if again is None or (quiet is not None and times[again] > quiet) or (better is not None and better <= again):
            break
        end = again
    if better is not None and (quiet is None or times[better] <= quiet):
        return int(times[better]), HOLDS
    return (quiet, QUIET) if quiet is not None and quiet <= log.until else (None, "")


def _watch_drift(log: _Log, encode: Encode | None, raised: list[RaisedAlert], tested: list[AlertTest]) -> None:
    names = [name for name in DRIFTS if getattr(log.settings, name)]
    level = log.settings.level / TESTS_A_MONTH
    tests, why = window_tests(log.table, log.period, level, encode, log.until) if encode and names else ([], "no embedder")
    for name in names:
        tested.append(AlertTest(name, len(tests), untested=why))
        for window in tests:
            value, p = (window.test.energy, window.test.energy_p) if name == "drift" else (window.test.fall, window.test.fall_p)
            if p <= level:
                event = _event(name, DRIFTS[name].about, log.table["id"].iloc[window.rows], window.time, log)
                raised.append(replace(event, since=window.time - WEEK, value=value))


def _changed_vectors(log: _Log) -> Iterator[RaisedAlert]:
    for row in [change.row for change in log.changes if change.name in VECTORS]:
        yield _event("vectors", EVENTS["vectors"].about, log.whole["id"].iloc[[row]], int(log.whole["time"].iloc[row]), log)


def _event(alert: str, about: str, ids: "pd.Series[Any]", time: int, log: _Log) -> RaisedAlert:
    """Return an alert that is raised at a time, and resolved when the quiet time has passed."""
    resolved, reason = (time + log.quiet, QUIET) if time + log.quiet <= log.until else (None, "")
    return RaisedAlert(alert, about, time, time, len(ids), tuple(ids[:_EVIDENCE]), resolved, reason, change=log.change_before(time))


def _merged(raised: list[RaisedAlert], quiet: int) -> Iterator[RaisedAlert]:
    """Yield alerts in the order of time. One that is raised before the same alert was resolved, or within the quiet time after it, continues it."""
    known: dict[str, RaisedAlert] = {}
    for alert in sorted(raised, key=lambda alert: alert.raised):
        before = known.get(alert.alert)
        if before and (before.resolved is None or alert.raised <= before.resolved + quiet):
            known[alert.alert] = replace(before, resolved=alert.resolved, reason=alert.reason)
        else:
            yield from (before,) if before else ()
            known[alert.alert] = alert
    yield from known.values()
