import numpy as np
import pytest

from workbench.api.widgets.explorer.model import ExplorerModel, QuestionFilter, causes_between

FIRST = [1.0, 0.5, 0.0, np.nan] + [0.25] * 16
SECOND = [0.5, 0.5, 0.5, 0.5] + [0.25] * 16


@pytest.fixture(scope="module")
def valued(made):
    """Two configurations whose first four questions are won, equal, lost and unscored."""
    return made.valued([FIRST, SECOND], documents=2)


def chosen(run, **changes):
    return ExplorerModel(run).selection(*run.names, QuestionFilter(**changes))


def test_every_question_has_both_values_and_their_difference(valued):
    table = chosen(valued)
    assert table["query_id"].tolist() == valued.questions["query_id"].tolist()
    np.testing.assert_array_equal(table["first"], FIRST)
    np.testing.assert_array_equal(table["difference"], np.array(FIRST) - SECOND)
    assert table.attrs == {"metric": "span_recall@60t", "first": valued.names[0], "second": valued.names[1]}


def test_won_and_lost_are_those_in_which_the_first_is_better_and_worse(valued):
    ids = valued.questions["query_id"].tolist()
    assert chosen(valued, outcome="won")["query_id"].tolist() == [ids[0]]
    assert chosen(valued, outcome="lost")["query_id"].tolist() == [ids[2]]
    assert chosen(valued, outcome="different")["query_id"].tolist() == [ids[0], ids[2]]


def test_a_metric_of_faults_is_won_by_the_smaller_value(made):
    run = made.valued([[0.0] * 20, [1.0] * 20], documents=2, metrics=["irrelevant@3", "recall@3"])
    assert len(chosen(run, outcome="won")) == 20
    assert chosen(run, outcome="lost").empty


def test_words_are_found_in_any_order_and_case_and_in_the_id(valued):
    assert chosen(valued, words="ROOM 1-3")["query_id"].tolist() == ["q1-3"]
    assert chosen(valued, words="switched lamp 0-2")["query_id"].tolist() == ["q0-2"]
    assert chosen(valued, words="q1-7")["query_id"].tolist() == ["q1-7"]
    assert chosen(valued, words="ferry").empty


def test_a_slice_keeps_its_questions(valued):
    assert set(chosen(valued, slice="kind=even")["query_id"]) == {f"q{doc}-{fact}" for doc in (0, 1) for fact in range(0, 10, 2)}


def test_a_cause_keeps_the_questions_in_which_it_occurs_in_either(judged_run):
    first, second = judged_run.names
    causes = causes_between(judged_run, first, second)
    assert {"refusal", "unused"} <= set(causes)
    for cause in causes:
        rows = judged_run.causes[judged_run.causes["cause"] == cause]
        kept = ExplorerModel(judged_run).selection(first, second, QuestionFilter(cause=cause))
        assert set(kept["query_id"]) == set(rows["query_id"])
        assert all(cause in one or cause in other for one, other in zip(kept["first_causes"], kept["second_causes"], strict=True))


def test_another_metric_decides_what_is_won(valued):
    rows = valued.queries
    rows = rows[rows["metric"] == "recall@3"].pivot(index="query_id", columns="configuration", values="value")
    better = rows.index[rows[valued.names[0]] > rows[valued.names[1]]]
    assert set(chosen(valued, outcome="won", metric="recall@3")["query_id"]) == set(better)
