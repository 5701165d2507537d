import itertools

from hypothesis import given
from hypothesis import strategies as st

from workbench.report.analysis.passages import against_delivered, disjoint, marked

TEXT = "alpha beta gamma delta epsilon"


def test_a_span_is_split_into_delivered_and_missed():
    assert against_delivered(TEXT, 0, 16, [(6, 10)]) == [(0, 6, "missed"), (6, 10, "delivered"), (10, 16, "missed")]


def test_blanks_between_chunks_are_not_missed():
    assert against_delivered(TEXT, 0, 10, [(0, 5), (6, 10)]) == [(0, 10, "delivered")]


def test_without_delivered_text_everything_is_missed():
    assert against_delivered(TEXT, 6, 10, []) == [(6, 10, "missed")]


def test_marks_keep_their_text_and_long_plain_parts_are_cut_at_words():
    text = "word " * 100 + "EVIDENCE" + " word" * 100
    pieces = marked(text, 0, len(text), [(500, 508, "delivered")], beside=23)
    assert [piece.text for piece in pieces if piece.role == "delivered"] == ["EVIDENCE"]
    assert pieces[0].text.startswith("… word")
    assert pieces[-1].text.endswith("word …")
    assert all(len(piece.text) <= 30 for piece in pieces)


def test_text_without_a_mark_is_cut_at_its_end():
    (piece,) = marked("word " * 100, 0, 500, [], alone=40)
    assert piece.text == "word word word word word word word …"


@given(st.text(alphabet="ab \n", max_size=40), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=5))
def test_short_texts_are_shown_whole_whatever_is_marked(text, spans):
    stretches = [(low, high, "delivered") for low, high in spans]
    assert "".join(piece.text for piece in marked(text, 0, len(text), stretches)) == text


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8))
def test_stretches_become_disjoint_and_cover_the_same(spans):
    stretches = [(low, high, "missed") for low, high in spans]
    found = disjoint(stretches)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(found))
    covered = {place for low, high, _ in found for place in range(low, high)}
    assert covered == {place for low, high, _ in stretches for place in range(low, high)}
