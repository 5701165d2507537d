"""Corrected means and differences: hand-worked cases, coverage in a small simulation, agreement with prediction-powered inference."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, roc_auc_score

from benchmarks.judge_correction import simulated
from tests.measures.statistics.reference import wilson
from workbench.core.errors import InputError
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.intervals import share_limits, shrunk_design
from workbench.measures.statistics.judge_calibration import JudgedLabels, agreement, calibration
from workbench.measures.statistics.judge_corrections import LabelledItems, corrected_difference, corrected_mean


def made(judged, label, documents=40):
    judged, label = np.asarray(judged, dtype=float), np.asarray(label, dtype=float)
    query = np.arange(len(judged))
    return LabelledItems(query, np.ones(len(judged)), judged, label, ~np.isnan(label), Clusters.of(query % documents))


def half_labelled(seed=0, good=0.9, sensitivity=0.9, alarms=0.2, n=200, labels=60):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < good).astype(float)
    judged = np.where(rng.random(n) < np.where(truth == 1, sensitivity, alarms), 1.0, 0.0)
    label = np.where(np.arange(n) < labels, truth, np.nan)
    return made(judged, label), truth


def test_the_corrected_mean_weights_the_labelled_shares_by_the_sizes_of_the_verdict_classes():
    # 80 % judged good, of which 30 of 40 labelled are good; 20 % judged bad, of which 2 of 10 are good.
    judged = np.repeat([1.0, 0.0], [160, 40])
    label = np.full(200, np.nan)
    label[:40], label[160:170] = np.repeat([1, 0], [30, 10]), np.repeat([1, 0], [2, 8])
    assert corrected_mean(made(judged, label), "items").value == pytest.approx(0.8 * 0.75 + 0.2 * 0.2)


def test_items_without_a_verdict_are_a_class_of_their_own():
    judged = np.repeat([1.0, np.nan], [100, 100])
    label = np.full(200, np.nan)
    label[:30], label[100:130] = 1.0, 0.0
    assert corrected_mean(made(judged, label), "items").value == pytest.approx(0.5)


def test_a_class_without_labels_could_have_any_mean():
    judged = np.repeat([1.0, 0.0], [180, 20])
    label = np.full(200, np.nan)
    label[:60] = 1.0
    items = made(judged, label)
    found = corrected_mean(LabelledItems(items.query, items.weight, judged, label, np.zeros(200, dtype=bool), items.clusters), "items")
    assert found.value == pytest.approx(0.95)
    assert found.low < 0.9
    assert found.high == 1.0


def test_the_population_has_a_wider_interval_than_its_items():
    items, _ = half_labelled()
    assert corrected_mean(items, "population").width > corrected_mean(items, "items").width


def test_an_interval_is_never_wider_than_that_of_the_labels_alone():
    for seed in range(12):
        items, _ = half_labelled(seed, sensitivity=0.6, alarms=0.5)
        blind = LabelledItems(items.query, items.weight, np.ones(200), items.label, items.random, items.clusters)
        for target in ("items", "population"):
            assert corrected_mean(items, target).width <= corrected_mean(blind, target).width + 1e-12


def test_fewer_than_50_labels_and_fewer_than_50_common_questions_are_refused():
    items, _ = half_labelled(labels=49)
    other, _ = half_labelled(1)
    with pytest.raises(InputError, match="49 labels cannot correct a judge"):
        corrected_mean(items, "items")
    with pytest.raises(InputError, match="49 labels cannot"):
        corrected_difference(items, other, "items")


def test_fewer_than_5_documents_have_no_interval_of_the_population():
    items, _ = half_labelled()
    few = LabelledItems(items.query, items.weight, items.judged, items.label, items.random, Clusters.of(items.query % 4))
    assert np.isnan(corrected_mean(few, "population").low)
    assert corrected_mean(few, "items").low > 0


def test_the_mean_of_all_items_is_known_if_all_are_labelled():
    items, truth = half_labelled(labels=200)
    found = corrected_mean(items, "items")
    assert (found.value, found.low, found.high) == pytest.approx((truth.mean(),) * 3)


def test_identical_configurations_differ_by_0_and_the_interval_contains_it():
    items, _ = half_labelled()
    for target in ("items", "population"):
        found = corrected_difference(items, items, target)
        assert found.value == pytest.approx(0)
        assert found.low < 0 < found.high


def test_the_rectifier_of_a_pair_removes_errors_that_differ_between_configurations():
    a, truth_a = half_labelled(1, sensitivity=0.7, alarms=0.4, n=2000, labels=600)
    b, truth_b = half_labelled(2, sensitivity=0.99, alarms=0.05, n=2000, labels=600)
    true = truth_a.mean() - truth_b.mean()
    found = corrected_difference(a, b, "items")
    assert found.low <= true <= found.high
    # The judge alone sees a difference that does not exist.
    assert abs(a.judged.mean() - b.judged.mean() - true) > 0.15


def test_the_estimate_is_near_that_of_prediction_powered_inference_with_its_best_weight():
    # PPI++ (Angelopoulos, Duchi and Zrnic 2023): mean(Y) - λ (mean of labelled f - mean of the other f), λ = cov(Y, f) / ((1 + n / N) var(f)).
    items, _ = half_labelled(3, n=2000, labels=400)
    labelled = items.labelled
    y, f, rest = items.label[labelled], items.judged[labelled], items.judged[~labelled]
    weight = np.cov(y, f)[0, 1] / ((1 + len(y) / len(rest)) * items.judged.var())
    estimate = y.mean() - weight * (f.mean() - rest.mean())
    error = np.sqrt(np.var(y - weight * f) / len(y) + np.var(weight * rest) / len(rest))
    found = corrected_mean(items, "population")
    assert found.value == pytest.approx(estimate, abs=0.003)
    assert found.width == pytest.approx(2 * stats.norm.ppf(0.975) * error, rel=0.25)


@pytest.mark.parametrize("world", ["independent", "unequal documents, difficulty", "several claims, unparsed"])
def test_corrected_intervals_contain_the_truth_in_a_few_simulated_worlds(world):
    cell = simulated(world, "good and weak", 10, 50, (0.9, 0.98), 60)
    assert min(cell.coverage.values()) > 0.85


def test_limits_are_those_of_wilson_or_jeffreys_whichever_is_wider():
    low, high = share_limits(50, 50)
    assert (low, high) == (pytest.approx(50 / (50 + stats.norm.ppf(0.975) ** 2)), 1.0)
    assert share_limits(0, 0) == (0.0, 1.0)
    # Jeffreys' limits are those of Beta(3, 8), of which the part below p is the chance of 3 or more of 10 successes with the probability p.
    low, _ = share_limits(2.5, 10)
    assert sum(math.comb(10, count) * low**count * (1 - low) ** (10 - count) for count in range(3, 11)) == pytest.approx(0.025)
    assert share_limits(7.5, 10)[1] == pytest.approx(1 - low)
    # Wilson's are wider on the other side.
    assert (share_limits(2.5, 10)[1], share_limits(7.5, 10)[0]) == pytest.approx((wilson(2.5, 10)[1], wilson(7.5, 10)[0]))


def test_a_design_effect_without_rare_labels_is_that_of_equal_documents():
    assert shrunk_design(np.nan, np.repeat(np.arange(10), 5), np.zeros(50, dtype=bool)) == 5
    assert shrunk_design(1.0, np.arange(50), np.ones(50, dtype=bool)) == pytest.approx(1)


def measured(seed=0, n=80, **changes):
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.6).astype(float)
    score = np.clip(0.3 + 0.4 * label + rng.normal(size=n) * 0.2, 0, 1)
    fields = {"judged": (score >= 0.5).astype(float), "label": label, "score": score, "weight": np.ones(n), "codes": np.arange(n) % 20}
    return JudgedLabels(**(fields | {"length": rng.random(n) * 100, "position": np.full(n, np.nan)} | changes))


def test_measures_agree_with_scikit_learn():
    items = measured()
    found = calibration(items)
    assert found.auroc.value == pytest.approx(roc_auc_score(items.label, items.score))
    assert found.kappa.value == pytest.approx(cohen_kappa_score(items.label, items.judged))
    good = items.label == 1
    assert found.sensitivity.value == pytest.approx(items.judged[good].mean())
    assert found.false_alarms.value == pytest.approx(items.judged[~good].mean())
    assert found.balanced_accuracy.value == pytest.approx((items.judged[good].mean() + 1 - items.judged[~good].mean()) / 2)
    for value in (found.auroc, found.kappa, found.balanced_accuracy, found.sensitivity):
        assert value.low < value.value < value.high
    assert sum(good.n for _, good in found.curve) == 80


def test_weights_undo_the_sampling_by_verdict():
    # Every second bad verdict was labelled, and every good one.
    items = measured(n=400)
    chosen = (items.judged == 1) | (np.arange(400) % 2 == 0)
    weight = np.where(items.judged == 1, 1.0, 2.0)
    part = JudgedLabels(
        *(column[chosen] for column in (items.judged, items.label, items.score, weight, items.codes, items.length, items.position))
    )
    assert calibration(part).sensitivity.value == pytest.approx(calibration(items).sensitivity.value, abs=0.03)


def test_a_judge_that_prefers_long_texts_has_a_length_bias():
    rng = np.random.default_rng(1)
    length = rng.random(200)
    label = (rng.random(200) < 0.5).astype(float)
    biased = calibration(measured(n=200, label=label, judged=(length > 0.5).astype(float), length=length, score=np.full(200, np.nan)))
    assert biased.length_bias.low > 0.3
    assert biased.auroc.value == pytest.approx(0.5, abs=0.1)


def test_unparsed_items_are_counted_and_left_out():
    found = calibration(measured(judged=np.where(np.arange(80) < 8, np.nan, 1.0)))
    assert (found.labels, found.unparsed) == (80, 8)
    assert found.sensitivity.n + found.false_alarms.n == 72


def test_two_people_have_an_agreement_and_a_kappa():
    items = measured()
    agreed, kappa = agreement(items.label, items.judged, items.codes)
    assert agreed.value == pytest.approx((items.label == items.judged).mean())
    assert kappa.value == pytest.approx(cohen_kappa_score(items.label, items.judged))
