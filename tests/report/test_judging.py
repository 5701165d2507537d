"""Sentences about failed answers and judges."""

import json
import math
from pathlib import Path

import pytest

from workbench.measures.attribution.causes import CAUSES
from workbench.report.analysis.causes import CauseCount, FailureCauses
from workbench.report.analysis.judges import JudgeTrust
from workbench.report.topics.answers.causes import because, failure_sentence, mostly
from workbench.report.topics.answers.judges import CONTRADICTIONS_FOUND, OVERLAP_ERROR, trust_sentence
from workbench.report.topics.answers.judges import MEASURED as FIGURES

CAUSE = {cause.name: cause for cause in CAUSES}
MEASURED = Path(__file__).parents[2] / "benchmarks" / "results" / "judging.json"


def failures(counts, given=120, missing=0, configuration="none"):
    found = tuple(CauseCount(cause, counts[cause.name]) for cause in CAUSES if cause.name in counts)
    return FailureCauses(configuration, "retrieved", given, missing, found)


def trust(**changes):
    usual = {"task": "support", "judge": "chat: m", "role": "judge", "reason": "", "auroc": 0.9, "always_yes": 0.5, "repeatability": 1.0}
    usual |= {"passed": 90, "failed": 10, "untested": 0, "badge": "not measured", "judged": 40, "unscored": 0}
    return JudgeTrust(**usual | changes)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({"rank": 9, "refusal": 4}, "most often (9) because evidence is missing: the evidence ranks too low"),
        ({"rank": 4, "refusal": 4}, "as often as any other cause (4) because evidence is missing: the evidence ranks too low"),
        ({"refusal": 4}, "each time because the answer is a refusal"),
        ({"unrefused": 1}, "because it should have been refused"),
        ({"unsure": 3, "refusal": 1}, "most often (3) for no reason that shows"),
    ],
)
def test_the_most_frequent_cause_is_named_with_its_number(counts, said):
    assert mostly(failures(counts)) == said


def test_without_failures_or_answers_no_cause_is_named(judged_run):
    assert failure_sentence(judged_run, failures({})) == "No answer of none from what it retrieves is known to fail, of 120 answers."
    nothing = failure_sentence(judged_run, failures({}, given=0, missing=1))
    assert nothing == "none has no answer from what it retrieves, so no failure is counted. 1 answer is missing and not counted."


def test_a_single_answer_is_the_only_one(judged_run):
    said = failure_sentence(judged_run, failures({"refusal": 1}, given=1))
    assert said == "The only answer of none from what it retrieves fails (100.0 %), because the answer is a refusal."


def test_every_cause_completes_the_sentence():
    assert because(CAUSE["budget"]) == "because evidence is missing: the token budget cuts it off"
    assert all(because(cause).startswith(("because ", "for ")) and not because(cause).endswith(".") for cause in CAUSES)


def test_a_judge_has_its_test_its_badge_and_what_it_left_unscored():
    assert trust_sentence(trust()) == "chat: m judges the support of claims: AUROC 0.90 on known answers, not measured by labels."
    said = trust_sentence(trust(badge="measured on 60 labels of this run: balanced accuracy 0.80 [0.70, 0.88]", unscored=1))
    assert said.endswith(
        "measured on 60 labels of this run: balanced accuracy 0.80 [0.70, 0.88]. 1 of 40 items has no judgement (2.5 %) and no score."
    )
    untested = trust(task="rubric", auroc=math.nan, passed=0, failed=0)
    assert trust_sentence(untested) == "chat: m judges answers by a rubric: not tested on known answers, not measured by labels."


@pytest.mark.parametrize("task", ["answer_relevance", "correctness", "rubric"])
def test_a_judge_that_was_measured_is_not_called_untested(task):
    for badge in (
        "measured elsewhere",
        "measured elsewhere, on 80 labels: balanced accuracy 0.71 [0.60, 0.80]",
        "measured on 60 labels of this run: x",
    ):
        said = trust_sentence(trust(task=task, auroc=math.nan, passed=0, failed=0, badge=badge))
        assert said.endswith(f": {badge}.")
        assert "not tested" not in said


def test_a_score_has_its_reason_unless_it_only_says_that_it_is_a_score():
    plain = trust(judge="overlap", role="score", reason="`overlap` is a score, not a judge", badge="measured elsewhere")
    assert (
        trust_sentence(plain)
        == "overlap is a score for the support of claims, not a judge: AUROC 0.90 on known answers, measured elsewhere."
    )
    weak = trust(role="score", reason="AUROC 0.52 is below 0.65", auroc=0.52)
    assert (
        trust_sentence(weak)
        == "chat: m is a score for the support of claims, not a judge (AUROC 0.52 is below 0.65): not measured by labels."
    )


def test_the_figures_that_reports_state_are_those_of_the_benchmark():
    rows = {(row["task"], row["set"], row["judge"]): row for row in json.loads(MEASURED.read_text("utf-8"))["rows"]}
    for task, sets in FIGURES.items():
        for name, stated in sets.items():
            overlap, words = rows[task, name, "overlap"], rows[task, name, "word overlap"]
            assert [f"{value:.2f}" for value in stated[:4]] == [f"{value:.2f}" for value in (*overlap["auroc"], words["auroc"][0])], name
            assert stated.items == overlap["items"]
    assert round(rows["support", "handbook", "overlap"]["found_contradictions"][0], 2) == CONTRADICTIONS_FOUND


def test_failures_that_rest_on_overlap_say_how_it_was_measured(scored_run):
    said = failure_sentence(scored_run, failures({"unused": 2}, given=10))
    assert "2 of 10 answers" in said
    assert "an AUROC of 0.57 [0.42, 0.72] on answers of large models" in said
    assert "AUROC" not in failure_sentence(scored_run, failures({"refusal": 1, "unrefused": 1}, given=10))


def test_the_error_of_overlap_is_the_measured_one():
    rows = {
        row["set"]: row for row in json.loads(MEASURED.read_text("utf-8"))["rows"] if row["judge"] == "overlap" and row["task"] == "support"
    }
    known = {name: f"{rows[name]['auroc'][0]:.2f}" for name in ("handbook", "WiCE", "MTRAG", "minimal edits")}
    assert f"{known['handbook']} on claims about the handbook, {known['WiCE']} on WiCE and {known['MTRAG']} on MTRAG" in OVERLAP_ERROR
    assert f"of {known['minimal edits']} on claims that differ" in OVERLAP_ERROR
    assert f"finds {rows['handbook']['found_contradictions'][0]:.0%}".replace("%", " %") in OVERLAP_ERROR
