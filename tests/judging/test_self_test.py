import math
from collections.abc import Sequence

import pytest
from sklearn.metrics import roc_auc_score

from workbench.errors import InputError
from workbench.judging.self_test import CaseResult, SelfTest


def row(score: float | None, approves: bool, kind: str = "") -> CaseResult:
    """A case scored, bound at 0.8 and 0.2."""
    met = score is not None and (score >= 0.8 if approves else score <= 0.2)
    return CaseResult(
        "some-001", kind or ("good" if approves else "bad"), approves, score, "unscored" if score is None else "passed" if met else "failed"
    )


def told(good: Sequence[float | None], bad: Sequence[float | None]) -> SelfTest:
    return SelfTest((*[row(score, True) for score in good], *[row(score, False) for score in bad]))


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ([0.9, 0.4, 0.4], [0.4, 0.1]),
        ([0.2, 0.3], [0.9, 0.8]),
        ([0.5], [0.5]),
        ([0.25, 0.75, 0.5, 1.0], [0.5, 0.25, 0.0, 0.75, 0.75]),
    ],
)
def test_auroc_is_that_of_sklearn(good: list[float], bad: list[float]) -> None:
    labels = [True] * len(good) + [False] * len(bad)
    assert told(good, bad).auroc == pytest.approx(roc_auc_score(labels, good + bad), abs=1e-12)
    assert told([*good, None], [None, *bad]).auroc == told(good, bad).auroc


@pytest.mark.parametrize(("good", "bad"), [([1.0], [None]), ([None], [0.0]), ([1.0], []), ([], [])])
def test_auroc_needs_both_classes(good: list[float | None], bad: list[float | None]) -> None:
    scored = len([score for score in good if score is not None]), len([score for score in bad if score is not None])
    with pytest.raises(InputError, match=f"not {scored[0]} to approve and {scored[1]} to refuse"):
        _ = told(good, bad).auroc


def test_always_yes_is_the_share_of_the_commoner_answer() -> None:
    assert told([1.0, 0.5, 0.7], [0.49]).always_yes == 0.75
    assert told([0.1, 0.2, None], [0.3]).always_yes == 1
    with pytest.raises(InputError, match="no case was scored"):
        _ = told([None], [None]).always_yes


def test_kinds_are_told_one_by_one() -> None:
    test = SelfTest((row(0.9, True, "first"), row(0.7, True, "first"), row(None, False, "second"), row(0.1, False, "third")))
    assert (test.passed, test.failed, test.unscored) == (2, 1, 1)
    assert list(test.by_kind.columns) == ["kind", "approves", "passed", "failed", "unscored", "mean"]
    first, second, third = test.by_kind.to_numpy().tolist()
    assert first == ["first", True, 1, 1, 0, pytest.approx(0.8)]
    assert second[:5] == ["second", False, 0, 0, 1]
    assert math.isnan(second[5])
    assert third == ["third", False, 1, 0, 0, 0.1]


@pytest.mark.parametrize(
    ("good", "bad", "verdict"),
    [
        ([1.0] * 10, [0.0] * 10, "judge"),
        ([1.0] * 9 + [None], [0.0] * 9 + [None], "judge"),
        ([1.0] * 9 + [None], [0.0] * 8 + [None] * 2, "not a judge: only 17 of 20 cases were scored"),
        ([1.0] * 10, [None] * 10, "not a judge: only 10 of 20 cases were scored"),
        ([None], [None], "not a judge: only 0 of 2 cases were scored"),
        ([], [], "not a judge: only 0 of 0 cases were scored"),
        ([1.0] * 10, [0.0] * 5 + [1.0] * 5, "judge"),
        ([1.0] * 10, [0.0] * 4 + [1.0] * 6, "not a judge: it fails 6 of 10 cases of kind bad"),
        ([0.7] * 10, [0.0] * 10, "not a judge: it fails 10 of 10 cases of kind good"),
        ([1.0] * 10, [0.0], "not a judge: 91% of its answers are one and the same"),
        ([0.0] * 4 + [1.0] * 4, [0.0] * 4 + [1.0] * 4, "not a judge: AUROC 0.50 is below 0.65"),
    ],
)
def test_the_name_of_judge_is_earned(good: list[float | None], bad: list[float | None], verdict: str) -> None:
    assert told(good, bad).verdict == verdict
