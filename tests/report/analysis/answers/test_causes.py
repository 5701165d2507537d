import pandas as pd
import pytest

from tests.answered_runs import with_causes
from workbench.measures.attribution.causes import CAUSE_NAMES
from workbench.report.analysis.answer_values import answering
from workbench.report.analysis.causes import (
    answer_cause_meanings,
    attributed_conditions,
    causes_by_query,
    failed_answers,
    failed_share,
    failures_of,
    missed_evidence,
)
from workbench.report.results.run_tables import RunTables

CONDITIONS = ["gold", "gold_distractors", "retrieved", "missing_gold", "irrelevant_only"]


def given(run: RunTables, condition: str) -> pd.DataFrame:
    rows = run.of("answers", answering(run)[0])
    return rows[(rows["condition"] == condition) & (rows["reason"] == "") & (rows["error"] == "")]


def test_conditions_without_an_attack_and_with_a_context_have_causes(caused_run: RunTables, answered_run: RunTables) -> None:
    assert list(attributed_conditions(caused_run)) == CONDITIONS
    assert attributed_conditions(answered_run) == ()


@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_failed_answer_is_counted_once_by_its_cause(caused_run: RunTables, condition: str) -> None:
    name = answering(caused_run)[0]
    found, rows = failures_of(caused_run, name, condition), failed_answers(caused_run, name)
    counts = rows.loc[rows["condition"] == condition, "cause"].value_counts().to_dict()
    assert {each.cause.name: each.answers for each in found.causes} == {cause: found.of(cause) for cause in counts} == counts
    assert found.failed == sum(counts.values())
    assert found.given == len(given(caused_run, condition)) >= found.failed
    assert [each.cause.name for each in found.causes] == sorted(counts, key=CAUSE_NAMES.index)


def test_a_share_is_the_mean_over_questions_of_all_given_answers(caused_run: RunTables) -> None:
    name, answers = answering(caused_run)[0], given(caused_run, "retrieved")
    rows = failed_answers(caused_run, name)
    rows = rows[rows["condition"] == "retrieved"]
    keys = set(zip(rows["query_id"], rows["repeat"], strict=True))
    failed = [pair in keys for pair in zip(answers["query_id"], answers["repeat"], strict=True)]
    share = failed_share(caused_run, failures_of(caused_run, name))
    assert share.value == pytest.approx(answers.assign(failed=failed).groupby("query_id")["failed"].mean().mean())
    assert share.low < share.value < share.high


def test_without_judges_no_answer_has_a_cause(answered_run: RunTables) -> None:
    name = answering(answered_run)[0]
    assert failed_answers(answered_run, name).empty
    assert failures_of(answered_run, name, "gold") is None


def test_causes_of_answers_are_no_missed_evidence(caused_run: RunTables, answered_run: RunTables) -> None:
    for name in caused_run.names:
        pd.testing.assert_frame_equal(missed_evidence(caused_run, name), missed_evidence(answered_run, name))
        assert causes_by_query(caused_run, name).tolist() == causes_by_query(answered_run, name).tolist()
    assert with_causes(answered_run).causes["subject"].nunique() == 2


def test_every_cause_has_a_meaning(caused_run: RunTables) -> None:
    assert list(answer_cause_meanings(caused_run)) == list(CAUSE_NAMES)
