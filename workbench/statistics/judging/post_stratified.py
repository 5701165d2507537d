"""Correct the mean of a judge by labels: the share of labelled successes in each class of verdicts, weighted by the size of the class."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy

from workbench.metrics.coverage import Bools, Floats
from workbench.statistics.clusters import FEWEST_FOR_INTERVAL
from workbench.statistics.intervals import robust, t_quantile
from workbench.statistics.judging.items import LABELS_ALONE, POST_STRATIFIED, CorrectedValue, LabelledItems, Target, require_labels
from workbench.statistics.judging.limits import effective_number, rarer, share_limits, shrunk_design

_NONE = 1e-9


@dataclass(frozen=True, slots=True)
class VerdictClass:
    """The items with one verdict: their `share`, the part `left` without a label, and of `n` (effective) labels the `mean`."""

    share: float
    left: float
    mean: float
    n: float


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
    found = []
    for code in np.unique(classes):
        inside, chosen = classes == code, labelled & (classes == code)
        weights, values = importance[chosen], items.label[chosen]
        # A class without labels could have any mean.
        mean = float(np.average(values, weights=weights)) if len(values) else 0.5
        share = float(items.weight[inside].sum() / items.weight.sum())
        left = 1 - float(items.weight[chosen].sum() / items.weight[inside].sum())
        found.append(VerdictClass(share, left, mean, effective_number(weights)))
        predicted[inside] = mean
        if len(values):
            residual[chosen] = weights * (values - mean) * share / weights.sum() * questions
    value = sum(each.share * each.mean for each in found)
    shared, design, alpha = 0.0, 1.0, _alpha(int(labelled.sum()))
    if target == "population":
        shared, design = _between_documents(items, predicted * items.weight, residual, labelled)
    low, high = _mover(found, value, shared, design, alpha, target)
    return CorrectedValue(value, low, high, int(labelled.sum()), questions, target, method)


@cache
def _alpha(labels: int) -> float:
    """The level at which normal quantiles equal those of t with n - 1 degrees of freedom."""
    return float(2 * scipy.special.ndtr(-t_quantile(int(labels) - 1)))


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


def _mover(classes: list[VerdictClass], value: float, shared: float, design: float, alpha: float, target: Target) -> tuple[float, float]:
    if np.isnan(design):
        return np.nan, np.nan
    below = above = shared
    for each in classes:
        unlabelled = each.left if target == "items" else 1.0
        if unlabelled <= _NONE:
            continue
        n = each.n / design / unlabelled
        low, high = share_limits(each.mean * n, n, alpha)
        below += (each.share * max(0.0, each.mean - low)) ** 2
        above += (each.share * max(0.0, high - each.mean)) ** 2
    return max(0.0, value - below**0.5), min(1.0, value + above**0.5)
