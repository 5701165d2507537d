"""Compare a configuration with a baseline."""

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.text.formatting import approximate, listed, number, p_value, plural, signed
from workbench.gate.baseline import HIT_COLUMNS, Baseline, kept_hits
from workbench.gate.gated import GatedConfiguration, question_values
from workbench.gate.rules import BaselineKind, GateSettings, RuleResult, Subject
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.decisions import (
    ALARM,
    CONFIRM,
    FEWEST,
    Decision,
    MetricScale,
    PairedTest,
    Values,
    average,
    paired_test,
    second_stage,
)
from workbench.report.analysis.labels import METRICS_OF
from workbench.report.results.randomness import random_parts
from workbench.report.results.run_tables import RunTables

# False alarms of the plain rule with a tolerance of 5 %, if a tenth of the questions change at random (docs/statistics.md).
_PLAIN_ALARMS = ((14, 31), (50, 16), (100, 9), (300, 1))
# The tasks of the judges whose labels calibrate a metric.
_TASKS = {metric: task for task, metrics in METRICS_OF.items() for metric in metrics}


@dataclass(frozen=True, eq=False)
class SecondRuns:
    """A second run of the candidate, and of the sides that it is compared with."""

    candidate: RunTables
    baseline: Baseline | None = None
    release: Baseline | None = None

    def other(self, kind: BaselineKind) -> Baseline | None:
        """Return the second run of the side that a kind of rule compares with."""
        return self.release if kind == "release" else self.baseline


def baseline_result(
    own: GatedConfiguration, subject: Subject, baseline: Baseline, settings: GateSettings, kind: BaselineKind, again: SecondRuns | None
) -> RuleResult:
    """Compare a metric with its baseline. Raises InputError if either side lacks its values."""
    if baseline.plain:
        return _plain(own, subject, baseline, settings)
    sides = _Sides.of(own, subject, baseline, settings)
    test = sides.test(same_outputs=_same_outputs(own, subject, baseline))
    parts = random_parts(own.run, own.name, subject.metric)
    alarm = bool(parts) and test.outcome is Decision.FAIL
    repeated = again.other(kind) if again is not None else None
    if alarm and again is not None and repeated is not None:
        test, sides = _confirmed(sides, test, own, subject, again.candidate, repeated)
    elif alarm:
        test = replace(test, outcome=Decision.UNDECIDED)
    return RuleResult(
        rule=f"{comparison_start(subject, baseline.path)}{settings.tolerance}",
        kind=kind,
        metric=subject.metric,
        slice=subject.slice,
        condition=subject.condition,
        outcome=test.outcome,
        reason=_reason(test, own, subject, sides, alarm, repeated is not None),
        value=_mean(sides.candidate, own.clusters),
        reference=_mean(sides.baseline, own.clusters),
        difference=test.difference,
        low=test.low,
        high=test.high,
        limit=-test.margin,
        p=test.p,
        n=test.n,
        clusters=test.clusters,
        unscored=test.unscored,
        alarm=alarm and repeated is None,
        worse=test.worse,
        equivalent=test.equivalent,
        random=listed(list(parts)) if parts else "",
    )


def comparison_start(subject: Subject, path: Path) -> str:
    """Return the text of a comparison with a baseline up to its tolerance."""
    where = "below" if Metric.parse(subject.metric).higher_is_better else "above"
    return f"{subject} not {where} {path} by more than "


