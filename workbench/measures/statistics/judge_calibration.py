"""Measure a judge on labelled items: agreement, errors, calibration and biases, with intervals clustered by document."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.clusters import FEWEST_FOR_INTERVAL
from workbench.measures.statistics.intervals import ALPHA, effective_number, independent_difference, rarer, share_limits, shrunk_design

RESAMPLES = 2_000
BINS = 5
# Fewer items show no correlation.
_FEWEST_FOR_BIAS = 10


@dataclass(frozen=True, slots=True)
class CalibrationValue:
    """A measure of a judge with its 95 % interval over `n` labels. NaN if it is undefined."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge's measures on `labels` labels of items in `clusters` documents, `unparsed` of which have no verdict and count in none of them.

    `length_bias` and `position_bias` are Spearman correlations of verdict - label with the length of the text and the number of the deciding passage.
    `curve` has the mean score of labels with similar scores and the share of them that a person approved. `positions` has, for labels decided by the passage
    at a position from 0, the position, their number, and the shares that the judge and that people approved.
    """

    labels: int
    unparsed: int
    clusters: int
    sensitivity: CalibrationValue
    false_alarms: CalibrationValue
    balanced_accuracy: CalibrationValue
    auroc: CalibrationValue
    kappa: CalibrationValue
    length_bias: CalibrationValue
    position_bias: CalibrationValue
    curve: tuple[tuple[float, CalibrationValue], ...]
    positions: tuple[tuple[float, int, float, float], ...]


@dataclass(frozen=True, eq=False)
class JudgedLabels:
    """n labelled items of a judge: `judged` and `label` (1 or 0; `judged` NaN without a verdict), `score` (0 to 1, NaN without one).

    `weight` is the number of items that a label represents, because classes of verdicts are sampled at different rates. `codes` are the clusters,
    `length` that of the judged text, `position` the number of the deciding passage, NaN if none decides. All have the shape (n,).
    """

    judged: Floats
    label: Floats
    score: Floats
    weight: Floats
    codes: Ints
    length: Floats
    position: Floats

    def __getitem__(self, chosen: Bools) -> "JudgedLabels":
        judged, label, score, weight = (column[chosen] for column in (self.judged, self.label, self.score, self.weight))
        return JudgedLabels(judged, label, score, weight, self.codes[chosen], self.length[chosen], self.position[chosen])

    def __len__(self) -> int:
        return len(self.label)

    @property
    def clusters(self) -> int:
        """The number of clusters."""
        return len(np.unique(self.codes))

    @cached_property
    def resampled(self) -> Floats:
        """The weights of the items in each of 2,000 seeded samples of clusters, drawn with replacement. Shape (resamples, n)."""
        members = np.unique(self.codes, return_inverse=True)[1]
        count = int(members.max(initial=-1)) + 1
        drawn = (
            np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=RESAMPLES) if count else np.zeros((RESAMPLES, 0))
        )
        return np.asarray(drawn[:, members] * self.weight, dtype=np.float64)


def calibration(items: JudgedLabels) -> Calibration:
    """Measure a judge on labelled items.

    Shares have the wider of Wilson's and Jeffreys' intervals with an effective n (weights and clusters), balanced accuracy the one that MOVER makes of both, and the others
    the percentile interval of a bootstrap over documents. With fewer than 5 documents there are no intervals.
    """
    known = items[~np.isnan(items.judged)]
    wanted, unwanted = known.label == 1, known.label == 0
    sensitivity, false_alarms = share(known, wanted, known.judged == 1), share(known, unwanted, known.judged == 1)
    # The mean of sensitivity and specificity.
    rates = ((rate.value, rate.low, rate.high) for rate in (sensitivity, false_alarms))
    value, low, high = ((1 + end) / 2 for end in independent_difference(*rates))
    error = known.judged - known.label
    scored = known[~np.isnan(_scores(known))]
    placed, positions = ~np.isnan(known.position), []
    for position in np.unique(known.position[placed]).tolist():
        inside = known.position == position
        judged, good = (float(np.average(each[inside], weights=known.weight[inside])) for each in (known.judged, known.label))
        positions.append((position, int(inside.sum()), judged, good))
    return Calibration(
        labels=len(items),
        unparsed=len(items) - len(known),
        clusters=items.clusters,
        sensitivity=sensitivity,
        false_alarms=false_alarms,
        balanced_accuracy=CalibrationValue(value, low, high, sensitivity.n + false_alarms.n),
        auroc=_bootstrapped(scored, _auroc(scored)),
        kappa=_bootstrapped(known, _kappa(known.judged, known.label)),
        length_bias=_correlated(known, error, known.length),
        position_bias=_correlated(known[placed], error[placed], known.position[placed]),
        curve=_curve(scored),
        positions=tuple(positions),
    )


def agreement(first: Floats, second: Floats, codes: Ints) -> tuple[CalibrationValue, CalibrationValue]:
    """Return the share of items on which two people agree, and their kappa, from their labels (n each) of the same items."""
    items = JudgedLabels(first, second, first, np.ones(len(first)), codes, first, first)
    everything = np.ones(len(first), dtype=np.bool_)
    return share(items, everything, first == second), _bootstrapped(items, _kappa(first, second))


def share(items: JudgedLabels, among: Bools, happened: Bools) -> CalibrationValue:
    """Return the weighted share of the items `among` which something `happened`."""
    chosen, values = items[among], happened[among].astype(np.float64)
    n = len(chosen)
    if not n:
        return _undefined(0)
    value = float(np.average(values, weights=chosen.weight))
    if items.clusters < FEWEST_FOR_INTERVAL:
        return CalibrationValue(value, np.nan, np.nan, n)
    codes = np.unique(chosen.codes, return_inverse=True)[1]
    sums, sizes = (np.bincount(codes, chosen.weight * part) for part in (values - value, np.ones(n)))
    groups = len(sums)
    clustered = float((sums**2).sum()) / float(sizes.sum()) ** 2 * groups / max(1, groups - 1)
    effective = effective_number(chosen.weight)
    independent = value * (1 - value) / max(1.0, effective - 1)
    design = shrunk_design(clustered / independent if independent > 0 and groups > 1 else np.nan, codes, rarer(values))
    low, high = share_limits(value * effective / design, effective / design)
    return CalibrationValue(value, min(low, value), max(high, value), n)


Statistic = Callable[[Floats], Floats]
_ROUNDING = 1e-9


def _bootstrapped(items: JudgedLabels, statistic: Statistic) -> CalibrationValue:
    """A statistic of weights (r, n) with its percentile interval over resampled documents. A constant one has no interval."""
    if not len(items):
        return _undefined(0)
    value = float(statistic(items.weight[None])[0])
    if np.isnan(value) or items.clusters < FEWEST_FOR_INTERVAL:
        return CalibrationValue(value, np.nan, np.nan, len(items))
    resampled = statistic(items.resampled)
    low, high = np.nanquantile(resampled, [ALPHA / 2, 1 - ALPHA / 2]).tolist()
    # A statistic that is constant but for rounding.
    varies = high - low > _ROUNDING
    return CalibrationValue(value, low, high, len(items)) if varies else CalibrationValue(value, np.nan, np.nan, len(items))


def _ratio(above: Floats, below: Floats) -> Floats:
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


def _scores(items: JudgedLabels) -> Floats:
    """The scores, or the verdicts of a judge that gives no scores."""
    return items.judged if np.isnan(items.score).all() else items.score


def _auroc(items: JudgedLabels) -> Statistic:
    """P(score of a good item > that of a bad one), counting ties half."""
    scores, good = _scores(items), items.label == 1
    wins = np.sign(np.subtract.outer(scores[good], scores[~good])) / 2 + 0.5

    def statistic(weights: Floats) -> Floats:
        above, below = weights[:, good], weights[:, ~good]
        return _ratio(((above @ wins) * below).sum(axis=1), above.sum(axis=1) * below.sum(axis=1))

    return statistic


def _kappa(first: Floats, second: Floats) -> Statistic:
    """Cohen's kappa, 1 - disagreement / chance disagreement (1960), which weights grades by their squared difference (1968)."""

    def statistic(weights: Floats) -> Floats:
        whole = weights.sum(axis=1)
        apart, one, also = (_ratio(weights @ part, whole) for part in ((first - second) ** 2, first, second))
        squares = _ratio(weights @ (first**2 + second**2), whole)
        chance = squares - 2 * one * also
        return np.asarray(1 - np.divide(apart, chance, out=np.full(len(whole), np.nan), where=chance > _ROUNDING))

    return statistic


