import numpy as np
import pandas as pd
import pytest
from scipy import stats

from workbench.report.trends import run_differences

FIRST = np.random.default_rng(0).random(40)
LAST = FIRST + np.random.default_rng(1).normal(0.05, 0.1, 40)


def scored(values, clusters=None) -> pd.DataFrame:
    ids = [f"q{number}" for number in range(len(values))]
    return pd.DataFrame(
        {"query_id": ids, "cluster": range(len(values)) if clusters is None else clusters, "documents": "[]", "value": values}
    )


def runs(*rows: tuple[int, str | None, str]) -> pd.DataFrame:
    """Runs with the number of their result, the name of their scores and what changed."""
    made = pd.DataFrame(rows, columns=["result", "scores", "changed"])
    return made.assign(run=[f"r{place}" for place in range(len(rows))])


SCORES = {"a": scored(FIRST), "b": scored(LAST)}


def test_a_run_is_compared_with_the_different_run_before_it():
    (found,) = run_differences(runs((0, "a", ""), (0, "a", ""), (1, "b", "chunking"), (1, "b", "")), SCORES)
    test = stats.ttest_rel(LAST, FIRST)
    assert (found.run, found.refusal) == ("r2", "")
    assert found.difference.value == pytest.approx((LAST - FIRST).mean())
    assert (found.difference.low, found.difference.high) == pytest.approx(tuple(test.confidence_interval()))
    assert found.p == pytest.approx(test.pvalue)
    assert (found.difference.n, found.difference.clusters) == (40, 40)


def test_questions_about_one_document_are_one_observation():
    clusters = np.repeat(np.arange(10), 4)
    scores = {name: rows.assign(cluster=clusters) for name, rows in SCORES.items()}
    (found,) = run_differences(runs((0, "a", ""), (1, "b", "chunking")), scores)
    means = (LAST - FIRST).reshape(10, 4).mean(axis=1)
    assert found.difference.clusters == 10
    assert found.p == pytest.approx(stats.ttest_1samp(means, 0).pvalue)


def test_equal_scores_are_no_difference():
    (found,) = run_differences(runs((0, "a", ""), (1, "a", "retrieval")), SCORES)
    assert (found.difference.value, found.difference.bounds(), found.p) == (0, "[no interval]", 1)


def test_questions_without_a_score_on_either_side_are_left_out():
    scores = SCORES | {"b": scored(np.where(np.arange(40) < 5, np.nan, LAST))}
    (found,) = run_differences(runs((0, "a", ""), (1, "b", "chunking")), scores)
    assert found.difference.n == 35
    assert found.p == pytest.approx(stats.ttest_rel(LAST[5:], FIRST[5:]).pvalue)


@pytest.mark.parametrize(
    ("rows", "scores", "refusal"),
    [
        ([(0, "a", ""), (1, "b", "questions, labels")], SCORES, "other questions"),
        ([(0, "a", ""), (1, "b", "labels")], SCORES | {"b": scored(LAST).assign(query_id="x")}, "other question ids"),
        ([(0, None, ""), (1, "b", "chunking")], SCORES, "no scores by question"),
        ([(0, "a", ""), (1, "b", "chunking")], {"b": SCORES["b"]}, "scores by question no longer kept"),
        ([(0, "a", ""), (1, "b", "chunking")], SCORES | {"b": scored(np.full(40, np.nan))}, "no question scored in both"),
    ],
)
def test_what_cannot_be_paired_is_refused_in_words(rows, scores, refusal):
    (found,) = run_differences(runs(*rows), scores)
    assert (found.difference, found.refusal) == (None, refusal)
    assert np.isnan(found.p)
