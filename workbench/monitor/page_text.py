"""Words and numbers of the monitoring page."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.core.display import excerpt
from workbench.core.formatting import capitalised, interval, listed, number, share, signed
from workbench.monitor.alerts.detect import RaisedAlert, WatchedAlert, began
from workbench.monitor.alerts.settings import LIMITS

TITLES = {
    "faithfulness": "Support of answers",
    "no_results": "Without results",
    "similarity": "First-hit similarity",
    "latency": "Latency, p95",
    "feedback": "Negative feedback",
    "refusals": "Refused",
    "cost": "Cost of a question",
}
# The meaning of an alert, or of a difference for the worse.
WORSE = {
    "faithfulness": "answers are less supported by their passages",
    "no_results": "more questions are without results",
    "lost_results": "known questions lost their results or their first document",
    "similarity": "first hits are less similar",
    "latency": "more answers are slow",
    "feedback": "more feedback is negative",
    "refusals": "more questions are refused",
    "cost": "more questions are costly",
    "drift": "people ask about new subjects",
    "off_topic": "more questions are off the topics of the reference",
    "vectors": "the embedder is another one",
}
_POINTS = tuple(alert.name for alert in LIMITS if alert.kind in ("share", "tail"))
# Of latency and cost, differences are those of a share.
TAILS = {"latency": "of answers slower than last week's p95", "cost": "of questions dearer than last week's p95"}
_LONGEST_CHANGE = 100


def amount(measure: str, value: float) -> str:
    """Format a value of a measure; of latency it is in seconds."""
    if measure == "latency":
        return seconds(value)
    if measure == "cost":
        return "–" if math.isnan(value) else f"{value:.3g}"
    return number(value, 2) if measure in ("faithfulness", "similarity") or math.isnan(value) else share(value, 1)


def seconds(value: float) -> str:
    """Format a time, in milliseconds if it is below a second."""
    if math.isnan(value) or value >= 1:
        return number(value) if math.isnan(value) else f"{number(value, 2)} s"
    return "<0.01 ms" if 0 < value < 1e-5 else f"{float(f'{value * 1000:.3g}'):g} ms"


def difference(measure: str, row: Mapping[str, Any]) -> tuple[str, str]:
    """Format a difference and its interval. Those of shares are in points; of latency and cost it is that of a share."""
    factor, digits = (100, 1) if measure in _POINTS else (1, 3)
    unit = " points" if measure in _POINTS and not math.isnan(row["value"]) else ""
    bounds = "" if math.isnan(row["low"]) else interval(row["low"] * factor, row["high"] * factor, digits)
    return f"{signed(row['value'] * factor, digits)}{unit}", bounds


def limit_text(measure: str, tested: WatchedAlert | None) -> str:
    """Format the limit of an alert, or say why it has no limit."""
    if tested is None or tested.untested or tested.limit is None:
        return f"no limit: {tested.untested}" if tested else "no alert is set"
    bound = "" if tested.bound is None else f" above {amount(measure, tested.bound)}"
    return f"alert limit: {_level(measure, tested.limit)}{bound}"


def raised_text(alert: RaisedAlert) -> str:
    """Say the value of an alert that was raised, and its limit."""
    value, low, high, limit = (
        "" if each is None else _level(alert.alert, each) for each in (alert.value, alert.low, alert.high, alert.limit)
    )
    return value + (f" [{low}, {high}]" if low and high else "") + (f", limit {limit}" if limit else "")


def _level(measure: str, value: float) -> str:
    return share(value, 1) if measure in _POINTS else number(value, 2)


def when(time: int, until: int) -> str:
    """Format nanoseconds since 1970 in UTC, with the year if it is not that of `until`."""
    own, present = pd.Timestamp(time, unit="ns"), pd.Timestamp(until, unit="ns")
    return f"{own.day} {own:%b}{'' if own.year == present.year else f' {own.year}'} {own:%H:%M}"


def change_text(alert: RaisedAlert, until: int) -> str:
    """Say which versions changed last before an alert: it began after that, or the order is not certain. Empty without a change."""
    if not alert.change:
        return ""
    versions, _, time = alert.change.rpartition(" at ")
    return f"{began(alert)} {excerpt(versions, _LONGEST_CHANGE)} ({when(pd.Timestamp(time).value, until)})"


def happened(alerts: Sequence[RaisedAlert], until: int) -> str:
    """Summarise open alerts: their meanings, when they began, and the last change of a version before each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for alert in alerts:
        groups.setdefault((change_text(alert, until), when(alert.since, until)), []).append(WORSE.get(alert.alert, alert.about))
    parts: dict[str, list[str]] = {}
    for (change, time), names in groups.items():
        parts.setdefault(change, []).append(f"since {time}, {listed(list(dict.fromkeys(names)))}")
    return " ".join(f"{capitalised('; '.join(seen))}{f', {change}' if change else ''}." for change, seen in parts.items())
