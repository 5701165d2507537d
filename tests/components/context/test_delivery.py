from workbench.measures.metrics.case import Case, Cut, delivered, ordered

TEXT = "one two three four five six"  # 6 tokens, starting at 0 4 8 14 19 24


def _texts(labels, retrieved, **cut: int) -> list[tuple[int, str]]:
    found = delivered(Case(labels, retrieved, "exact"), Cut(**cut))
    line = "\0".join([*labels.texts, ""])
    return [(query, line[start:end]) for query, start, end in zip(found.query.tolist(), found.starts, found.ends, strict=True)]


def test_the_first_k_distinct_slices(make_labels, make_retrieved) -> None:
    labels = make_labels([TEXT, TEXT], {}, {}, {})
    chunks = [(0, 0, 3, 0, 7), (0, 4, 7, 0, 7), (0, 8, 18), (1, 0, 3, 0, 7)]
    retrieved = make_retrieved(chunks, [1, 0, 2, 3], [], [2, 3, 0, 1])
    assert _texts(labels, retrieved, k=2) == [(0, "one two"), (0, "three four"), (2, "three four"), (2, "one two")]
    assert len(_texts(labels, retrieved, k=9)) == 6


def test_until_the_tokens_are_used(make_labels, make_retrieved) -> None:
    labels = make_labels([TEXT, TEXT], {}, {})
    retrieved = make_retrieved([(0, 0, 7), (0, 8, 18), (1, 0, 27)], [1, 0], [0, 2, 1])
    assert _texts(labels, retrieved, tokens=1) == [(0, "three "), (1, "one ")]
    assert _texts(labels, retrieved, tokens=2) == [(0, "three four"), (1, "one two")]
    assert _texts(labels, retrieved, tokens=3) == [(0, "three four"), (0, "one "), (1, "one two"), (1, "one ")]
    assert _texts(labels, retrieved, tokens=9)[2:] == [(1, "one two"), (1, TEXT), (1, "three ")]


def test_a_chunk_is_charged_the_tokens_that_start_in_it(make_labels, make_retrieved) -> None:
    labels = make_labels([TEXT], {})
    # "wo thr" holds the start of one token only, "wo" that of none.
    retrieved = make_retrieved([(0, 5, 11), (0, 5, 7), (0, 19, 27)], [1, 0, 2])
    assert _texts(labels, retrieved, tokens=2) == [(0, "wo"), (0, "wo thr"), (0, "five ")]


def test_a_slice_has_the_position_of_its_best_rank(make_labels, make_retrieved) -> None:
    labels = make_labels([TEXT], {}, {})
    retrieved = make_retrieved([(0, 0, 3, 0, 7), (0, 4, 7, 0, 7), (0, 8, 18)], [1, 0, 2], [2])
    found = ordered(Case(labels, retrieved, "exact"), Cut())
    assert list(zip(found.query.tolist(), found.position.tolist(), found.piece.tolist(), strict=True)) == [(0, 1, 0), (0, 2, 1), (1, 1, 1)]
