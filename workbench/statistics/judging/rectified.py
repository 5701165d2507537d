"""Correct the difference between two configurations by labels of both on the same questions."""

from dataclasses import dataclass, replace

import numpy as np

from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats
from workbench.statistics.clusters import FEWEST_FOR_INTERVAL, Clusters
from workbench.statistics.intervals import robust, t_quantile
from workbench.statistics.judging.items import LABELS_ALONE, RECTIFIED, CorrectedValue, LabelledItems, Target, require_labels
from workbench.statistics.judging.limits import effective_number, shrunk_design

# Rectifiers of +1 or -1 that n labels may have missed.
_UNSEEN = 2


@dataclass(frozen=True, slots=True, eq=False)
class LabelledDifference:
    """Terms of a difference a - b, on the questions q that both configurations have items for.

    `judged` (q) is the difference of the judge's means, `labels` and `rectifier` (q) that of the labels and of label minus verdict, for a random item
    of each, NaN where either has no label. `weight` (q) is that of the question. `left` is the share of the items without a label.
    """

    judged: Floats
    labels: Floats
    rectifier: Floats
    weight: Floats
    clusters: Clusters
    left: float

    @property
    def drawn(self) -> Bools:
        """The questions with labels of both. Shape (q,)."""
        return ~np.isnan(self.labels)


def corrected_difference(a: LabelledItems, b: LabelledItems, target: Target) -> CorrectedValue:
    """Estimate mean a - mean b as mean(f_a - f_b) + mean over labelled questions of [(Y_a - f_a) - (Y_b - f_b)], with a 95 % interval.

    The rectifier is that of the pair, because judges err differently on different configurations (prediction-powered inference; Angelopoulos et al.
    2023). The standard error is clustered by document for the target `population`, and has a finite-population correction for `items`. 2 / n² is
    added to its square, as if two more rectifiers of n had been +1 and -1, since judge errors that are rare may all be missed. If the labels
    have a narrower interval without the judge, that one is returned.

    Raises
    ------
    InputError
        If fewer than 50 questions have a label of both, or the two have different questions.
    """
    data = _paired(a, b)
    require_labels(int(data.drawn.sum()))
    corrected, alone = _rectified(data, target), _alone(data, target)
    return alone if alone.width < corrected.width else corrected


def _paired(a: LabelledItems, b: LabelledItems) -> LabelledDifference:
    if len(a.clusters) != len(b.clusters):
        raise InputError("the configurations have items of different questions", "give both the same clusters")
    judged_a, label_a, verdict_a = _by_question(a)
    judged_b, label_b, verdict_b = _by_question(b)
    both = ~np.isnan(judged_a) & ~np.isnan(judged_b)
    weight = ((a.question_weight + b.question_weight) / 2)[both]
    labels, verdicts = (label_a - label_b)[both], (verdict_a - verdict_b)[both]
    left = max(_left(a, both & ~np.isnan(label_a - label_b)), _left(b, both & ~np.isnan(label_a - label_b)))
    return LabelledDifference((judged_a - judged_b)[both], labels, labels - verdicts, weight / weight.mean(), a.clusters[both], left)


def _left(items: LabelledItems, drawn: Bools) -> float:
    """The share of the items without a used label. Of several items of a question only one is labelled."""
    used = items.labelled & items.random & drawn[items.query]
    return 1 - float(items.weight[used].sum() / items.weight.sum())


def _by_question(items: LabelledItems) -> tuple[Floats, Floats, Floats]:
    """The judge's mean of each question, and label and verdict of its random item, all (Q) with NaN for none. No verdict counts as ½."""
    verdict = np.where(np.isnan(items.judged), 0.5, items.judged)
    weight = items.question_weight
    mean = np.divide(items.per_question(items.weight * verdict), weight, out=np.full(len(weight), np.nan), where=weight > 0)
    chosen = items.labelled & items.random
    label, own = np.full(len(weight), np.nan), np.full(len(weight), np.nan)
    label[items.query[chosen]], own[items.query[chosen]] = items.label[chosen], verdict[chosen]
    return mean, label, own


def _rectified(data: LabelledDifference, target: Target) -> CorrectedValue:
    drawn, n, questions = data.drawn, int(data.drawn.sum()), len(data.judged)
    weights = data.weight[drawn]
    shift = float(np.average(data.rectifier[drawn], weights=weights))
    residual = np.zeros(questions)
    residual[drawn] = weights * (data.rectifier[drawn] - shift) * questions / weights.sum()
    predicted = data.weight * data.judged
    value = float(predicted.mean()) + shift
    unseen = _UNSEEN / effective_number(weights) ** 2
    if target == "items":
        half = float(t_quantile(n - 1)) * (data.left * residual.var(ddof=1) / questions + unseen) ** 0.5
    else:
        # Pseudo-values: their mean is the estimate, and their clustered error that of both parts.
        both = robust((predicted + shift + residual)[None], data.clusters)
        known = int(both.clusters[0]) >= FEWEST_FOR_INTERVAL
        error = (float(np.nan_to_num(both.error[0])) ** 2 + unseen) ** 0.5
        half = float(t_quantile(both.freedom)[0]) * error if known else np.nan
    return _difference(value, value, half, data, target, RECTIFIED)


def _alone(data: LabelledDifference, target: Target) -> CorrectedValue:
    """The difference of the labels. Its limits are the wider of mean ± t · error and those of Agresti and Min (2005), with an effective n."""
    drawn = data.drawn
    labels, weights, clusters = data.labels[drawn], data.weight[drawn], data.clusters[drawn]
    n, design, t = effective_number(weights), 1.0, float(t_quantile(int(drawn.sum()) - 1))
    mean = float(np.average(labels, weights=weights))
    if target == "population":
        values = robust((weights * labels / weights.mean())[None], clusters)
        if int(values.clusters[0]) < FEWEST_FOR_INTERVAL:
            return _difference(mean, mean, np.nan, data, target, LABELS_ALONE)
        independent = float(labels.var(ddof=1)) / n
        error = float(np.nan_to_num(values.error[0])) ** 2
        design = shrunk_design(error / independent if independent > 0 and error > 0 else np.nan, clusters.codes, labels != 0)
        t = float(t_quantile(values.freedom)[0])
    else:
        design = max(1e-9, data.left)
    n /= design
    better, worse = (float(np.average(side, weights=weights)) * n for side in (labels > 0, labels < 0))
    centre = (better - worse) / (n + 2)
    variance = (better + worse + 1 - (better - worse) ** 2 / (n + 2)) / (n + 2) ** 2
    agresti, plain = t * variance**0.5, t * (float(labels.var(ddof=1)) / n + _UNSEEN / n**2) ** 0.5
    # The centre of Agresti and Min is drawn towards 0, which is too far for a few differences of one sign.
    low, high = min(centre - agresti, mean - plain), max(centre + agresti, mean + plain)
    return _difference(mean, (low + high) / 2, (high - low) / 2, data, target, LABELS_ALONE)


def _difference(value: float, centre: float, half: float, data: LabelledDifference, target: Target, method: str) -> CorrectedValue:
    low, high = max(-1.0, centre - half), min(1.0, centre + half)
    made = CorrectedValue(value, min(low, value), max(high, value), int(data.drawn.sum()), len(data.judged), target, method)
    return replace(made, low=np.nan, high=np.nan) if np.isnan(half) else made
