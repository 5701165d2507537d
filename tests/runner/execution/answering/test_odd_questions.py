"""Sweeps with answers on datasets that lack something."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.asked_sweeps import AskedSweep, write_questions
from workbench.components.context.conditions import CONDITIONS
from workbench.core.errors import InputError
from workbench.report.analysis.standings import standings
from workbench.report.render.html import document_of, rendered
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.outputs import write_outputs

DEFAULT = ["recall@3", "answer_recall", "token_f1", "exact_match", "citation_precision", "citation_recall", "packing_recall"]
DEFAULT += ["refusal_rate", "over_refusal_rate", "injection_resistance", "counterfactual_robustness"]


def ran(sweep: AskedSweep, data: Path, conditions: Sequence[str] = CONDITIONS) -> RunTables:
    outcome = sweep.run(data=data, conditions=list(reversed(conditions)), metrics=DEFAULT)
    assert not outcome.failures, outcome.failures
    return write_outputs(outcome)


def states(run: RunTables, metric: str, condition: str) -> dict[str, int]:
    rows = run.queries[(run.queries["metric"] == metric) & (run.queries["condition"] == condition)]
    return rows["state"].value_counts().to_dict()


def reasons(run: RunTables, condition: str) -> set[str]:
    rows = run.answers[run.answers["condition"] == condition]
    return set(rows["reason"])


def test_a_primary_metric_that_needs_expected_answers_is_refused_without_them(asked_sweep: AskedSweep) -> None:
    data = write_questions(asked_sweep.folder / "x", 3, answers=False)
    with pytest.raises(InputError, match=r"the primary metric token_f1 needs expected answers, and the dataset .* has none; add the field"):
        asked_sweep.run(data=data, metrics=["token_f1"])


def test_a_metric_that_applies_to_no_question_can_be_the_primary_one(asked_sweep: AskedSweep) -> None:
    outcome = asked_sweep.run(data=write_questions(asked_sweep.folder / "x", 3), metrics=["labelled_correctness", "recall@3"])
    run = write_outputs(outcome)
    (standing,) = standings(run).ranked
    assert np.isnan(standing.means["labelled_correctness"].value)
    assert standing.means["labelled_correctness"].unscored == 3
    assert "labelled_correctness" in rendered(document_of(run))


def test_without_expected_answers_what_compares_with_them_does_not_apply(asked_sweep: AskedSweep) -> None:
    run = ran(asked_sweep, write_questions(asked_sweep.folder / "x", 3, answers=False))
    for metric in ("answer_recall", "token_f1", "exact_match"):
        assert states(run, metric, "retrieved") == {"not_applicable": 3}
        assert run.metrics[run.metrics["metric"] == metric].empty
    assert states(run, "over_refusal_rate", "gold") == {"scored": 3}
    assert states(run, "injection_resistance", "injection") == {"scored": 18}
    assert len(reasons(run, "counterfactual")) == 1
    assert "" not in reasons(run, "counterfactual")


def test_a_single_question_without_evidence_is_answered_in_every_condition(asked_sweep: AskedSweep) -> None:
    run = ran(asked_sweep, write_questions(asked_sweep.folder / "x", 1, evidence=False))
    assert list(dict.fromkeys(run.answers["condition"])) == list(CONDITIONS)
    assert len(run.answers) == 14
    assert states(run, "answer_recall", "retrieved") == {"scored": 1}
    assert reasons(run, "irrelevant_only") != {""}


def test_without_evidence_the_best_chunks_of_relevant_documents_are_the_gold_context(asked_sweep: AskedSweep) -> None:
    run = ran(asked_sweep, write_questions(asked_sweep.folder / "x", 5, evidence=False), ["gold", "retrieved"])
    assert reasons(run, "gold") == {""}
    gold = run.answers[run.answers["condition"] == "gold"]
    assert all(
        json.loads(passages)[0]["doc_id"] == f"d{query_id[1:]}"
        for query_id, passages in zip(gold["query_id"], gold["passages"], strict=True)
    )
    assert states(run, "answer_recall", "gold") == {"scored": 5}


def test_unanswerable_questions_have_no_gold_and_must_be_refused(asked_sweep: AskedSweep) -> None:
    run = ran(asked_sweep, write_questions(asked_sweep.folder / "x", 3, unanswerable=2), ["gold", "retrieved"])
    assert states(run, "refusal_rate", "retrieved") == {"scored": 2, "not_applicable": 3}
    gold = run.answers[(run.answers["condition"] == "gold") & run.answers["query_id"].str.startswith("u")]
    assert gold["reason"].ne("").all()
    assert states(run, "answer_recall", "retrieved") == {"scored": 3, "not_applicable": 2}


def test_questions_that_are_all_unanswerable_have_answers_to_refuse(asked_sweep: AskedSweep) -> None:
    data = write_questions(asked_sweep.folder / "x", 1, unanswerable=3)
    rows = (data / "questions.jsonl").read_text("utf-8").splitlines()[1:]
    (data / "questions.jsonl").write_text("\n".join(rows), "utf-8")
    run = ran(asked_sweep, data)
    assert states(run, "refusal_rate", "retrieved") == {"scored": 3}


def test_the_order_of_conditions_changes_nothing(asked_sweep: AskedSweep) -> None:
    first = asked_sweep.tables(conditions=["retrieved", "gold", "none"])
    asked = len(asked_sweep.provider.asked)
    second = asked_sweep.run(conditions=["none", "retrieved", "gold"])
    assert second.results[0].computed_stages == "all from the store"
    assert len(asked_sweep.provider.asked) == asked == 36
    assert list(dict.fromkeys(first.answers["condition"])) == ["none", "gold", "retrieved"]
