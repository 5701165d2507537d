"""What is known about the judges of a run."""

import pytest

from tests.judged_runs import Judged, judged
from workbench.report.analysis.judges import has_judges, judge_trust
from workbench.report.topics.answers.calibration import calibration_blocks, calibrations, corrected_blocks, labelled_configurations


@pytest.fixture(scope="module")
def labelled(scored_run):
    return judged(scored_run, Judged(labels=60, conditions=["retrieved"]))


def test_the_judges_are_in_the_order_of_the_tasks_with_their_roles_tests_and_items(judged_run):
    found = judge_trust(judged_run)
    assert [(each.task, each.role) for each in found] == [
        ("support", "judge"),
        ("context_relevance", "judge"),
        ("answer_relevance", "judge"),
        ("correctness", "score"),
    ]
    support, _, _, correctness = found
    assert (support.auroc, support.passed, support.failed, support.untested) == (0.93, 88, 10, 2)
    assert support.judged == len(judged_run.claims)
    assert correctness.unscored == (judged_run.answer_judgements["error"] != "").sum() > 0


def test_a_badge_says_by_which_labels_a_judge_was_measured(judged_run, labelled):
    assert [each.badge for each in judge_trust(judged_run)] == ["not measured"] * 3 + ["measured elsewhere"]
    assert judge_trust(labelled)[0].badge.startswith("measured on 120 labels of this run: balanced accuracy 0.")


def test_a_run_without_answers_or_judging_has_no_judges(unanswered, answered_run, judged_run):
    assert [has_judges(run) for run in (unanswered, answered_run, judged_run)] == [False, False, True]
    assert judge_trust(answered_run) == ()


def test_labels_give_a_curve_measures_and_corrected_values(labelled):
    (found,) = calibrations(labelled)
    assert (found.task, found.source, found.labels) == ("support", "run", 120)
    assert found.curve["at"].is_monotonic_increasing
    assert "balanced_accuracy" in set(found.measures["measure"])
    counts = labelled_configurations(labelled, "support")
    assert {name: labels for name, (labels, _) in counts.items()} == dict.fromkeys(labelled.names, 60)
    assert sum(different for _, different in counts.values()) == 12
    means, differences = corrected_blocks(labelled)
    assert [column.title for column in means.columns if "corrected" in column.title] == [
        "corrected, these items",
        "corrected, the population",
    ]
    assert all(row.cells[1].text in labelled.names for row in differences.blocks[0].rows)


def test_without_labels_nothing_is_calibrated_or_corrected(judged_run):
    assert calibrations(judged_run) == calibration_blocks(judged_run) == corrected_blocks(judged_run) == []
    assert labelled_configurations(judged_run, "support") == {}
