"""Check limits of means."""

import math
from dataclasses import dataclass, replace

import scipy

from workbench.analysis.judging.labels import METRICS_OF
from workbench.core.formatting import interval, number, plural
from workbench.errors import InputError
from workbench.gate.report import RuleResult
from workbench.gate.rules import Floor, Subject
from workbench.gate.settings import GateSettings
from workbench.gate.subjects import GatedConfiguration
from workbench.statistics.gates.floors import FloorTest, floor_test
from workbench.statistics.gates.paired import Decision

_ROUNDING = 1e-9
_DIGITS = 3
# Standard errors in half a 95 % interval.
_TWO_SIDED = 1.959964


def floor_result(own: GatedConfiguration, floor: Floor, settings: GateSettings) -> RuleResult:
    """Check a limit. Raises InputError if it cannot be met, or if the run does not have the values."""
    subject, measure = floor.subject, own.measure(floor.subject)
    kind = floor.kind or settings.floor_kind or ("inference" if measure.of_answers else "specification")
    values = own.values(subject)
    own.require_scored(subject, values, settings.max_unscored, own.name)
    most = own.attainable(subject)
    if measure.higher_is_better and floor.limit > (most if not math.isnan(most) else 1.0 if measure.proportion else math.inf) + _ROUNDING:
        highest = number(1.0 if math.isnan(most) else most)
        raise InputError(f"{floor} cannot be met: at most {highest} is attainable on these questions", f"write a limit up to {highest}")
    if measure.proportion and not 0 <= floor.limit <= 1:
        raise InputError(f"{floor} cannot be met: {subject.metric} is between 0 and 1", "write a limit in this range")
    found = floor_test(
        values,
        own.clusters,
        floor.limit,
        inference=kind == "inference",
        proportion=measure.proportion,
        scale=own.scale(subject, values),
    )
    corrected = corrected_mean(own, subject) if kind == "inference" else None
    if corrected is not None:
        found = _with_correction(found, corrected, measure.higher_is_better)
    return RuleResult(
        rule=str(floor),
        kind=kind,
        metric=subject.metric,
        slice=subject.slice,
        condition=subject.condition,
        outcome=found.outcome,
        reason=_corrected_reason(found, corrected) if corrected is not None else _reason(found, kind),
        value=found.value,
        low=found.low,
        high=found.high,
        limit=floor.limit,
        p=found.p,
        n=found.n,
        clusters=found.clusters,
        unscored=found.unscored,
    )


def _reason(found: FloorTest, kind: str) -> str:
    if kind == "specification":
        return f"{number(found.value, _digits(found, found.value))} on these {plural(found.n, 'question')}{_unscored(found)}"
    digits = _digits(found, found.low, found.high)
    bounds = f"{number(found.value, digits)} {interval(found.low, found.high, digits)}"
    return f"{bounds} on {plural(found.n, 'question')}{_undecided(found)}{_unscored(found)}"


def _digits(found: FloorTest, *shown: float) -> int:
    """Return how many digits tell numbers from the limit, 3 if they are equal to it."""
    apart = [abs(value - found.limit) for value in shown if math.isfinite(value) and abs(value - found.limit) > _ROUNDING]
    return max(_DIGITS, *(math.ceil(-math.log10(distance)) for distance in apart)) if apart else _DIGITS


def _undecided(found: FloorTest) -> str:
    if found.outcome is not Decision.UNDECIDED:
        return ""
    if math.isnan(found.low):
        return f"; the questions are about {plural(found.clusters, 'document')}, too few for an interval"
    return "; the interval contains the limit"


def _unscored(found: FloorTest) -> str:
    return f"; {plural(found.unscored, 'question')} without a value counted at worst and at best" if found.unscored else ""


@dataclass(frozen=True, slots=True)
class _Corrected:
    """A mean of judgements that labels correct, with its 95 % interval for other questions and documents like these."""

    value: float
    low: float
    high: float
    labels: int


def corrected_mean(own: GatedConfiguration, subject: Subject) -> _Corrected | None:
    """Return the corrected mean of a judged metric, None without one. Only all questions of the condition that was labelled have one."""
    rows = own.run.of("corrected", own.name)
    rows = rows[(rows["scope"] == "mean") & (rows["metric"] == subject.metric) & (rows["target"] == "population")]
    task = next((task for task, metrics in METRICS_OF.items() if subject.metric in metrics), "")
    conditions = set(own.run.labels[own.run.labels["task"] == task]["condition"])
    if rows.empty or subject.slice != "all" or conditions != {subject.condition}:
        return None
    row = rows.iloc[0]
    return _Corrected(float(row["value"]), float(row["low"]), float(row["high"]), int(row["labels"]))


def _with_correction(found: FloorTest, corrected: _Corrected, higher_is_better: bool) -> FloorTest:
    """Decide by a corrected mean. Its p is that of a normal distribution with the error of the interval."""
    sign = 1 if higher_is_better else -1
    ends = sorted((sign * corrected.low, sign * corrected.high))
    passes, fails = ends[0] >= sign * found.limit, ends[1] < sign * found.limit
    error = (corrected.high - corrected.low) / (2 * _TWO_SIDED)
    p = float(scipy.special.ndtr(sign * (corrected.value - found.limit) / error)) if error > 0 else math.nan
    return replace(
        found,
        value=corrected.value,
        low=corrected.low,
        high=corrected.high,
        p=p,
        outcome=Decision.PASS if passes else Decision.FAIL if fails else Decision.UNDECIDED,
    )


def _corrected_reason(found: FloorTest, corrected: _Corrected) -> str:
    digits = _digits(found, found.low, found.high)
    bounds = f"{number(found.value, digits)} {interval(found.low, found.high, digits)}"
    return f"{bounds}, corrected by {plural(corrected.labels, 'label')}, on {plural(found.n, 'question')}{_undecided(found)}"
