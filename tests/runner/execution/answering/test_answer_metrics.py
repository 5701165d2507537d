"""The rows of answer metrics in the tables of a run."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from workbench.report.results.run_tables import RunTables
from workbench.report.topics.answers.costs import repeats_of

from .conftest import RECORDED, Recorded

pytestmark = pytest.mark.slow

METRIC = "labelled_correctness"


@pytest.fixture(scope="module")
def confident_run(tmp_path_factory: pytest.TempPathFactory, recorded: Recorded) -> RunTables:
    """Answers of which the confident ones are right, some refused and one missing."""

    def rows() -> Iterator[dict[str, Any]]:
        for place, query_id in enumerate(recorded.query_ids[1:]):
            correct, refused = place % 2 == 0, place % 4 == 3
            confidence = {"confidence": 0.9 if correct else 0.2}
            for condition in ("gold", "retrieved"):
                yield {"query_id": query_id, "condition": condition, "answer": "x", "correct": correct, "refused": refused, **confidence}

    return recorded.run(tmp_path_factory.mktemp("confident"), rows, conditions=["gold", "retrieved"], repeats=2)


def test_the_mean_of_a_condition_is_that_of_its_questions_over_repeats_and_perturbations(handbook_run: RunTables) -> None:
    means, queries = handbook_run.metrics, handbook_run.queries
    for condition, metric in (("gold", METRIC), ("injection", "token_f1"), ("counterfactual", METRIC)):
        rows = queries[(queries["metric"] == metric) & (queries["condition"] == condition) & (queries["state"] == "scored")]
        (row,) = means[(means["slice"] == "all") & (means["metric"] == metric) & (means["condition"] == condition)].to_dict("records")
        by_question = rows.groupby("query_id")["value"].mean()
        assert row["value"] == pytest.approx(by_question.mean())
        assert row["n"] == len(by_question)
        assert row["low"] <= row["value"] <= row["high"]


def test_a_metric_that_never_applies_in_a_condition_has_no_row(handbook_run: RunTables) -> None:
    rows = handbook_run.metrics.groupby("metric")["condition"].unique()
    assert set(rows["refusal_rate"]) == {"missing_gold"}
    assert set(rows["recall@5"]) == {"retrieved"}


def test_conditions_that_do_not_apply_to_a_question_say_why(handbook_run: RunTables) -> None:
    queries = handbook_run.queries
    rows = queries[(queries["condition"] == "counterfactual") & (queries["state"] == "not_applicable") & (queries["metric"] == "token_f1")]
    assert len(rows)
    assert rows["reason"].str.contains("rule can change").all()


def test_what_recorded_answers_made_of_a_planted_text_is_their_label(handbook_run: RunTables) -> None:
    behaviour = {}
    for line in RECORDED.read_text("utf-8").splitlines():
        row = json.loads(line)
        behaviour[row["query_id"], row["condition"]] = row["behaviour"]
    queries, outcomes = handbook_run.queries, dict(zip(handbook_run.answers["query_id"], handbook_run.answers["outcome"], strict=True))
    assert set(outcomes.values()) <= {"complied", "resisted"}
    for condition, metric, wrong in (
        ("injection", "injection_resistance", "complied"),
        ("counterfactual", "counterfactual_robustness", "adopted"),
    ):
        rows = queries[(queries["metric"] == metric) & (queries["state"] == "scored")]
        assert len(rows) > len(handbook_run.questions)
        for query_id, value in zip(rows["query_id"], rows["value"], strict=True):
            assert value == (behaviour[query_id, condition] != wrong)


def test_slices_are_crossed_for_metrics_of_rankings_and_of_answers(handbook_run: RunTables) -> None:
    means = handbook_run.metrics
    for metric in ("recall@5", "token_f1"):
        rows = means[(means["metric"] == metric) & (means["condition"] == "retrieved")].set_index("slice")["n"]
        crossed = rows[rows.index.str.contains("&domain=")]
        assert crossed.index.str.startswith("type=").all()
        assert crossed.sum() == rows["all"]


def test_a_missing_answer_is_unscored_and_counted(recorded: Recorded, confident_run: RunTables) -> None:
    queries, means = confident_run.queries, confident_run.metrics
    rows = queries[(queries["query_id"] == recorded.query_ids[0]) & (queries["metric"] == "token_f1")]
    assert rows["state"].tolist() == ["unscored"] * 4
    assert rows["reason"].tolist() == ["no recorded answer"] * 4
    (row,) = means[(means["slice"] == "all") & (means["metric"] == "token_f1") & (means["condition"] == "gold")].to_dict("records")
    assert (row["unscored"], row["n"]) == (1, len(recorded.query_ids) - 1)


def test_equal_repeats_have_no_variance_between_them(handbook_run: RunTables, confident_run: RunTables) -> None:
    found = repeats_of(confident_run, confident_run.names[0], METRIC)
    assert found is not None
    assert (found.between_repeats, found.changed, found.n) == (0, 0, 44)
    assert found.between_questions == pytest.approx(np.var([1, 0] * 22, ddof=1))
    assert repeats_of(handbook_run, handbook_run.names[0], METRIC) is None
