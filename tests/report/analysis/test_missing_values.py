"""Every metric of a run that has no value says why, wherever metrics are listed."""

import pytest

from tests.answered_runs import Planted, answered, without_expected
from workbench.report.analysis.answer_values import reasons_without
from workbench.report.analysis.findings import findings
from workbench.report.model import Table, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.answers.conditions import metrics_table
from workbench.report.topics.run.appendix import all_metrics, method
from workbench.report.topics.run.configurations import metrics_table as means_table


def defined(run: RunTables) -> dict[str, str]:
    (terms,) = [block for block in method(findings(run)).blocks[-2].blocks if isinstance(block, Terms)]
    return {term.name: term.text for term in terms.items}


@pytest.mark.parametrize("metric", ["injection_resistance", "counterfactual_robustness"])
def test_a_metric_that_copied_answers_cannot_have_is_named_with_the_reason_and_has_no_row(copied_run: RunTables, metric: str) -> None:
    conclusions = findings(copied_run)
    standing = conclusions.standings.ranked[0]
    assert reasons_without(copied_run, metric) == reasons_without(copied_run, metric, standing.name) == "verbatim by construction"
    assert "Not scored here: " in defined(copied_run)[metric]
    for table in (means_table(copied_run, standing), metrics_table(copied_run, standing.name)):
        assert isinstance(table, Table)
        assert metric not in [row.cells[0].text for row in table.rows]
        assert "injection_resistance and counterfactual_robustness (verbatim by construction)" in table.note
    (every,) = all_metrics(conclusions).blocks
    assert metric not in [column.title for column in every.columns]
    assert "injection_resistance and counterfactual_robustness (verbatim by construction)" in every.note


def test_a_metric_that_is_scored_under_another_condition_is_scored_in_the_run(answered_run: RunTables) -> None:
    name = findings(answered_run).standings.ranked[0].name
    assert reasons_without(answered_run, "injection_resistance") == ""
    assert reasons_without(answered_run, "injection_resistance", name) == "only under injection"
    assert "Not scored" not in defined(answered_run)["injection_resistance"]
    (every,) = all_metrics(findings(answered_run)).blocks
    assert "injection_resistance" not in [column.title for column in every.columns]


def test_the_most_frequent_reasons_are_given(unanswered: RunTables) -> None:
    run = without_expected(answered(unanswered, Planted(conditions=["retrieved"])))
    assert reasons_without(run, "answer_recall") == "no expected answer; unanswerable"


def test_a_metric_with_values_has_no_reason(answered_run: RunTables) -> None:
    name = findings(answered_run).standings.ranked[0].name
    assert reasons_without(answered_run, "answer_recall", name) == ""
    assert not [text for title, text in defined(answered_run).items() if title == "answer_recall" and "Not scored" in text]
