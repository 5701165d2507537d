"""Decide pass, fail or undecided: is a candidate worse than a baseline, or a mean beyond a limit? From the values of single questions.

Every test is clustered by source document, and those with a baseline are paired by question. Values are oriented: a negative difference is worse.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import scipy

from workbench.core.errors import InputError
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.statistics.clusters import CONDITIONAL, FEWEST_FOR_INTERVAL, FEWEST_FOR_WINNER, Clusters
from workbench.measures.statistics.intervals import ALPHA, Interval, Robust, by_unit, mean_intervals, robust, t_quantile
from workbench.measures.statistics.pairs import POWER, without_skew

# More questions than anyone labels: the search for the number that would decide ends here.
_MOST_NEEDED = 10_000_000

# The one-sided level of a test and, after an alarm of a test whose values are partly random, those for a failure and for a pass.
ALARM, CONFIRM, CLEAR = 0.05, 0.04, 0.01

# The nominal level of the lower bound. At 5 % too many drops of the whole margin pass in simulations, since few of them are seen (docs/statistics.md).
_LOWER = 0.04

# With fewer questions a baseline cannot fail. With fewer documents that differ, no sign test can reject at ALARM.
FEWEST, FEWEST_DIFFERENT = 30, 5

# With fewer losses than this, up to 3 of n questions may be losses that were not seen, with 95 % confidence (the rule of three). The same holds for gains.
_FEW_SEEN, _UNSEEN = 5, 3

# Means that differ by less from a limit are equal to it.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Scatter:
    """Scatter of differences around their mean by document, from which lower bounds are made.

    `residuals` (G) are the documents' sums minus those expected from the mean, `share` (G) their shares of the `n` questions. `error` is NaN if nothing
    varies.
    """

    mean: float
    error: float
    freedom: float
    n: float
    residuals: Floats
    share: Floats

    @classmethod
    def of(cls, row: Floats, clusters: Clusters) -> "Scatter":
        """Measure a row of differences (1, q; NaN if unscored)."""
        means = robust(row, clusters)
        sizes = by_unit((~np.isnan(row)).astype(np.float64), clusters.codes)[0]
        n = max(1.0, float(sizes.sum()))
        return cls(float(means.mean[0]), float(means.error[0]), float(means.freedom[0]), n, means.residuals[0], sizes / n)

    @property
    def varies(self) -> bool:
        """True if the mean has a standard error."""
        return math.isfinite(self.error)

    def lower(self, level: float) -> float:
        """Return the lower bound of the mean at a one-sided level."""
        return self.mean - self._reach(self._quantile(level), 1.0)

    def _quantile(self, level: float) -> float:
        return float(t_quantile(np.array([self.freedom]), 2 * level)[0])

    def _reach(self, quantile: float, times: float) -> float:
        """Return how far the lower bound is below the mean, on `times` as many questions and documents of this scatter.

        The larger of two distances. One is t · SE. The other solves d = t · SE(d), where SE(d) is the standard error of differences whose mean is
        known to be lower by d, as in the score interval of Wilson (1927): with few losses in few documents the first one is too small. t is corrected
        for skew towards losses.
        """
        quantile = self._corrected_for_skew(quantile, times)
        # SE(d)² = Σ (e + d w)² = E + 2 d C + d² W, with the residuals e and shares w of the documents.
        residuals = self.residuals / self.n
        squares, cross, weight = (float(part) / times for part in (residuals @ residuals, residuals @ self.share, self.share @ self.share))
        left = 1 - quantile**2 * weight
        if left <= 0:
            return math.inf
        middle = quantile**2 * cross
        score = (middle + math.sqrt(max(0.0, middle**2 + left * quantile**2 * squares))) / left
        return max(quantile * self.error / math.sqrt(times), score)

    def needed(self, n: int, left: float, level: float) -> int:
        """Return how many questions have a lower bound at `level` within `left` of the true mean, with 80 % power. `n` is their number now."""
        power, quantile = float(scipy.special.ndtri(POWER)), self._quantile(level)
        least, most = 1, _MOST_NEEDED if self.varies else 1
        while least < most:
            middle = (least + most) // 2
            enough = self._reach(quantile, middle / n) + power * self.error * math.sqrt(n / middle) <= left
            least, most = (least, middle) if enough else (middle + 1, most)
        return least

    def _corrected_for_skew(self, quantile: float, times: float) -> float:
        """Raise a quantile if the sums of the documents are skewed towards losses, of which a sample shows too few.

        t = q + A (1 + 2 q²) / 6 with A = -γ / √G (Johnson 1978), the inverse of `pairs.without_skew`.
        """
        skew = -float((self.residuals**3).sum()) / float((self.residuals**2).sum()) ** 1.5
        return float(quantile + max(0.0, skew) / math.sqrt(times) * (1 + 2 * quantile**2) / 6)


class Decision(StrEnum):
    """The decision of a gate about a rule."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Values:
    """The values (q) of a metric, NaN without a value. `unscored` (q): the metric applies to the question, but its value is missing."""

    values: Floats
    unscored: Bools

    def filled(self, value: float) -> Floats:
        """Return the values with `value` for the unscored questions. Shape (q,)."""
        return np.where(self.unscored, value, self.values)