def _correlated(items: JudgedLabels, error: Floats, values: Floats) -> CalibrationValue:
    """Spearman's correlation of errors with values (n), weighted."""
    if len(items) < _FEWEST_FOR_BIAS or len(np.unique(error)) < 2 or len(np.unique(values)) < 2:
        return _undefined(len(items))
    x, y = scipy.stats.rankdata(error), scipy.stats.rankdata(values)

    def statistic(weights: Floats) -> Floats:
        whole = weights.sum(axis=1)
        mean_x, mean_y = _ratio(weights @ x, whole), _ratio(weights @ y, whole)
        covariance = _ratio(weights @ (x * y), whole) - mean_x * mean_y
        spread = (_ratio(weights @ x**2, whole) - mean_x**2) * (_ratio(weights @ y**2, whole) - mean_y**2)
        return np.asarray(np.divide(covariance, np.sqrt(np.maximum(spread, 0)), out=np.full(len(whole), np.nan), where=spread > 1e-9))

    return _bootstrapped(items, statistic)


def _curve(items: JudgedLabels) -> tuple[tuple[float, CalibrationValue], ...]:
    """The mean score and the share that a person approved in each of five bins of equal width. Bins without labels are left out."""
    scores = _scores(items)
    places = np.minimum((scores * BINS).astype(np.int64), BINS - 1)
    bins = []
    for inside in (places == place for place in np.unique(places)):
        mean = float(np.average(scores[inside], weights=items.weight[inside]))
        bins.append((mean, share(items, inside, items.label == 1)))
    return tuple(bins)


def _undefined(n: int) -> CalibrationValue:
    return CalibrationValue(np.nan, np.nan, np.nan, n)
