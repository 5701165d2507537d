from hypothesis import given
from hypothesis import strategies as st

from workbench.records import Document
from workbench.report.page.passages import BESIDE, Passages


def test_a_slice_has_one_number():
    passages = Passages([Document("a", "x" * 100)])
    assert [passages.number((0, 0, 5)), passages.number((0, 5, 9)), passages.number((0, 0, 5))] == [0, 1, 0]
    assert passages.table() == [0, 0, 5, 0, 5, 9]


def test_texts_are_stored_once_and_evidence_brings_its_surroundings():
    passages = Passages([Document("a", "x" * 2000)])
    for place in ((0, 0, 100), (0, 50, 150), (0, 150, 200)):
        passages.number(place)
    assert [(start, len(text)) for start, text in passages.texts([(0, 1000, 1010)])[0]] == [(0, 200), (1000 - BESIDE, 10 + 2 * BESIDE)]


@given(st.text(st.sampled_from("a😀é𝒳 \n"), max_size=40), st.data())
def test_places_are_those_of_utf_16(text, data):
    at = data.draw(st.integers(0, len(text)))
    assert Passages([Document("a", text)]).units(0, at) == len(text[:at].encode("utf-16-le")) // 2