@dataclass(frozen=True, slots=True)
class MetricScale:
    """The worst and the best possible value of a metric, such as 0 and 1, or 1 and 0 for a metric of faults."""

    worst: float = 0.0
    best: float = 1.0

    @property
    def sign(self) -> float:
        """Return 1 if higher values are better, else -1."""
        return 1.0 if self.best > self.worst else -1.0


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A candidate minus a baseline on the same questions, oriented, against a margin M.

    `low` and `high` are bounds that a true difference exceeds in 5 % of samples each; they cover the worst and the best case of the `unscored` questions. `p` is one-sided, for a candidate that
    is worse, the larger of both cases. `worse`: it passed, and a drop is significant. `few`: too few questions or documents differ for a failure,
    or total gains on 3 unseen questions would undo the drop.
    `needed`, if undecided, are the numbers of questions at which a test would pass with 80 % power if the true difference were 0, or -M / 2.
    `cleared`: the lower bound at 1 % exceeds -M too. `equivalent`: it passed, and a gain of M is excluded as carefully as a drop of M.
    """

    difference: float
    low: float
    high: float
    margin: float
    p: float
    n: int
    clusters: int
    unscored: int
    identical: bool
    outcome: Decision
    worse: bool = False
    few: bool = False
    needed: tuple[int, int] | None = None
    conditional: str = ""
    cleared: bool = False
    equivalent: bool = False


def paired_test(
    candidate: Values,
    baseline: Values,
    clusters: Clusters,
    margin: float,
    *,
    scale: MetricScale | None = None,
    same_outputs: bool = False,
    level: float = ALARM,
) -> PairedTest:
    """Test a candidate against a baseline: PASS if the lower bound exceeds -margin, else FAIL if p is at most `level`, else UNDECIDED.

    Parameters
    ----------
    candidate, baseline
        Values of the same q questions in `clusters` (q).
    margin
        The largest drop that is tolerated, in the units of the metric.
    same_outputs
        Whether both sides returned the same, beyond having the same values. Equal values alone do not pass if these questions cannot exclude
        a drop of `margin`.

    Raises
    ------
    InputError
        If no question has a value on both sides.

    References
    ----------
    Piaggio et al. (2012), Reporting of noninferiority and equivalence randomized trials, JAMA 308.
    """
    known = scale or MetricScale()
    plain = known.sign * (candidate.values - baseline.values)
    worst = known.sign * (candidate.filled(known.worst) - baseline.filled(known.best))
    best = known.sign * (candidate.filled(known.best) - baseline.filled(known.worst))
    scored, unscored = ~np.isnan(plain), ~np.isnan(worst) & np.isnan(plain)
    if not scored.any():
        raise InputError("no question has a value in both runs", "compare a metric that both runs have")
    loss = abs(known.best - known.worst)
    low = _OneSided.of(worst, clusters, loss)
    high = _OneSided.of(best, clusters, loss) if unscored.any() else low
    identical = bool((plain[scored] == 0).all()) and not unscored.any()
    test = PairedTest(
        difference=clustered_mean(plain, clusters),
        low=min(low.low, high.low),
        high=max(low.high, high.high),
        margin=margin,
        p=1.0 if identical else max(low.p, high.p),
        n=int(scored.sum()),
        clusters=high.clusters,
        unscored=int(unscored.sum()),
        identical=identical,
        outcome=Decision.UNDECIDED,
        few=int((scored | unscored).sum()) < FEWEST or min(low.different, high.different) < FEWEST_DIFFERENT or high.undone,
        conditional=low.conditional,
        cleared=min(low.lowest, high.lowest) > -margin,
    )
    if (decided := _decided(test, level, same_outputs)).outcome is Decision.UNDECIDED:
        return replace(decided, needed=low.needed(margin))
    return replace(decided, equivalent=_equivalent(decided, same_outputs, (worst, best), clusters, loss))


def _equivalent(test: PairedTest, same_outputs: bool, rows: Sequence[Floats], clusters: Clusters, loss: float) -> bool:
    """Check that a test passed and excludes a gain of the margin as well, by the lower bounds of the negated `rows` of differences.

    Gains are rare and unseen as losses are.
    """
    if test.outcome is not Decision.PASS or (test.identical and same_outputs):
        return test.outcome is Decision.PASS
    lowest = min(test.low, *(_OneSided.of(-row, clusters, loss).low for row in rows))
    return test.n >= FEWEST and test.clusters >= FEWEST_FOR_WINNER and lowest > -test.margin


def _decided(test: PairedTest, level: float, same_outputs: bool) -> PairedTest:
    if (test.identical and same_outputs) or test.low > -test.margin:
        return replace(test, outcome=Decision.PASS, worse=test.p <= level)
    return replace(test, outcome=Decision.FAIL) if test.p <= level and not test.few else test


def second_stage(first: PairedTest, second: PairedTest, both: PairedTest) -> PairedTest:
    """Decide an alarm of the `first` runs by a second run of both sides. Without an alarm the first runs decide.

    FAIL if the `second` runs alone, which owe nothing to the alarm, show the drop at `CONFIRM`. Else PASS if the means of `both` runs exclude a
    drop of the margin at `CLEAR`: the first test has spent nearly all of the 5 % of false passes. Else UNDECIDED.
    """
    if first.outcome is not Decision.FAIL:
        return first
    if second.outcome is Decision.FAIL and second.p <= CONFIRM:
        return second
    return replace(both, outcome=Decision.PASS if both.cleared else Decision.UNDECIDED, worse=both.cleared and both.p <= CONFIRM)


def average(first: Values, second: Values) -> Values:
    """Return the means of two runs of one side. A question without a value in either is unscored."""
    return Values((first.values + second.values) / 2, first.unscored | second.unscored)


@dataclass(frozen=True, slots=True)
class _OneSided:
    """The inference on one row of oriented differences: the bounds, a lower one at `CLEAR`, and p.

    Of the `clusters`, `different` have a sum other than 0. `unseen` is the total loss on unseen questions that must be survived, 0 if enough losses were
    seen. `undone`: total gains on unseen questions would undo the drop.
    """

    scatter: Scatter
    low: float
    lowest: float
    high: float
    p: float
    n: int
    clusters: int
    different: int
    unseen: float
    undone: bool
    conditional: str

    @classmethod
    def of(cls, differences: Floats, clusters: Clusters, loss: float) -> "_OneSided":
        row, groups = clusters.averaged(differences[None])
        means, scatter = robust(row, groups), Scatter.of(row, groups)
        values = row[~np.isnan(row)]
        unseen = _UNSEEN * loss if int((values < 0).sum()) < _FEW_SEEN else 0.0
        survived = (float(values.sum()) - unseen) / (len(values) + _UNSEEN) if unseen else math.inf
        low, high, p = _bounds(values, means, scatter)
        return cls(
            scatter=scatter,
            low=min(low, survived),
            lowest=min(scatter.lower(CLEAR) if scatter.varies else low, survived),
            high=high,
            p=p,
            n=int((~np.isnan(differences)).sum()),
            clusters=int(means.clusters[0]),
            different=int((by_unit(np.nan_to_num(row), groups.codes)[0] != 0).sum()),
            unseen=unseen,
            undone=int((values > 0).sum()) < _FEW_SEEN and float(values.sum()) + _UNSEEN * loss >= 0,
            conditional=CONDITIONAL if means.conditional[0] else "",
        )

    def needed(self, margin: float) -> tuple[int, int] | None:
        """Return the numbers of questions that pass with 80 % power for Δ = 0 and -M / 2. None without a margin, or documents."""
        if margin <= 0 or self.clusters < FEWEST_FOR_INTERVAL:
            return None
        none, half = (
            max(FEWEST, self.scatter.needed(self.n, left, _LOWER), math.ceil(self.unseen / left)) for left in (margin, margin / 2)
        )
        return none, half


def _bounds(values: Floats, means: Robust, scatter: Scatter) -> tuple[float, float, float]:
    """Return a lower and an upper bound and p. Constant differences have p = 2^-G by flipping the signs of G documents."""
    mean, count = scatter.mean, int(means.clusters[0])
    if scatter.varies:
        t = np.array([abs(mean) / scatter.error])
        p = np.asarray(scipy.special.stdtr(means.freedom, -without_skew(t, means) if mean < 0 else t))
        return scatter.lower(_LOWER), mean + float(t_quantile(means.freedom, 2 * ALARM)[0]) * scatter.error, float(p[0])
    if not len(values) or count < FEWEST_FOR_INTERVAL:
        return -math.inf, math.inf, math.nan
    return mean, mean, 0.5**count if mean < 0 else 1.0


def clustered_mean(values: Floats, clusters: Clusters) -> float:
    """Return the mean of values (q), NaN without a value, where questions that share a text count once."""
    return float(robust(values[None], clusters).mean[0])


@dataclass(frozen=True, slots=True)
class FloorTest:
    """A mean against a limit. `p` is one-sided for a failure, NaN for a specification, which is about these questions only.

    `low` and `high` are the 95 % interval, and cover the worst and the best case of the `unscored` questions.
    """

    value: float
    low: float
    high: float
    limit: float
    p: float
    n: int
    clusters: int
    unscored: int
    outcome: Decision
    conditional: str = ""


def floor_test(
    values: Values, clusters: Clusters, limit: float, *, inference: bool, proportion: bool = True, scale: MetricScale | None = None
) -> FloorTest:
    """Compare a mean with a limit, a floor if higher values are better, else a ceiling.

    Without `inference` the rule is about these questions only: PASS if the mean keeps to the limit. With it, PASS if the whole 95 % interval
    does, FAIL if none of it does. Unscored questions count at their worst for a PASS, and at their best for a FAIL.

    Raises
    ------
    InputError
        If the metric applies to no question.
    """
    known = scale or MetricScale()
    applies = ~np.isnan(values.values) | values.unscored
    sides, groups = np.array([values.filled(end)[applies] for end in (known.worst, known.best)]), clusters[applies]
    bad, good = mean_intervals(sides, groups, proportion=np.array([proportion, proportion]))
    low, high = (bad.low, good.high) if known.sign > 0 else (good.low, bad.high)
    binary = bool(np.isin(sides[1], (0, 1)).all())
    return FloorTest(
        value=clustered_mean(values.values, clusters),
        low=low,
        high=high,
        limit=limit,
        p=_floor_p(good, known.sign * (sides[1] - limit), groups, limit, proportion or binary) if inference else math.nan,
        n=int((~np.isnan(values.values)).sum()),
        clusters=bad.clusters,
        unscored=int(values.unscored.sum()),
        outcome=_kept(bad, good, limit, known.sign, inference),
        conditional=bad.conditional,
    )


def _kept(bad: Interval, good: Interval, limit: float, sign: float, inference: bool) -> Decision:
    """Decide by the mean, or with `inference` by its interval, with unscored questions at worst (`bad`) and at best (`good`)."""
    lowest, highest = ((bad.low, good.high) if sign > 0 else (-bad.high, -good.low)) if inference else (sign * bad.value, sign * good.value)
    if lowest >= sign * limit - _ROUNDING:
        return Decision.PASS
    return Decision.FAIL if highest < sign * limit - _ROUNDING else Decision.UNDECIDED


def _floor_p(interval: Interval, distances: Floats, clusters: Clusters, limit: float, wilson: bool) -> float:
    """Return the one-sided p of a mean beyond a limit, for `distances` from it that are negative beyond it. It is .025 if the interval ends at the limit.

    Wilson's interval ends at u, so its effective number of questions is z² u (1 - u) / (u - mean)². Other means have the clustered t test.
    """
    means = robust(distances[None], clusters)
    beyond = float(means.mean[0])
    end = interval.high if interval.value < limit else interval.low
    if not wilson or math.isnan(end):
        # The clustered t test that the mean is negative, NaN without an error.
        return float(np.asarray(scipy.special.stdtr(means.freedom, means.mean / means.error))[0])
    if not 0 < limit < 1 or end == interval.value:
        return 0.0 if beyond < 0 else 1.0
    z = float(-scipy.special.ndtri(ALPHA / 2)) * abs(limit - interval.value) / abs(end - interval.value)
    z *= math.sqrt(end * (1 - end) / (limit * (1 - limit)))
    return float(scipy.special.ndtr(math.copysign(z, beyond)))
