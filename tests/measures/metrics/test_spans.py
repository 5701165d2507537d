import pytest

#        0         1         2         3
#        0123456789012345678901234567890123456789
TEXT = "The cat sat on the mat. It ate the rats."


@pytest.fixture
def labels(make_labels):
    # One need with two alternatives, "cat sat" (4-11) or "mat" (19-22), and one with "ate" (27-30).
    return make_labels([TEXT, TEXT], {"needs": [[(0, 4, 11), (0, 19, 22)], [(0, 27, 30)]]})


@pytest.mark.parametrize(
    ("chunks", "recall", "precision", "iou", "needs", "complete"),
    [
        # D, E and A in characters; E holds the alternative that is covered best.
        pytest.param([(0, 0, 23)], 3 / 6, 10 / 23, 10 / 26, 1 / 2, 0, id="both alternatives tie, the shorter is chosen"),
        pytest.param([(0, 0, 9)], 5 / 10, 5 / 9, 5 / 14, 0, 0, id="5 of 7 characters beat none of 3"),
        pytest.param([(0, 18, 40)], 1, 6 / 22, 6 / 22, 1, 1, id="one alternative will do"),
        pytest.param([(0, 4, 8), (0, 8, 11)], 7 / 10, 1, 7 / 10, 1 / 2, 0, id="two chunks make a whole"),
        pytest.param([(0, 4, 7), (0, 8, 11)], 6 / 10, 1, 6 / 10, 1 / 2, 0, id="a blank at the seam does not break a need"),
        pytest.param([(0, 0, 9), (0, 5, 11)], 7 / 10, 7 / 11, 7 / 14, 1 / 2, 0, id="text that overlaps counts once"),
        pytest.param([(1, 4, 11)], 0, 0, 0, 0, 0, id="the same text of another document"),
        pytest.param([(0, 18, 40), (1, 0, 22)], 1, 6 / 44, 6 / 44, 1, 1, id="other documents are in the way"),
    ],
)
def test_worked_by_hand(labels, make_retrieved, values, chunks, recall, precision, iou, needs, complete) -> None:
    retrieved = make_retrieved(chunks, list(range(len(chunks))))
    assert values(labels, retrieved, "span_recall@5") == pytest.approx([recall])
    assert values(labels, retrieved, "span_precision@5") == pytest.approx([precision])
    assert values(labels, retrieved, "span_iou@5") == pytest.approx([iou])
    assert values(labels, retrieved, "need_recall@5") == pytest.approx([needs])
    assert values(labels, retrieved, "complete@5") == [complete]


def test_what_as_much_text_could_attain(labels, make_retrieved, values) -> None:
    retrieved = make_retrieved([(1, 0, 5), (0, 0, 40)], [0, 1])
    # 5 characters, none of them right: E is the shorter alternative and "ate", 6 characters; A has 13.
    assert values(labels, retrieved, "span_recall@1", column="attainable") == pytest.approx([5 / 6])
    assert values(labels, retrieved, "span_precision@1", column="attainable") == [1]
    assert values(labels, retrieved, "span_iou@1", column="attainable") == pytest.approx([5 / 6])
    # 45 characters.
    assert values(labels, retrieved, "span_recall@2", column="attainable") == [1]
    assert values(labels, retrieved, "span_precision@2", column="attainable") == pytest.approx([13 / 45])
    assert values(labels, retrieved, "span_iou@2", column="attainable") == pytest.approx([13 / 45])


def test_equal_context_cuts_the_last_chunk_at_a_token(labels, make_retrieved, values) -> None:
    # The cat sat on the mat . | It ate the rats .
    retrieved = make_retrieved([(0, 0, 23), (0, 24, 40)], [1, 0])
    assert values(labels, retrieved, "span_precision@2t") == pytest.approx([3 / 7])  # "It ate "
    assert values(labels, retrieved, "span_recall@2t") == pytest.approx([3 / 6])
    assert values(labels, retrieved, "need_recall@1t") == [0]
    assert values(labels, retrieved, "need_recall@2t") == [1 / 2]
    assert values(labels, retrieved, "complete@7t") == [0]  # ... The cat
    assert values(labels, retrieved, "complete@8t") == [1]  # ... The cat sat


def test_overlapping_chunks_are_paid_for_twice(labels, make_retrieved, values) -> None:
    # "The cat sat" and "cat sat on" share two tokens: 6 tokens buy 4 words.
    retrieved = make_retrieved([(0, 0, 11), (0, 4, 14), (0, 24, 40)], [0, 1, 2])
    assert values(labels, retrieved, "span_recall@6t") == values(labels, retrieved, "span_recall@2")
    assert values(labels, retrieved, "complete@7t") == [0]  # ... It
    assert values(labels, retrieved, "complete@8t") == [1]  # ... It ate


def test_a_parent_is_paid_for_once(labels, make_retrieved, values) -> None:
    children = [(0, 0, 3, 0, 23), (0, 4, 7, 0, 23), (0, 24, 30, 24, 40)]
    retrieved = make_retrieved(children, [0, 1, 2])
    assert values(labels, retrieved, "complete@9t") == [1]  # 7 tokens of the parent, then It ate
    assert values(labels, retrieved, "complete@2") == [1]


