import math

import pytest


@pytest.fixture
def world(make_labels, make_retrieved):
    # Ranking by best chunk: d1, d0, d3, d4 for the first query; nothing for the second.
    labels = make_labels(["text"] * 6, {"qrels": {0: 2, 3: 1, 5: 1, 1: 0, 4: -1}}, {"qrels": {2: 1}})
    return labels, make_retrieved([(d, 0, 4) for d in range(6)], [1, 0, 3, 4], [])


@pytest.mark.parametrize(
    ("metric", "value", "attainable"),
    [
        ("recall@1", 0, 1 / 3),
        ("recall@3", 2 / 3, 1),
        ("precision@3", 2 / 3, 1),
        ("precision@10", 2 / 10, 3 / 10),
        ("success@1", 0, 1),
        ("success@2", 1, 1),
        ("mrr@1", 0, 1),
        ("mrr@10", 1 / 2, 1),
        ("map@10", (1 / 2 + 2 / 3) / 3, 1),
        ("map@2", (1 / 2) / 3, 2 / 3),
        ("ndcg@3", (2 / math.log2(3) + 1 / 2) / (2 + 1 / math.log2(3) + 1 / 2), 1),
        ("recall_cap@2", 1 / 2, 1),
        ("recall_cap@10", 2 / 3, 1),
        ("judged@4", 1, 1),
        ("irrelevant@3", 0, math.nan),
        ("irrelevant@4", 1, math.nan),
    ],
)
def test_worked_by_hand(world, values, metric: str, value: float, attainable: float) -> None:
    assert values(*world, metric)[0] == pytest.approx(value, abs=1e-12)
    assert values(*world, metric, column="attainable")[0] == pytest.approx(attainable, abs=1e-12, nan_ok=True)


def test_judged_is_of_the_documents_there_are(make_labels, make_retrieved, values) -> None:
    labels = make_labels(["text"] * 4, {"qrels": {0: 1, 1: 0}})
    retrieved = make_retrieved([(d, 0, 4) for d in range(4)], [2, 1, 0])
    assert values(labels, retrieved, "judged@2") == [1 / 2]
    assert values(labels, retrieved, "judged@10") == [2 / 3]


def test_where_nothing_is_graded_below_0_a_judged_0_is_the_hard_negative(make_labels, make_retrieved, values) -> None:
    labels = make_labels(["text"] * 3, {"qrels": {0: 1, 2: 0}}, {"qrels": {1: 0}, "answerable": False}, {"qrels": {0: 1}})
    retrieved = make_retrieved([(d, 0, 4) for d in range(3)], [0, 1, 2], [1], [0])
    assert values(labels, retrieved, "irrelevant@2")[:2] == [0, 1]
    assert values(labels, retrieved, "irrelevant@3")[:2] == [1, 1]
    assert values(labels, retrieved, "irrelevant@3", column="state")[2] == "not_applicable"


def test_equal_scores_do_not_move_a_document(make_labels, make_retrieved, values) -> None:
    # trec_eval itself would rank equal scores by document id, the larger first.
    labels = make_labels(["text"] * 2, {"qrels": {0: 1}})
    retrieved = make_retrieved([(0, 0, 4), (1, 0, 4)], [0, 1], scores=[[0.5, 0.5]])
    assert values(labels, retrieved, "mrr@10") == [1]


def test_where_hard_negatives_are_graded_below_0_a_judged_0_is_none(make_labels, make_retrieved, values) -> None:
    labels = make_labels(["text"] * 3, {"qrels": {0: 1, 1: 0, 2: -1}}, {"qrels": {0: 1, 1: 0}})
    retrieved = make_retrieved([(d, 0, 4) for d in range(3)], [1, 0, 2], [1, 0])
    assert values(labels, retrieved, "irrelevant@2")[0] == 0
    assert values(labels, retrieved, "irrelevant@3")[0] == 1
    assert values(labels, retrieved, "irrelevant@3", column="state")[1] == "not_applicable"
    assert values(labels, retrieved, "judged@3") == [1, 1]