@dataclass(frozen=True, eq=False)
class _Sides:
    candidate: Values
    baseline: Values
    clusters: Clusters
    margin: float
    scale: MetricScale
    # By how much the errors of the judge shrink a difference; NaN if that is not known, 1 without a judge.
    shrunk: float
    # The questions to which the metric applies on one side only.
    alone: int

    @classmethod
    def of(cls, own: GatedConfiguration, subject: Subject, baseline: Baseline, settings: GateSettings) -> "_Sides":
        own.measure(subject)
        candidate = own.values(subject)
        own.require_same_scope(subject, baseline.values, str(baseline.path))
        before = own.values(subject, baseline.values)
        own.require_scored(subject, candidate, settings.max_unscored, own.run.name)
        own.require_scored(subject, before, settings.max_unscored, str(baseline.path))
        candidate, before, alone = _of_both(candidate, before)
        shrunk = judge_factor(own.run, subject.metric)
        margin = settings.tolerance.margin(_mean(before, own.clusters)) * (1 if math.isnan(shrunk) else shrunk)
        return cls(candidate, before, own.clusters, margin, own.scale(subject, candidate, before), shrunk, alone)

    def test(self, same_outputs: bool = False, level: float = ALARM) -> PairedTest:
        return paired_test(
            self.candidate, self.baseline, self.clusters, self.margin, scale=self.scale, same_outputs=same_outputs, level=level
        )


def _of_both(candidate: Values, baseline: Values) -> tuple[Values, Values, int]:
    """Leave out the questions to which a metric applies on one side only, such as answers that one side refuses, and count them."""
    applies = [~np.isnan(side.values) | side.unscored for side in (candidate, baseline)]
    both = applies[0] & applies[1]
    if not both.any():
        raise InputError("no question has a value in both runs", "compare a metric that both runs have")
    sides = [Values(np.where(both, side.values, np.nan), side.unscored & both) for side in (candidate, baseline)]
    return sides[0], sides[1], int((applies[0] ^ applies[1]).sum())


def judge_factor(run: RunTables, metric: str) -> float:
    """Return TPR + TNR - 1 of the judge of a metric, by which its errors shrink a difference. 1 without a judge, NaN without labels."""
    name = run.measures[metric].name
    if name not in _TASKS:
        return 1.0
    rows = run.calibration[run.calibration["task"] == _TASKS[name]].set_index("measure")["value"]
    if not {"sensitivity", "false_alarms"} <= set(rows.index):
        return math.nan
    return max(0.0, float(rows["sensitivity"] - rows["false_alarms"]))


def _confirmed(
    sides: _Sides, first: PairedTest, own: GatedConfiguration, subject: Subject, again: RunTables, baseline: Baseline
) -> tuple[PairedTest, _Sides]:
    """Decide an alarm by the second run of both sides. Returns the test with the values that it compares."""
    candidate, before, alone = _of_both(own.values(subject, question_values(again, own.name)), own.values(subject, baseline.values))
    second = replace(sides, candidate=candidate, baseline=before, alone=alone)
    both = replace(sides, candidate=average(sides.candidate, candidate), baseline=average(sides.baseline, before))
    tests = second.test(level=CONFIRM), both.test(level=CONFIRM)
    decided = second_stage(first, *tests)
    return decided, second if decided is tests[0] else both


def _same_outputs(own: GatedConfiguration, subject: Subject, baseline: Baseline) -> bool:
    """Compare the first hits of every question with those of the baseline, and for a metric of answers also all values of their metrics."""
    sides = kept_hits(own.run, own.name), baseline.hits
    tables = [table.sort_values(["query_id", "rank"], kind="stable")[HIT_COLUMNS].to_numpy().tolist() for table in sides]
    if tables[0] != tables[1] or not own.measure(subject).of_answers:
        return tables[0] == tables[1]
    keys = ["condition", "metric", "query_id"]
    rows = [table[table["condition"] == subject.condition].set_index(keys)["value"] for table in (own.table, baseline.values)]
    both = pd.concat(rows, axis="columns", keys=["own", "baseline"], join="inner")
    return both["own"].equals(both["baseline"])


