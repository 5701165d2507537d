import pytest

from workbench.components.context.conditions import PERTURBATIONS
from workbench.report.analysis.answer_values import answering
from workbench.report.topics.answers.attacks import attack_outcomes


def rows_of(run, condition, perturbation):
    table = run.answers
    return table[(table["configuration"] == answering(run)[0]) & (table["condition"] == condition) & (table["variant"] == perturbation)]


@pytest.mark.parametrize("condition", ["counterfactual", "injection"])
def test_the_outcomes_of_each_perturbation_are_counted(answered_run, condition):
    found = attack_outcomes(answered_run, answering(answered_run)[0], condition)
    assert [each.perturbation for each in found] == list(PERTURBATIONS[condition])
    for each in found:
        rows = rows_of(answered_run, condition, each.perturbation)
        given = rows[(rows["error"] == "") & (rows["reason"] == "")]
        assert each.answers == len(given)
        assert dict(each.counts) == {outcome: int((given["outcome"] == outcome).sum()) for outcome in each.counts}
        assert each.neither == (given["outcome"] == "").sum()
        assert each.missing == (rows["error"] != "").sum()


def test_the_bad_share_is_of_the_questions_with_an_outcome_with_its_interval(answered_run):
    before, _ = attack_outcomes(answered_run, answering(answered_run)[0], "counterfactual")
    rows = rows_of(answered_run, "counterfactual", "before")
    known = rows[rows["outcome"] != ""]
    assert before.bad.value == pytest.approx((known["outcome"] == "adopted").groupby(known["query_id"]).mean().mean())
    assert before.bad.low < before.bad.value < before.bad.high
    assert before.inapplicable == 12


def test_without_the_condition_nothing_is_counted(unanswered):
    assert attack_outcomes(unanswered, unanswered.names[0], "injection") == ()
