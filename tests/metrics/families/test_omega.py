import pytest

TEXT = "x" * 100


def test_perfect_retrieval_delivers_every_slice_that_holds_evidence(make_labels, make_retrieved, values) -> None:
    labels = make_labels([TEXT], {"needs": [[(0, 15, 25)]]})
    chunks = [(0, 0, 20), (0, 20, 40), (0, 40, 60)]
    assert values(labels, make_retrieved(chunks, []), "span_precision_omega") == [10 / 40]


def test_the_alternative_that_needs_the_least_text_is_delivered(make_labels, make_retrieved, values) -> None:
    labels = make_labels([TEXT], {"needs": [[(0, 15, 25), (0, 50, 54)], [(0, 55, 58)]]})
    chunks = [(0, 0, 20), (0, 20, 40), (0, 40, 60)]
    assert values(labels, make_retrieved(chunks, []), "span_precision_omega") == [7 / 20]


def test_an_alternative_that_no_slice_holds_is_not_cheap(make_labels, make_retrieved, values) -> None:
    labels = make_labels([TEXT], {"needs": [[(0, 90, 95), (0, 5, 10)]]}, {"needs": [[(0, 90, 95)]]})
    assert values(labels, make_retrieved([(0, 0, 20)], [], []), "span_precision_omega") == [5 / 20, 0]


@pytest.mark.parametrize(
    ("chunks", "exact", "chroma"),
    [
        ([(0, 0, 20), (0, 21, 40)], 5 / 20, 5 / 20),
        ([(0, 0, 10), (0, 10, 20), (0, 20, 30)], 5 / 10, 5 / 20),  # evidence ends where the third begins: it touches
        ([(0, 0, 18), (0, 22, 30)], 3 / 18, 3 / 20),  # evidence that no chunk holds
        ([(0, 0, 18), (0, 15, 30)], 5 / 30, 5 / 30),
        ([(0, 0, 18, 0, 40), (0, 18, 40, 0, 40)], 5 / 40, 5 / 40),
    ],
)
def test_both_definitions(make_labels, make_retrieved, values, chunks, exact: float, chroma: float) -> None:
    labels = make_labels([TEXT, TEXT], {"needs": [[(0, 15, 20)]]})
    assert values(labels, make_retrieved(chunks, []), "span_precision_omega") == pytest.approx([exact])
    assert values(labels, make_retrieved(chunks, []), "span_precision_omega", "chroma") == pytest.approx([chroma])


def test_documents_do_not_touch(make_labels, make_retrieved, values) -> None:
    labels = make_labels([TEXT, TEXT], {"needs": [[(0, 90, 100)]]})
    retrieved = make_retrieved([(0, 90, 100), (1, 0, 50)], [])
    assert values(labels, retrieved, "span_precision_omega", "chroma") == [1]
