import pytest

TEXT = "x" * 100


@pytest.mark.parametrize(
    ("chunks", "recall", "precision", "iou"),
    [
        # Evidence [10, 30) and [50, 60): 30 characters.
        ([(0, 0, 20)], 10 / 30, 10 / 20, 10 / (20 + 20)),
        ([(0, 0, 20), (0, 15, 35)], 20 / 30, 20 / 40, 20 / (40 + 10)),  # 5 characters are retrieved twice
        ([(0, 0, 20), (1, 0, 20)], 10 / 30, 10 / 40, 10 / (40 + 20)),
        ([(0, 10, 60), (0, 10, 60)], 1, 30 / 50, 30 / 50),  # one delivered slice
        ([(1, 0, 20)], 0, 0, 0),
    ],
)
def test_worked_by_hand(make_labels, make_retrieved, values, chunks, recall: float, precision: float, iou: float) -> None:
    labels = make_labels([TEXT, TEXT], {"needs": [[(0, 10, 30)], [(0, 50, 60)]]})
    retrieved = make_retrieved(chunks, list(range(len(chunks))))
    assert values(labels, retrieved, "span_recall@5", "chroma") == pytest.approx([recall])
    assert values(labels, retrieved, "span_precision@5", "chroma") == pytest.approx([precision])
    assert values(labels, retrieved, "span_iou@5", "chroma") == pytest.approx([iou])


def test_alternatives_are_plain_evidence(make_labels, make_retrieved, values) -> None:
    labels = make_labels([TEXT], {"needs": [[(0, 10, 20), (0, 50, 60)]]})
    retrieved = make_retrieved([(0, 0, 25)], [0])
    assert values(labels, retrieved, "span_recall@5") == [1]
    assert values(labels, retrieved, "span_recall@5", "chroma") == [1 / 2]


def test_evidence_that_overlaps_counts_as_often_as_it_is_listed(make_labels, make_retrieved, values) -> None:
    labels = make_labels([TEXT], {"needs": [[(0, 10, 20)], [(0, 15, 25)]]})
    assert values(labels, make_retrieved([(0, 0, 50)], [0]), "span_recall@5", "chroma") == [15 / 20]
    assert values(labels, make_retrieved([(0, 0, 50)], [0]), "span_recall@5") == [1]
