"""Random samples of items: drawn for labelling, or judged, with intervals that carry the design of the sample and the errors of the judge."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from workbench.measures.metrics.coverage import Floats, Ints
from workbench.measures.statistics.clusters import FEWEST_FOR_INTERVAL
from workbench.measures.statistics.intervals import Interval, effective_number, mover_limits, rarer, shrunk_design, t_quantile
from workbench.measures.statistics.judge_calibration import CalibrationValue

# The fewest labels of each verdict class from which its error can be estimated.
EACH_CLASS = 25


@dataclass(frozen=True, slots=True)
class DrawableItem:
    """An item of one configuration that can be drawn.

    `group` is the repeat of its question, `verdict_class` its verdict. Configurations with the same `text` draw the same item.
    """

    item_id: str
    query_id: str
    group: int
    verdict_class: int
    text: str = ""


def draw(items: Sequence[DrawableItem], number: int, seed: int, each_class: int = EACH_CLASS) -> tuple[list[str], list[str]]:
    """Draw one item of each of `number` random questions, then further questions until each verdict class has `each_class` items.

    Questions are ordered by a hash of their id and the seed, so that all configurations get the same questions as far as they have items for them. Of a
    question a repeat and then an item are drawn, so that each question counts equally. A further draw with a larger number contains this one.
    Return the ids of the items of random questions, and of those added for a verdict class.
    """
    groups: dict[str, dict[int, list[DrawableItem]]] = {}
    for item in items:
        groups.setdefault(item.query_id, {}).setdefault(item.group, []).append(item)
    one = {}
    for query_id, repeats in groups.items():
        group = min(repeats, key=lambda repeat: _hash(seed, query_id, repeat))
        one[query_id] = min(repeats[group], key=lambda item: (_hash(seed, query_id, item.text), item.item_id))
    order = sorted(one, key=lambda query_id: _hash(seed, query_id))
    first, rest = order[:number], order[number:]
    counts = Counter(one[query_id].verdict_class for query_id in first)
    added = []
    for query_id in rest:
        item = one[query_id]
        if counts[item.verdict_class] < each_class:
            counts[item.verdict_class] += 1
            added.append(item.item_id)
    return [one[query_id].item_id for query_id in first], added


def shuffled(item_ids: Sequence[str], seed: int) -> list[str]:
    """Order ids by a hash, so that the order tells nothing about how they were drawn."""
    return sorted(item_ids, key=lambda item_id: _hash(seed, "order", item_id))


def _hash(*parts: object) -> bytes:
    return hashlib.sha256("\x1f".join(map(str, parts)).encode()).digest()


# A judge that approves good items hardly more often than bad ones says nothing about their share.
_LEAST_DIFFERENCE = 0.05
# Fewer scores often have no rare low one: intervals of 7 to 15 contained the mean of scores in .72 to .90 of simulated samples.
FEWEST_SCORES = 20


@dataclass(frozen=True, slots=True, eq=False)
class DrawnSample:
    """n drawn questions: their `stratum`, `weight` (1 / probability) and `cluster` (codes), each (n,), and the `sizes` of the strata."""

    stratum: Ints
    weight: Floats
    cluster: Ints
    sizes: Floats

    def of_process(self) -> "DrawnSample":
        """Return the sample for the mean of the process that the questions are of, for which the sizes of strata are chance: as one stratum."""
        sums = np.bincount(self.stratum, self.weight, minlength=len(self.sizes))
        weight = self.weight * (self.sizes / np.where(sums > 0, sums, 1))[self.stratum]
        return DrawnSample(np.zeros_like(self.stratum), weight, self.cluster, np.array([weight.sum()]))


def sampled_mean(values: Floats, sample: DrawnSample) -> Interval:
    """Estimate the mean of values from 0 to 1 (n, NaN for a question without one) with a 95 % interval.

    The mean is Hájek's, post-stratified: the weights of a stratum sum to its size. The half-widths are those of MOVER (Zou and Donner 2008), √Σ (W (p - l))²
    over strata of the share W and the mean p, with limits that are the wider of Wilson's and Jeffreys', the effective n of the weights, and the design
    effect of clusters. Fewer than 5 clusters give no interval, nor do fewer than 20 values if some are neither 0 nor 1.
    """
    known = ~np.isnan(values)
    if not known.any():
        return Interval(np.nan, np.nan, np.nan, 0, 0)
    sums = np.bincount(sample.stratum, sample.weight, minlength=len(sample.sizes))
    a = (sample.weight * (sample.sizes / np.where(sums > 0, sums, 1))[sample.stratum])[known]
    y, a, cluster = values[known], a / a.sum(), np.unique(sample.cluster[known], return_inverse=True)[1]
    counts = np.bincount(sample.stratum[known])
    # A stratum with a single value has no variance, and joins the largest.
    joined = np.where(counts[sample.stratum[known]] < 2, counts.argmax(), sample.stratum[known])
    stratum = np.unique(joined, return_inverse=True)[1]
    share = np.bincount(stratum, a)
    mean = np.bincount(stratum, a * y) / share
    value, clusters = min(1.0, float(a @ y)), int(cluster.max()) + 1
    is_score = not np.isin(y, (0, 1)).all()
    if clusters < FEWEST_FOR_INTERVAL or (is_score and len(y) < FEWEST_SCORES):
        return Interval(value, np.nan, np.nan, len(y), clusters)
    design = _design(y, a, mean[stratum], np.bincount(stratum)[stratum], cluster)
    alpha, members = 2 * float(scipy.special.ndtr(-t_quantile(clusters - 1))), (stratum == code for code in range(len(share)))
    effective = [effective_number(a[inside]) / design for inside in members]
    low, high = mover_limits(value, list(zip(share.tolist(), mean.tolist(), effective, strict=True)), alpha)
    return Interval(value, low, high, len(y), clusters)


def _design(y: Floats, a: Floats, mean: Floats, count: Ints, cluster: Ints) -> float:
    """Return the variance of clusters within strata over that of independent successes, shrunk. That of scores can be below 1."""
    bias = count / np.maximum(1, count - 1)
    sums = np.bincount(cluster, a * (y - mean) * np.sqrt(bias))
    clustered = float((sums**2).sum()) * len(sums) / (len(sums) - 1)
    independent = float((a**2 * mean * (1 - mean) * bias).sum())
    observed = clustered / independent if independent > 0 and clustered > 0 else np.nan
    return max(1e-3, shrunk_design(observed, cluster, rarer(y), 1.0 if np.isin(y, (0, 1)).all() else 0.0))


def corrected_for_judge(judged: Interval, sensitivity: CalibrationValue, false_alarms: CalibrationValue) -> Interval:
    """Correct the share q that a judge approved, (q - f) / (s - f) (Rogan and Gladen 1978), with the uncertainty of all three.

    The limits are those of MOVER: the root of the squared changes of the value when q, s or f alone is at a limit of its interval. A judge whose sensitivity may be
    as low as its false alarms leaves everything possible.
    """

    def corrected(q: float, s: float, f: float) -> float:
        return (q - f) / max(s - f, _LEAST_DIFFERENCE)

    q, s, f = judged.value, sensitivity.value, false_alarms.value
    value = corrected(q, s, f)
    lows = corrected(judged.low, s, f), corrected(q, sensitivity.high, f), corrected(q, s, false_alarms.high)
    highs = corrected(judged.high, s, f), corrected(q, sensitivity.low, f), corrected(q, s, false_alarms.low)
    below, above = (float(np.sqrt(sum((each - value) ** 2 for each in ends))) for ends in (lows, highs))
    if not sensitivity.low - false_alarms.high > _LEAST_DIFFERENCE:
        below = above = np.inf if np.isfinite(below) else np.nan
    low, high = np.clip([value - below, value + above], 0, 1).tolist()
    return replace(judged, value=min(1.0, max(0.0, value)), low=low, high=high)