def test_evidence_without_a_visible_character_is_never_met(make_labels, make_retrieved, values) -> None:
    labels = make_labels([TEXT], {"needs": [[(0, 3, 4)]]})
    assert values(labels, make_retrieved([(0, 0, 40)], [0]), "complete@1") == [0]


HUNDRED = "x" * 100


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
def test_chromas_definitions_worked_by_hand(
    make_labels, make_retrieved, values, chunks, recall: float, precision: float, iou: float
) -> None:
    labels = make_labels([HUNDRED, HUNDRED], {"needs": [[(0, 10, 30)], [(0, 50, 60)]]})
    retrieved = make_retrieved(chunks, list(range(len(chunks))))
    assert values(labels, retrieved, "span_recall@5", "chroma") == pytest.approx([recall])
    assert values(labels, retrieved, "span_precision@5", "chroma") == pytest.approx([precision])
    assert values(labels, retrieved, "span_iou@5", "chroma") == pytest.approx([iou])


def test_for_chroma_alternatives_are_plain_evidence(make_labels, make_retrieved, values) -> None:
    labels = make_labels([HUNDRED], {"needs": [[(0, 10, 20), (0, 50, 60)]]})
    retrieved = make_retrieved([(0, 0, 25)], [0])
    assert values(labels, retrieved, "span_recall@5") == [1]
    assert values(labels, retrieved, "span_recall@5", "chroma") == [1 / 2]


def test_for_chroma_evidence_that_overlaps_counts_as_often_as_it_is_listed(make_labels, make_retrieved, values) -> None:
    labels = make_labels([HUNDRED], {"needs": [[(0, 10, 20)], [(0, 15, 25)]]})
    assert values(labels, make_retrieved([(0, 0, 50)], [0]), "span_recall@5", "chroma") == [15 / 20]
    assert values(labels, make_retrieved([(0, 0, 50)], [0]), "span_recall@5") == [1]


HUNDRED = "x" * 100


def test_perfect_retrieval_delivers_every_slice_that_holds_evidence(make_labels, make_retrieved, values) -> None:
    labels = make_labels([HUNDRED], {"needs": [[(0, 15, 25)]]})
    chunks = [(0, 0, 20), (0, 20, 40), (0, 40, 60)]
    assert values(labels, make_retrieved(chunks, []), "span_precision_omega") == [10 / 40]


def test_the_alternative_that_needs_the_least_text_is_delivered(make_labels, make_retrieved, values) -> None:
    labels = make_labels([HUNDRED], {"needs": [[(0, 15, 25), (0, 50, 54)], [(0, 55, 58)]]})
    chunks = [(0, 0, 20), (0, 20, 40), (0, 40, 60)]
    assert values(labels, make_retrieved(chunks, []), "span_precision_omega") == [7 / 20]


def test_an_alternative_that_no_slice_holds_is_not_cheap(make_labels, make_retrieved, values) -> None:
    labels = make_labels([HUNDRED], {"needs": [[(0, 90, 95), (0, 5, 10)]]}, {"needs": [[(0, 90, 95)]]})
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
    labels = make_labels([HUNDRED, HUNDRED], {"needs": [[(0, 15, 20)]]})
    assert values(labels, make_retrieved(chunks, []), "span_precision_omega") == pytest.approx([exact])
    assert values(labels, make_retrieved(chunks, []), "span_precision_omega", "chroma") == pytest.approx([chroma])


def test_documents_do_not_touch(make_labels, make_retrieved, values) -> None:
    labels = make_labels([HUNDRED, HUNDRED], {"needs": [[(0, 90, 100)]]})
    retrieved = make_retrieved([(0, 90, 100), (1, 0, 50)], [])
    assert values(labels, retrieved, "span_precision_omega", "chroma") == [1]


@pytest.mark.parametrize(
    ("k", "recall", "precision", "iou"),
    [
        # 5 characters could be evidence, of 13; then 40 more; then 20 that are paid for again.
        (1, 5 / 13, 1, 5 / 13),
        (2, 1, 13 / 45, 13 / 45),
        (3, 1, 13 / 65, 13 / 65),
    ],
)
def test_what_as_much_text_could_attain_by_chromas_definitions(labels, make_retrieved, values, k, recall, precision, iou) -> None:
    retrieved = make_retrieved([(1, 0, 5), (0, 0, 40), (0, 0, 20)], [0, 1, 2])
    for name, attainable in (("recall", recall), ("precision", precision), ("iou", iou)):
        assert values(labels, retrieved, f"span_{name}@{k}", "chroma", "attainable") == pytest.approx([attainable])


@pytest.mark.parametrize("name", ["need_recall@1", "complete@1", "complete@5t"])
def test_every_need_could_be_met(labels, make_retrieved, values, name: str) -> None:
    assert values(labels, make_retrieved([(1, 0, 5)], [0]), name, column="attainable") == [1]


@pytest.mark.parametrize("spans", ["exact", "chroma"])
def test_perfect_retrieval_could_attain_1(labels, make_retrieved, values, spans: str) -> None:
    assert values(labels, make_retrieved([(0, 0, 40)], []), "span_precision_omega", spans, "attainable") == [1]
