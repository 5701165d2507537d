"""A configuration cannot win by having no value for the questions on which it is worse."""

import functools

import numpy as np
import pytest

from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.verdict import Reason, Verdict, verdict, with_unscored

QUESTIONS = 80
CLUSTERS = Clusters.of(np.arange(QUESTIONS))


def judged(values: dict[str, np.ndarray], bounds: tuple[float, float] = (0.0, 1.0)) -> Verdict:
    unscored = {name: np.isnan(row) for name, row in values.items()}
    judge = functools.partial(verdict, "recall@5", clusters=CLUSTERS)
    return with_unscored(judge(values), values, unscored, CLUSTERS, judge, bounds)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def worlds(random) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of systems that are equally good, with values that vary by question."""
    return [(random.beta(4, 2, QUESTIONS), random.beta(4, 2, QUESTIONS)) for _ in range(5)]


def test_failing_where_it_is_worse_makes_no_winner(worlds):
    observed = bounded = 0
    for own, rival in worlds:
        dodging = np.where(own < rival - 0.1, np.nan, own)
        values = {"rival": rival, "dodging": dodging}
        observed += verdict("recall@5", values, np.arange(QUESTIONS)).winner == "dodging"
        found = judged(values)
        bounded += found.winner is not None
        assert set(found.best) == {"rival", "dodging"}
    assert observed >= 4
    assert bounded == 0


def test_the_reason_is_named_and_nobody_is_called_behind(random):
    rival = random.beta(4, 2, QUESTIONS)
    dodging = np.where(np.arange(QUESTIONS) < 25, np.nan, np.minimum(rival + 0.2, 1))
    found = judged({"rival": rival, "dodging": dodging})
    assert (found.winner, found.reason, found.behind) == (None, Reason.MISSING, ())
    assert found.best == ("dodging", "rival")
    assert str(found) == "no winner by recall@5: the tie set is dodging, rival"


def test_a_lead_that_no_missing_value_can_undo_is_a_win(random):
    rival = random.uniform(0.1, 0.3, QUESTIONS)
    strong = np.where(np.arange(QUESTIONS) < 3, np.nan, rival + 0.5)
    assert judged({"rival": rival, "strong": strong}).winner == "strong"
    assert judged({"rival": np.where(np.arange(QUESTIONS) < 3, np.nan, rival), "strong": rival + 0.5}).winner == "strong"


def test_a_verdict_without_unscored_questions_is_left_as_it_is(random):
    values = {"a": random.uniform(0.1, 0.3, QUESTIONS), "b": random.uniform(0.5, 0.9, QUESTIONS)}
    plain = verdict("recall@5", values, np.arange(QUESTIONS))
    assert judged(values) == plain


def test_a_metric_that_counts_faults_has_its_worst_value_at_one(random):
    low = random.uniform(0.1, 0.2, QUESTIONS)
    values = {"rival": low + random.uniform(0.3, 0.5, QUESTIONS), "dodging": np.where(np.arange(QUESTIONS) < 40, np.nan, low)}
    unscored = {name: np.isnan(row) for name, row in values.items()}
    judge = functools.partial(verdict, "irrelevant@3", clusters=CLUSTERS, higher_is_better=False)
    assert judge(values).winner == "dodging"
    assert with_unscored(judge(values), values, unscored, CLUSTERS, judge, (1.0, 0.0)).winner is None
