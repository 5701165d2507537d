import pytest

TEXT = "0123456789" * 4


@pytest.fixture
def labels(make_labels):
    # Evidence: [10, 20) of the first document. The second query has none, so its relevant document counts.
    return make_labels([TEXT, TEXT], {"needs": [[(0, 10, 20)]], "qrels": {0: 1}}, {"qrels": {1: 1}})


@pytest.mark.parametrize(
    ("chunk", "relevant"),
    [
        ((0, 0, 15), 1),  # half of the evidence
        ((0, 0, 14), 0),  # 4 of 10
        ((0, 18, 22), 1),  # half of a short chunk
        ((0, 19, 23), 0),
        ((0, 0, 40), 1),  # all of it
        ((0, 20, 30), 0),  # next to it
        ((1, 10, 20), 0),  # the same place elsewhere
    ],
)
def test_a_chunk_is_relevant_from_half_of_the_shorter(labels, make_retrieved, values, chunk, relevant: int) -> None:
    assert values(labels, make_retrieved([chunk], [0], []), "chunk_precision@1")[0] == relevant


def test_it_divides_by_k_and_says_what_is_attainable(labels, make_retrieved, values) -> None:
    retrieved = make_retrieved([(0, 0, 15), (0, 15, 30), (0, 30, 40), (1, 0, 20), (1, 20, 40)], [2, 0], [3, 0, 4])
    assert values(labels, retrieved, "chunk_precision@5") == [1 / 5, 2 / 5]
    assert values(labels, retrieved, "chunk_precision@5", column="attainable") == [2 / 5, 2 / 5]
    assert values(labels, retrieved, "chunk_precision@1", column="attainable") == [1, 1]


def test_parents_are_judged_and_counted_once(labels, make_retrieved, values) -> None:
    children = [(0, 0, 5, 0, 20), (0, 5, 9, 0, 20), (0, 30, 40, 20, 40)]
    assert values(labels, make_retrieved(children, [0, 1, 2], []), "chunk_precision@2")[0] == 1 / 2


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
    assert values(*world, f"hit_precision@{k}", column="attainable") == [1, 1]


def test_k_counts_parents_once(make_labels, make_retrieved, values) -> None:
    labels = make_labels(["some text here"] * 2, {"qrels": {1: 1}})
    children = [(0, 0, 4, 0, 9), (0, 5, 9, 0, 9), (1, 0, 4, 0, 9)]
    assert values(labels, make_retrieved(children, [0, 1, 2]), "hit_recall@2") == [1]
