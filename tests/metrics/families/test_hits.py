import pytest


@pytest.fixture
def world(make_labels, make_retrieved):
    # Documents of the chunks by rank: 0, 0, 1, 2, 3; documents 0 and 3 of the relevant 0, 3, 4 are found.
    labels = make_labels(["some text"] * 5, {"qrels": {0: 1, 3: 1, 4: 1}}, {"qrels": {0: 1}})
    chunks = [(0, 0, 4), (0, 5, 9), (1, 0, 4), (2, 0, 4), (3, 0, 4)]
    return labels, make_retrieved(chunks, [0, 1, 2, 3, 4], [])


@pytest.mark.parametrize(
    ("k", "recall", "precision", "attainable"),
    [(1, 1 / 3, 1, 1 / 3), (2, 1 / 3, 1, 2 / 3), (3, 1 / 3, 1 / 2, 1), (5, 2 / 3, 2 / 4, 1), (100, 2 / 3, 2 / 4, 1)],
)
def test_chunks_are_mapped_to_documents_and_deduplicated(world, values, k: int, recall: float, precision: float, attainable: float) -> None:
    assert values(*world, f"hit_recall@{k}") == pytest.approx([recall, 0])
    assert values(*world, f"hit_precision@{k}") == pytest.approx([precision, 0])
    assert values(*world, f"hit_recall@{k}", column="attainable")[0] == pytest.approx(attainable)


def test_k_counts_parents_once(make_labels, make_retrieved, values) -> None:
    labels = make_labels(["some text here"] * 2, {"qrels": {1: 1}})
    children = [(0, 0, 4, 0, 9), (0, 5, 9, 0, 9), (1, 0, 4, 0, 9)]
    assert values(labels, make_retrieved(children, [0, 1, 2]), "hit_recall@2") == [1]
