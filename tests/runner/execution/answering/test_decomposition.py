"""The decomposition of answers whose faults are planted: each loss equals the planted one."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from workbench.components.context.conditions import PERTURBATIONS
from workbench.core.errors import InputError
from workbench.report.analysis.decomposition import decompose
from workbench.report.results.run_tables import RunTables

from .conftest import RECORDED, Recorded

pytestmark = pytest.mark.slow

METRIC = "labelled_correctness"
# How many of 10 questions in turn have a wrong answer under a condition and its perturbation.
PLANTED = {
    ("gold", ""): 1,
    ("retrieved", ""): 4,
    ("gold_distractors", ""): 2,
    ("none", ""): 9,
    **{("injection", family): wrong for family, wrong in zip(PERTURBATIONS["injection"], (1, 2, 3, 6, 8, 10), strict=True)},
}


@pytest.fixture(scope="module")
def planted_run(tmp_path_factory: pytest.TempPathFactory, recorded: Recorded) -> RunTables:
    def rows() -> Iterator[dict[str, Any]]:
        for place, query_id in enumerate(recorded.query_ids):
            for (condition, variant), wrong in PLANTED.items():
                correct = place % 10 >= wrong
                yield {"query_id": query_id, "condition": condition, "variant": variant, "answer": "x", "correct": correct}

    conditions = ["none", "gold", "gold_distractors", "retrieved", "injection"]
    return recorded.run(tmp_path_factory.mktemp("planted"), rows, conditions=conditions, metrics=["recall@5", METRIC])


def scored_ids(run: RunTables, condition: str, perturbation: str) -> set[str]:
    rows = run.queries[(run.queries["metric"] == METRIC) & (run.queries["state"] == "scored")]
    return set(rows.loc[(rows["condition"] == condition) & (rows["variant"] == perturbation), "query_id"])


def test_each_planted_loss_is_found_and_no_other(recorded: Recorded, planted_run: RunTables) -> None:
    right = {key: np.mean([place % 10 >= wrong for place in range(len(recorded.query_ids))]) for key, wrong in PLANTED.items()}
    found = decompose(planted_run, planted_run.names[0], METRIC)
    assert found.gold.value == pytest.approx(right["gold", ""])
    assert found.closed_book is not None
    assert found.closed_book.value == pytest.approx(right["none", ""])
    assert found.remaining is not None
    assert found.remaining.value == pytest.approx(1 - right["gold", ""])
    losses = {(loss.condition, loss.perturbation): loss for loss in found.losses}
    assert losses.keys() == PLANTED.keys() - {("gold", ""), ("none", "")}
    for key, loss in losses.items():
        # Distractors up to the tokens of the retrieved context exist for almost all questions.
        applicable = [place for place, query_id in enumerate(recorded.query_ids) if query_id in scored_ids(planted_run, *key)]
        planted = np.mean([(place % 10 >= PLANTED["gold", ""]) - (place % 10 >= PLANTED[key]) for place in applicable])
        assert loss.difference.value == pytest.approx(planted)
        assert loss.difference.n == len(applicable) >= 40
        assert loss.comparison.identical or loss.simultaneous.low <= loss.difference.low
        assert loss.significant == (planted >= 0.2)
    assert losses["injection", "override"].comparison.identical


def test_each_loss_of_the_handbooks_recorded_answers_is_the_planted_one(handbook_run: RunTables) -> None:
    correct = {}
    for line in RECORDED.read_text("utf-8").splitlines():
        row = json.loads(line)
        correct[row["query_id"], row["condition"]] = row["correct"]
    found = decompose(handbook_run, handbook_run.names[0], METRIC)
    assert {loss.condition for loss in found.losses} == {"retrieved", "counterfactual", "injection"}
    for loss in found.losses:
        scored = scored_ids(handbook_run, loss.condition, loss.perturbation)
        # Labels are missing only where a conflict was reported, and questions only where nothing can be altered.
        assert len(scored) == len(handbook_run.questions) or loss.condition == "counterfactual"
        planted = np.mean([correct[query, "gold"] - correct[query, loss.condition] for query in scored])
        assert loss.difference.value == pytest.approx(planted)
        assert loss.difference.n == len(scored)
    assert found.remaining is not None
    assert found.remaining.value == pytest.approx(1 - np.mean([correct[query, "gold"] for query in handbook_run.questions["query_id"]]))


@pytest.mark.parametrize(
    ("metric", "says"),
    [
        ("over_refusal_rate", "counts faults"),
        ("token_f", "did you mean .token_f1"),
        ("refusal_rate", "no refusal_rate with the evidence alone; add gold"),
        ("recall@5", "no answer metric"),
    ],
)
def test_a_metric_that_has_no_losses_says_why(handbook_run: RunTables, metric: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        decompose(handbook_run, handbook_run.names[0], metric)