def _plain(own: GatedConfiguration, subject: Subject, baseline: Baseline, settings: GateSettings) -> RuleResult:
    """Apply the plain rule: the mean must not fall by more than the tolerance."""
    if str(subject) not in baseline.means:
        raise InputError(f"{subject}: {baseline.path} has no value of it", f"it has {listed(list(baseline.means))}")
    measure, values = own.measure(subject), own.values(subject)
    own.require_scored(subject, values, settings.max_unscored, own.run.name)
    value, reference = _mean(values, own.clusters), baseline.means[str(subject)]
    difference = (value - reference) * (1 if measure.higher_is_better else -1)
    margin, n = settings.tolerance.margin(reference), int((~np.isnan(values.values)).sum())
    nearest, alarms = min(_PLAIN_ALARMS, key=lambda row: abs(row[0] - n))
    return RuleResult(
        rule=f"{comparison_start(subject, baseline.path)}{settings.tolerance}",
        kind="plain baseline",
        metric=subject.metric,
        slice=subject.slice,
        condition=subject.condition,
        outcome=Decision.PASS if difference >= -margin else Decision.FAIL,
        reason=f"{number(reference)} to {number(value)} on {plural(n, 'question')}; the plain rule tests nothing: with a tolerance of 5 % it fails {alarms} % of "
        f"runs on {nearest} questions of which a tenth change at random",
        value=value,
        reference=reference,
        difference=difference,
        limit=-margin,
        n=n,
    )


def _reason(test: PairedTest, own: GatedConfiguration, subject: Subject, sides: _Sides, alarm: bool, confirmed: bool) -> str:
    alone = [f"{plural(sides.alone, 'question')} left out, to which it applies on one side only"] if sides.alone else []
    if test.identical and test.outcome is Decision.PASS:
        return "; ".join([f"identical on {plural(test.n, 'question')}", *alone])
    low = f"at least {signed(test.low)} with 95 % confidence" if math.isfinite(test.low) else "without a lower bound"
    p = f" ({p_value(test.p)})" if alarm or test.outcome is Decision.FAIL else ""
    of = f" of a tolerated {number(test.margin)}" if test.difference < 0 and test.outcome is Decision.PASS else ""
    bounds = f"{signed(test.difference)}{of}{p}, {low}, on {plural(test.n, 'question')}"
    reasons = [bounds, *alone, *_beyond(test), *_why(test, alarm, confirmed)]
    if test.margin == 0:
        reasons.append("the baseline's mean is 0, of which a share tolerates nothing: set the tolerance in points, such as 0.02")
    if own.run.measures[subject.metric].name in _TASKS:
        reasons.append(
            "on the judge's scale" if math.isnan(sides.shrunk) else f"the margin is {number(test.margin)} after the judge's errors"
        )
    if test.unscored:
        reasons.append(f"{plural(test.unscored, 'question')} without a value counted at worst and at best")
    return "; ".join(reasons)


def _beyond(test: PairedTest) -> list[str]:
    """Say whether a drop beyond the margin is shown, or only not excluded. Nothing for a pass, or without a margin."""
    if test.outcome is Decision.PASS or test.margin == 0:
        return []
    if test.high < -test.margin:
        return [f"at most {signed(test.high)} with 95 % confidence, beyond the tolerated {number(test.margin)}"]
    return [f"a drop of more than {number(test.margin)} is not excluded"]


def _why(test: PairedTest, alarm: bool, confirmed: bool) -> list[str]:
    if test.outcome is Decision.PASS:
        return [f"equivalent within ±{number(test.margin)}"] if test.equivalent else []
    if test.outcome is Decision.FAIL:
        return ["confirmed by a second run of both sides"] if alarm and confirmed else []
    if alarm:
        return ["an alarm that a second run of both sides did not confirm"] if confirmed else []
    few = []
    if test.few and test.difference < 0:
        enough = test.n + test.unscored >= FEWEST
        few = ["too few questions or documents differ for a failure" if enough else f"a failure needs at least {FEWEST} questions"]
    # The numbers are of a change that is not as bad as this one.
    if test.needed is None or (test.few and test.high < -test.margin):
        return few
    none, half = (approximate(questions) for questions in test.needed)
    decide = f"with 80 % power, about {none} questions would decide if nothing changed, {half} after a drop of half the tolerance"
    return [*few, decide]


def _mean(values: Values, clusters: Clusters) -> float:
    return float(np.nanmean(clusters.averaged(values.values[None])[0]))
