import numpy as np
import pytest
from scipy import special, stats

from workbench.report.topics.retrieval.slices import auroc_interval, separation_of

SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.4, 0.75, 0.5, 0.3, 0.2, 0.1])
ANSWERABLE = np.array([True] * 5 + [False] * 5)


def test_the_interval_is_delongs_on_the_logit():
    found = auroc_interval(SCORES, ANSWERABLE, np.arange(10))
    # Of 25 pairs, .9 and .8 exceed all five, .7 and .6 four, .4 three.
    assert (found.value, found.n, found.clusters) == (pytest.approx(21 / 25), 10, 10)
    first, second = np.array([1, 1, 4 / 5, 4 / 5, 3 / 5]), np.array([2 / 5, 4 / 5, 1, 1, 1])
    parts = first.var(ddof=1) / 5, second.var(ddof=1) / 5
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / 4 + parts[1] ** 2 / 4)
    half = stats.t.ppf(0.975, freedom) * np.sqrt(sum(parts)) / (21 / 25 * 4 / 25)
    assert (found.low, found.high) == pytest.approx(tuple(special.expit(special.logit(21 / 25) + np.array([-half, half]))))


def test_a_kind_of_question_from_fewer_than_5_documents_has_no_bounds():
    few = auroc_interval(SCORES, ANSWERABLE, [0, 1, 2, 3, 4, 5, 6, 7, 8, 8])
    assert np.isnan([few.low, few.high]).all()


def test_one_kind_of_question_has_no_area():
    assert auroc_interval(SCORES, np.ones(10, dtype=bool), np.arange(10)) is None


def test_a_perfect_separation_and_a_single_question_have_no_bounds():
    perfect = auroc_interval(SCORES, SCORES > 0.55, np.arange(10))
    assert perfect.value == 1
    assert np.isnan([perfect.low, perfect.high]).all()
    single = auroc_interval(SCORES, np.arange(10) != 6, np.arange(10))
    assert 0 < single.value < 1
    assert np.isnan([single.low, single.high]).all()


def test_a_question_without_results_looks_unanswerable():
    found = auroc_interval(np.array([0.9, 0.5, 0.6, -np.inf]), np.array([True, True, False, False]), np.arange(4))
    assert found.value == 0.75


@pytest.mark.parametrize("true", [0.5, 0.8, 0.95])
def test_the_interval_covers_the_area_of_clustered_questions(true):
    random, shift, covered = np.random.default_rng(0), stats.norm.ppf(true) * np.sqrt(2), []
    answerable = np.arange(98) < 78
    documents = np.where(answerable, np.arange(98) // 3, 100 + np.arange(98))
    for _ in range(400):
        shared = random.normal(0, np.sqrt(0.3), 200)[documents]
        found = auroc_interval(shared + random.normal(0, np.sqrt(0.7), 98) + shift * answerable, answerable, documents)
        covered.append(found.low <= true <= found.high)
    # Three standard errors of a share of .95.
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 400)


def test_the_value_is_that_of_the_table_of_metrics(tables):
    questions = [
        {"query_id": f"q{place}", "answerable": bool(known), "cluster": place, "documents": "[]", "metadata": "{}"}
        for place, known in enumerate(ANSWERABLE)
    ]
    details = [{"configuration": "a", "query_id": f"q{place}", "top_score": score} for place, score in enumerate(SCORES)]
    row = {"configuration": "a", "metric": "answerable_auroc", "slice": "all", "n": 10}
    run = tables(questions=questions, query_details=details, metrics=[row])
    assert separation_of(run, "a") == auroc_interval(SCORES, ANSWERABLE, np.arange(10))
    # Without a row, as for hits without scores, there is no value; failed questions take no part in it.
    assert separation_of(tables(questions=questions, query_details=details, metrics=[]), "a") is None
    served = [detail | {"top_score": np.nan} if place in (0, 9) else detail for place, detail in enumerate(details)]
    run = tables(questions=questions, query_details=served, metrics=[row | {"n": 8}])
    assert separation_of(run, "a") == auroc_interval(SCORES[1:9], ANSWERABLE[1:9], np.arange(8))
