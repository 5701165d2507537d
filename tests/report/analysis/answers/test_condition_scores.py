from dataclasses import replace

import pytest

from tests.answered_runs import NO_ALTERED, RIGHT, Planted, answered, without_expected
from workbench.components.context.conditions import CONDITIONS
from workbench.report.analysis.answer_values import answer_score, answering, condition_mean, condition_scores, is_verbatim


def scores_of(run):
    return {row.condition: row for row in condition_scores(run, answering(run)[0])}


def test_each_condition_has_a_row_in_the_order_of_the_conditions(answered_run):
    assert list(scores_of(answered_run)) == list(CONDITIONS)


def test_the_score_of_each_condition_is_near_the_planted_one(answered_run):
    for condition, row in scores_of(answered_run).items():
        assert row.mean.value == pytest.approx(RIGHT[condition], abs=0.12)
        assert row.mean.n > 100


def test_questions_without_such_a_context_and_failed_answers_are_counted_by_reason(answered_run):
    row = scores_of(answered_run)["counterfactual"]
    assert row.inapplicable == {NO_ALTERED: 12}
    assert row.asked == 108
    ((reason, failed),) = row.failed.items()
    assert reason == "the server timed out (60 s)"
    table = answered_run.answers
    assert failed == sum((table["configuration"] == row.configuration) & (table["condition"] == "counterfactual") & (table["error"] != ""))


def test_questions_to_which_the_score_does_not_apply_are_counted_by_reason(answered_run, unanswered):
    assert scores_of(answered_run)["gold"].unscored == {"unanswerable": 4}
    row = scores_of(without_expected(answered(unanswered)))["counterfactual"]
    assert row.unscored == {"no expected answer": 105, "unanswerable": 3}
    assert row.mean is None


def test_refusals_are_a_share_of_the_answers_that_were_given(answered_run):
    rows = scores_of(answered_run)
    assert rows["irrelevant_only"].refused.value > 0.8
    assert rows["gold"].refused.value < 0.15
    table = answered_run.answers
    given = table[(table["configuration"] == answering(answered_run)[0]) & (table["condition"] == "gold") & (table["error"] == "")]
    assert rows["gold"].refused.value == pytest.approx(given.groupby("query_id")["refused"].mean().mean())


def test_the_answer_score_is_the_first_metric_of_content_in_the_run(answered_run):
    assert str(answer_score(answered_run)) == "answer_recall"
    metrics = {name: each for name, each in answered_run.manifest["metrics"].items() if name != "answer_recall"}
    assert answer_score(replace(answered_run, manifest=dict(answered_run.manifest) | {"metrics": metrics})) is None


def test_a_metric_that_never_applies_in_a_condition_has_no_mean(answered_run):
    assert condition_mean(answered_run, answering(answered_run)[0], "injection_resistance", "gold") is None


def test_a_run_without_answers_has_no_configuration_that_answers(unanswered):
    assert answering(unanswered) == ()
    assert answer_score(unanswered) is None


def test_a_run_with_failed_calls_only_has_no_share_of_refusals(unanswered):
    run = answered(unanswered, Planted(conditions=["retrieved"], failed=1.0))
    (row,) = condition_scores(run, answering(run)[0])
    assert row.refused is None
    assert row.mean.n == 0
    assert sum(row.failed.values()) == 120


def test_answers_that_are_copied_are_known_by_the_reason_of_their_metrics(answered_run, copied_run):
    assert not is_verbatim(answered_run, answering(answered_run)[0])
    assert is_verbatim(copied_run, answering(copied_run)[0])
