"""Correct the means of a judge, and the differences between them, by items that a person labelled in part."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from workbench.core.errors import InputError
from workbench.core.text.formatting import plural
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.clusters import FEWEST_FOR_INTERVAL, Clusters
from workbench.measures.statistics.intervals import effective_number, mover_limits, rarer, robust, shrunk_design, t_quantile

# With fewer labels the intervals of corrections contain the truth too rarely.
FEWEST_LABELS = 50

# What a value describes: the judged items, or the questions and documents of which they are a sample.
Target = Literal["items", "population"]

TARGETS: tuple[Target, ...] = ("items", "population")

POST_STRATIFIED, RECTIFIED, LABELS_ALONE = "post-stratified", "pairwise rectified", "labels alone"

_NONE = 1e-9

# Rectifiers of +1 or -1 that n labels may have missed.
_UNSEEN = 2


@dataclass(frozen=True, slots=True, eq=False)
class LabelledItems:
    """The N judged items (claims or answers) of one configuration on the Q questions of `clusters`.

    `query` (N) is the question of each item and `weight` (N) its share in the mean: the weights of a question's items sum to the question's own,
    and those of all questions to Q. `judged` (N) is 1 or 0, NaN if the judge gave no verdict, `label` (N) 1 or 0, NaN without a label.
    `random` (N) marks items that were drawn by drawing questions, then one item of each by weight. Labels of other items must be drawn at random among those
    with the same `judged`, again at most one of a question.
    """

    query: Ints
    weight: Floats
    judged: Floats
    label: Floats
    random: Bools
    clusters: Clusters

    @property
    def labelled(self) -> Bools:
        """Mark the items with a label. Shape (N,)."""
        return ~np.isnan(self.label)

    @property
    def verdict_class(self) -> Ints:
        """Return 0, 1, or 2 for an item without a verdict. Shape (N,)."""
        return np.where(np.isnan(self.judged), 2, self.judged).astype(np.int64)

    @property
    def question_weight(self) -> Floats:
        """The weight of each question, 0 without items. Shape (Q,)."""
        return self.per_question(self.weight)

    @property
    def questions(self) -> int:
        """The number of questions with items."""
        return len(np.unique(self.query))

    def per_question(self, values: Floats) -> Floats:
        """Sum values (N) over the items of each question. Shape (Q,)."""
        return np.bincount(self.query, values, minlength=len(self.clusters)).astype(np.float64)


@dataclass(frozen=True, slots=True)
class CorrectedValue:
    """A mean or difference with its 95 % interval (NaN without bounds), from `labels` labels of `n` questions.

    `method` is `post-stratified`, `pairwise rectified`, or `labels alone` where the judge would widen the interval.
    """

    value: float
    low: float
    high: float
    labels: int
    n: int
    target: Target
    method: str

    @property
    def width(self) -> float:
        """Return the width of the interval, infinite without bounds."""
        return self.high - self.low if np.isfinite(self.high - self.low) else float("inf")


def require_labels(labels: int) -> None:
    """Raise InputError if the labels are too few for a correction."""
    if labels < FEWEST_LABELS:
        raise InputError(f"{plural(labels, 'label')} cannot correct a judge", f"label at least {FEWEST_LABELS} items of each configuration")


def corrected_mean(items: LabelledItems, target: Target) -> CorrectedValue:
    """Estimate the share of successes of all items, θ = Σ W p over the verdict classes, with a 95 % interval.

    W is the share of a class, p its labelled mean. The half-widths are those of MOVER (Zou and Donner 2008), √(Σ (W (p - l))² + B), with
    limits l and u that are the wider of Wilson's and Jeffreys'. For the target `items` B is 0 and the labels get a finite-population correction. For `population` the labels
    count as n / design effect, and B = t² · (variance of the classes' sizes and of what they share with the labels), clustered by document.
    If the labels that were drawn at random have a narrower interval without the judge, that one is returned.

    Raises
    ------
    InputError
        If fewer than 50 items are labelled.
    """
    labels = int(items.labelled.sum())
    require_labels(labels)
    whole = np.zeros_like(items.judged)
    corrected = _stratified(items, items.verdict_class.astype(np.float64), items.labelled.astype(np.float64), target, POST_STRATIFIED)
    drawn = (items.labelled & items.random).astype(np.float64)
    if drawn.sum() < 2:
        return corrected
    alone = _stratified(items, whole, drawn, target, LABELS_ALONE)
    return alone if alone.width < corrected.width else corrected


def _stratified(items: LabelledItems, classes: Floats, used: Floats, target: Target, method: str) -> CorrectedValue:
    """Estimate the mean from the labels that are `used` (N), with any division of the items into `classes` (N)."""
    labelled = used > 0
    questions = items.questions
    predicted, residual = np.zeros_like(items.weight), np.zeros_like(items.weight)
    importance = items.question_weight[items.query]
    strata = []
    for code in np.unique(classes):
        inside, chosen = classes == code, labelled & (classes == code)
        weights, values = importance[chosen], items.label[chosen]
        # A class without labels could have any mean.
        mean = float(np.average(values, weights=weights)) if len(values) else 0.5
        share = float(items.weight[inside].sum() / items.weight.sum())
        left = 1 - float(items.weight[chosen].sum() / items.weight[inside].sum())
        strata.append((share, mean, effective_number(weights), left if target == "items" else 1.0))
        predicted[inside] = mean
        if len(values):
            residual[chosen] = weights * (values - mean) * share / weights.sum() * questions
    value = sum(share * mean for share, mean, _, _ in strata)
    shared, design = 0.0, 1.0
    # The level at which normal quantiles equal those of t with n - 1 degrees of freedom.
    alpha = float(2 * scipy.special.ndtr(-t_quantile(int(labelled.sum()) - 1)))
    if target == "population":
        shared, design = _between_documents(items, predicted * items.weight, residual, labelled)
    counted = [(share, mean, n / design / unlabelled) for share, mean, n, unlabelled in strata if unlabelled > _NONE]
    low, high = (np.nan, np.nan) if np.isnan(design) else mover_limits(value, counted, alpha, shared)
    return CorrectedValue(value, low, high, int(labelled.sum()), questions, target, method)


def _between_documents(items: LabelledItems, predicted: Floats, residual: Floats, labelled: Bools) -> tuple[float, float]:
    """Return t² · variance of the predictions, and the design effect of the labels times (t / t(n - 1))².

    The variance of the sum of predictions and residuals minus that of the residuals is used if it is larger: it includes the covariance.
    """
    present = np.isin(np.arange(len(items.clusters)), items.query)
    clusters = items.clusters[present]
    parts = np.array([items.per_question(predicted)[present], items.per_question(residual)[present]])
    both = robust(np.array([parts.sum(axis=0), parts[0], parts[1]]), clusters)
    if int(both.clusters[0]) < FEWEST_FOR_INTERVAL:
        return np.nan, np.nan
    whole, of_predictions, of_labels = (np.nan_to_num(both.error) ** 2).tolist()
    independent = float(parts[1].var(ddof=1)) / parts.shape[1]
    t = float(t_quantile(both.freedom)[0])
    rare = rarer(items.label[labelled])
    codes = np.unique(items.clusters.codes[items.query[labelled]], return_inverse=True)[1]
    design = shrunk_design(of_labels / independent if independent > 0 and of_labels > 0 else np.nan, codes, rare)
    return t**2 * max(of_predictions, whole - of_labels), design * (t / float(t_quantile(int(labelled.sum()) - 1))) ** 2


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
    if len(a.clusters) != len(b.clusters):
        raise InputError("the configurations have items of different questions", "give both the same clusters")
    judged_a, label_a, verdict_a = _by_question(a)
    judged_b, label_b, verdict_b = _by_question(b)
    both, labels = ~np.isnan(judged_a) & ~np.isnan(judged_b), label_a - label_b
    weight = ((a.question_weight + b.question_weight) / 2)[both]
    left = max(_left(items, both & ~np.isnan(labels)) for items in (a, b))
    rectifier = (labels - (verdict_a - verdict_b))[both]
    data = LabelledDifference((judged_a - judged_b)[both], labels[both], rectifier, weight / weight.mean(), a.clusters[both], left)
    require_labels(int(data.drawn.sum()))
    corrected, alone = _rectified(data, target), _alone(data, target)
    return alone if alone.width < corrected.width else corrected


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
