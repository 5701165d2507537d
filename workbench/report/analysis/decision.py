"""The decision of a run: the kind of result, the configuration to use, and the values that the first screen states about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np

from workbench.core.memo import memoised
from workbench.measures.statistics.comparison import Bounds, Comparison, judged_bounds
from workbench.measures.statistics.effects import EffectReading
from workbench.measures.statistics.intervals import ALPHA
from workbench.measures.statistics.verdict import Reason, Verdict
from workbench.report.analysis.causes import FailureSummary, faults_of
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.pairwise import Contrast, contrast
from workbench.report.analysis.parts import PartEffect, parts
from workbench.report.analysis.ranking import RankingRow, RankStatus, best_unranked, grouped, ranking_rows
from workbench.report.analysis.standings import Cost, CostedConfiguration, Standing, cheapest, separated
from workbench.report.analysis.values import detail

# The number of questions that a difference needs is a guess beyond this many times those of the run.
MOST_TIMES_QUESTIONS = 10


class ResultKind(StrEnum):
    """The kind of a result, which decides what the first screen asks and recommends. One for which no winner is named has the name of the `Reason`."""

    UNRANKED = "nothing ranked"
    DRAFTS = "preview"
    INCOMPLETE = "configurations missing"
    ALONE = "one configuration"
    FEW = "too few"
    IDENTICAL = "the same values"
    EQUIVALENT = "equivalent"
    MISSING = "unscored questions"
    TIED = "several may be best"
    WINNER = "winner"


def _kind(verdict: Verdict) -> ResultKind:
    """The kind of a verdict. The same values on a few questions decide nothing."""
    reason = verdict.reason
    if reason is Reason.FEW_DOCUMENTS or (reason is Reason.IDENTICAL and not verdict.enough):
        return ResultKind.FEW
    return ResultKind[reason.name] if reason else ResultKind.WINNER


class Basis(StrEnum):
    """The basis of a recommendation."""

    TEST = "better by the tests"
    PART = "has the part whose effect is shown"
    BASELINE = "the baseline, which nothing is shown to beat"
    COST = "costs least of those that are equal"
    SCORE = "has the best score"


class Expense(NamedTuple):
    """The costs of the recommended configuration beside those of `other`.

    `times` says how many times as long the slower one takes at least, negative if that is the recommended one; 0 unless the times are shown to differ.
    """

    own: CostedConfiguration
    other: CostedConfiguration
    times: float

    @property
    def timed(self) -> bool:
        """True if both were timed."""
        return not np.isnan(self.own.costs["p50"] + self.other.costs["p50"])


@dataclass(frozen=True, eq=False)
class RunDecision:
    """The decision of a run.

    `use` is the recommended configuration, or None, with its `basis`. `part` is the effect that leads, if any; `members` of the tie set have its alternative and
    the better sides of the `deciding` effects. `shown` is the configuration that all
    texts about a single one describe: the recommended one, or else the leader. `margin` is its difference from `other`, `expense` has its costs beside
    those of a configuration that they matter against. `failed` are the failed ones by cause. `hidden` is a configuration that is not ranked and has a better score than the leader.
    """

    findings: Findings
    kind: ResultKind
    use: Standing | None
    basis: Basis | None
    part: PartEffect | None
    members: tuple[str, ...]
    deciding: tuple[PartEffect, ...]
    shown: Standing | None
    other: Standing | None
    margin: Comparison | None
    expense: Expense | None
    misses: FailureSummary | None
    failed: tuple[Sequence[RankingRow], ...]
    hidden: Standing | None

    @property
    def outcome(self) -> ResultKind | None:
        """The kind of the result among the ranked configurations, None without any."""
        return _kind(self.findings.verdict) if self.findings.verdict else None

    @property
    def configurations(self) -> int:
        """The number of configurations, those that failed or were screened out included."""
        screened = self.findings.screened
        return len(self.findings.names) + len(self.findings.failures) + (len(screened.dropped) if screened else 0)

    @property
    def targets(self) -> tuple[str, ...]:
        """The configurations that are services of other makers."""
        return tuple(name for name in self.findings.names if "target" in self.findings.configurations_settings[name])

    @property
    def best_is_shown(self) -> bool:
        """True if the numbers are those of the leader, whose score is the highest of several."""
        return self.shown is not None and self.shown is self.findings.first

    @cached_property
    def contrast(self) -> Contrast | None:
        """The questions on which the configuration shown and `other` differ."""
        return contrast(self.findings, self.shown.name, self.other.name) if self.shown and self.other else None

    @cached_property
    def bounds(self) -> Bounds | None:
        """The bounds of the margin if the two retrieved different shares of judged documents and the metric has bounds."""
        pair, run = self.contrast, self.findings
        # Of other metrics, what one configuration found changes the divisor of both.
        if pair is None or pair.judged is None or len(set(pair.judged)) == 1 or run.primary.definition.labels_read != "retrieved":
            return None
        return judged_bounds(*(detail(run, side.winner, f"unjudged_{bound}") for side in (pair.a, pair.b) for bound in ("low", "high")))

    @property
    def shown_better(self) -> bool:
        """True if the difference `margin` is claimed: significant for its family, on enough questions, in favour of the configuration shown."""
        sign = 1 if self.findings.primary.higher_is_better else -1
        margin = self.margin
        return margin is not None and self.findings.conclusive and margin.p_adjusted <= ALPHA and sign * margin.difference.value > 0


@memoised(1)
def decide(findings: Findings) -> RunDecision:
    """Decide what a run recommends. A claim in it follows from a test that is corrected for all comparisons of its family."""
    verdict, hidden = findings.verdict, best_unranked(findings)
    failures = [row for row in ranking_rows(findings) if row.status is RankStatus.FAILED]
    failed = tuple(grouped(failures))
    kind = ResultKind.UNRANKED if verdict is None else _kind(verdict)
    if verdict is not None and kind is not ResultKind.DRAFTS and (failed or hidden):
        kind = ResultKind.INCOMPLETE
    part = leading_part(findings)
    members, deciding = recommended_members(findings, part) if part else ([], [])
    use, basis = _recommended(findings, kind, members)
    shown = use or findings.first
    other = _compared(findings, shown)
    margin = findings.comparison(shown.name, other.name) if shown and other else None
    return RunDecision(
        findings=findings,
        kind=kind,
        use=use,
        basis=basis,
        part=part if basis is Basis.PART else None,
        members=tuple(members),
        deciding=tuple(deciding),
        shown=shown,
        other=other,
        margin=margin,
        expense=_expense(findings, shown, other, members if basis is Basis.PART else []),
        misses=faults_of(findings, shown.name) if shown else None,
        failed=failed,
        hidden=hidden.standing if hidden else None,
    )


def shown_first(findings: Findings, names: Sequence[str]) -> tuple[str, ...]:
    """Return names of configurations with that of the one shown before all others."""
    shown = decide(findings).shown
    return tuple(sorted(names, key=lambda name: shown is None or name != shown.name))


def leading_part(findings: Findings) -> PartEffect | None:
    """Return the largest gain of a part that is shown for other documents and had by a member of the tie set, or None.

    The gain is a mean over several pairs of configurations, and not of one value in some of them only. If the baseline may be best, it has the part or what
    the part replaces: a gain over something else is no reason to leave it.
    A part leads only if the tie set leaves a configuration out, so that a run without any difference makes a claim in at most 5 % of cases, whichever
    of the two tests it comes from.
    """
    verdict = findings.verdict
    if verdict is None or verdict.reason is not Reason.TIED or len(verdict.best) == len(verdict.ranked):
        return None
    gains = [
        part
        for part in parts(findings)
        if part.effect.reading is EffectReading.GAIN and not part.effect.p_differs <= ALPHA and members_with(findings, part)
        if len(part.pairs) > 1 and (findings.baseline not in verdict.best or findings.baseline in _named_in(part))
    ]
    return max(gains, key=lambda part: abs(part.effect.comparison.difference.value), default=None)


def _named_in(part: PartEffect) -> set[str]:
    return {name for pair in part.pairs for name in (pair.configuration, pair.reference)}


def members_with(findings: Findings, part: PartEffect) -> list[str]:
    """The members of the tie set that have the alternative of an effect, in the order of the ranking."""
    having = {pair.configuration for pair in part.pairs}
    return [name for name in findings.verdict.best if name in having] if findings.verdict else []


def recommended_members(findings: Findings, part: PartEffect) -> tuple[list[str], list[PartEffect]]:
    """Return the members of the tie set with the alternative of an effect, those with the better sides of the other shown effects, and these effects.

    The page claims each effect that is shown, the largest first, so it recommends no side that one of them shows to lose. An effect whose better side
    no member has decides nothing.
    """
    names, deciding = members_with(findings, part), list[PartEffect]()
    claimed = [other for other in parts(findings) if other.effect.reading in (EffectReading.GAIN, EffectReading.LOSS)]
    for other in sorted(claimed, key=lambda other: -abs(other.effect.comparison.difference.value)):
        having, replaced = {pair.configuration for pair in other.pairs}, {pair.reference for pair in other.pairs}
        gain = other.effect.reading is EffectReading.GAIN
        left = [name for name in names if (name in having) == gain]
        if len(left) < len(names) and {*left} & (having if gain else replaced):
            names, deciding = left, [*deciding, other]
    return names, deciding


def _recommended(findings: Findings, kind: ResultKind, members: Sequence[str]) -> tuple[Standing | None, Basis | None]:
    verdict = findings.verdict
    if verdict is None or kind not in (ResultKind.WINNER, ResultKind.TIED, ResultKind.EQUIVALENT, ResultKind.IDENTICAL):
        return None, None
    by_name = {standing.name: standing for standing in findings.standings.ranked}
    first, baseline = by_name[verdict.ranked[0]], findings.baseline
    if kind is ResultKind.WINNER:
        return first, Basis.TEST
    if kind in (ResultKind.EQUIVALENT, ResultKind.IDENTICAL):
        return by_name[_cheapest(findings, verdict.best)], Basis.COST
    if members:
        return by_name[_cheapest(findings, members)], Basis.PART
    if baseline in verdict.best and not _beaten(findings, first.name, baseline):
        return by_name[baseline], Basis.BASELINE
    return first, Basis.SCORE


def _beaten(findings: Findings, name: str, baseline: str) -> bool:
    comparison = findings.comparison(name, baseline) if name != baseline else None
    return comparison is not None and bool(comparison.p_adjusted <= ALPHA)


def _cheapest(findings: Findings, names: Sequence[str]) -> str:
    """The configuration that costs least, the first of those that cost the same."""
    priced = [costed for name in names if (costed := findings.price(name))]
    return cheapest(priced).name if priced else names[0]


def _compared(findings: Findings, shown: Standing | None) -> Standing | None:
    """The configuration that the numbers are compared with: the baseline, or else the leader, or the second of the ranking."""
    reference = findings.reference
    if shown is None or reference is None:
        return None
    return reference if reference is not shown else findings.second if shown is findings.first else findings.first


def _expense(findings: Findings, shown: Standing | None, other: Standing | None, members: Sequence[str]) -> Expense | None:
    """Compare costs with the best of the other `members`, or else with `other`."""
    alike = [name for name in members if shown and name != shown.name]
    against = alike[0] if alike else other.name if other else ""
    own, beside = (findings.price(name) if name else None for name in (shown.name if shown else "", against))
    if own is None or beside is None:
        return None
    one, two = own.ranges["p50"], beside.ranges["p50"]
    if not separated("p50", one, two):
        return Expense(own, beside, 0.0)
    return Expense(own, beside, two.low / one.high if one.high < two.low else -one.low / two.high)


def differing_costs(expense: Expense) -> list[Cost]:
    """The costs other than times by which the two differ by more than a tenth."""
    own, other = expense.own.costs, expense.other.costs
    return [cost for cost in ("encoded", "index", "delivered") if abs(own[cost] - other[cost]) > 0.1 * max(own[cost], other[cost])]
