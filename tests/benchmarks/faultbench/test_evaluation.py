"""The quality of an attribution, worked by hand and against scikit-learn."""

import math

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_recall_fscore_support

from benchmarks.faultbench.cases import NONE
from benchmarks.faultbench.evaluation import AttributedCase, evaluate
from tests.measures.statistics.reference import wilson
from workbench.measures.attribution.causes import OWN_CAUSES

# Three of four ranks are found, one is said to be a refusal; one right answer of two is blamed on the rank.
CASES = [
    *(AttributedCase(f"q{number}", "rank", "rank") for number in range(3)),
    AttributedCase("q3", "rank", "refusal"),
    AttributedCase("q4", "refusal", "refusal"),
    AttributedCase("q5", NONE, NONE),
    AttributedCase("q6", NONE, "rank"),
]


def test_recall_precision_and_f1_of_a_small_table() -> None:
    quality = evaluate(CASES, fewest=1)
    rank, refusal = quality.causes
    assert (rank.cause, rank.cases, rank.recall.value) == ("rank", 4, 3 / 4)
    assert rank.f1.value == pytest.approx(3 / 4)
    assert rank.precision is not None
    assert rank.precision.value == 3 / 4
    assert (refusal.recall.value, refusal.f1.value) == (1, pytest.approx(2 / 3))
    assert quality.macro_f1.value == pytest.approx((3 / 4 + 2 / 3) / 2)
    assert (quality.false_blame.value, quality.sound) == (1 / 2, 2)
    assert (rank.recall.low, rank.recall.high) == pytest.approx(wilson(3, 4))
    # Of five answers with this cause or blamed on it, three have both.
    assert (rank.f1.low, rank.f1.high) == pytest.approx([2 * share / (1 + share) for share in wilson(3, 5)])


def test_it_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    names = [*OWN_CAUSES, NONE]
    cases = [
        AttributedCase(f"q{rng.integers(30)}", true, true if rng.random() < 0.6 else str(rng.choice(names)))
        for true in names
        for _ in range(20)
    ]
    quality, true, named = evaluate(cases), [case.cause for case in cases], [case.attributed for case in cases]
    precision, recall, f1, _ = precision_recall_fscore_support(true, named, labels=OWN_CAUSES)
    assert [each.recall.value for each in quality.causes] == pytest.approx(recall)
    assert [each.precision.value for each in quality.causes if each.precision] == pytest.approx(precision)
    assert [each.f1.value for each in quality.causes] == pytest.approx(f1)
    assert quality.macro_f1.value == pytest.approx(f1_score(true, named, labels=OWN_CAUSES, average="macro"))
    for share in [quality.macro_f1, quality.false_blame, *(each.f1 for each in quality.causes), *(each.recall for each in quality.causes)]:
        assert 0 <= share.low < share.value < share.high <= 1


def test_a_perfect_cause_has_an_interval_below_one_and_a_cause_that_is_never_named_has_no_precision() -> None:
    (refusal, unused) = evaluate([AttributedCase("a", "refusal", "refusal"), AttributedCase("b", "unused", NONE)]).causes
    assert refusal.f1.value == 1 > refusal.f1.low
    assert unused.precision is None


def test_the_mean_f1_leaves_out_causes_with_few_cases() -> None:
    many = [AttributedCase(f"q{number}", "refusal", "refusal") for number in range(10)]
    few = [AttributedCase("r", "rank", "refusal")]
    assert evaluate([*many, *few]).macro_f1.value == pytest.approx(20 / 21)
    assert math.isnan(evaluate(few).macro_f1.value)


def test_without_right_answers_there_is_no_share_of_false_blame() -> None:
    assert math.isnan(evaluate([AttributedCase("a", "refusal", "refusal")]).false_blame.value)
