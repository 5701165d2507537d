from hypothesis import given
from hypothesis import strategies as st

from workbench.core.records import Chunk, Document, Span
from workbench.data.labels import TextSearch
from workbench.people.generation.passages import MOST_PLACES, find_evidence, fits, without_evidence

TEXT = "Ada wrote the first program in 1843. Eve read it later. Ada wrote the first program in 1843."
DOCUMENT = Document("d", TEXT)


def test_a_quote_is_found_in_the_passage_first_and_then_where_it_recurs() -> None:
    other = Document("e", "Ada wrote the first program in 1843.")
    spans = find_evidence("Ada wrote the  first program in 1843.", Chunk(DOCUMENT, 40, len(TEXT)), TextSearch([other, DOCUMENT]))
    assert spans == (Span("d", 56, 92), Span("e", 0, 36), Span("d", 0, 36))


def test_a_quote_that_crosses_the_end_of_the_passage_is_not_found() -> None:
    assert find_evidence("1843. Eve read it later.", Chunk(DOCUMENT, 0, 40), TextSearch([DOCUMENT])) == ()
    assert find_evidence(" \n", Chunk(DOCUMENT, 0, 40), TextSearch([DOCUMENT])) == ()


def test_a_text_in_many_places_is_no_evidence() -> None:
    document = Document("d", "Ada wrote the first program. " * (MOST_PLACES + 5))
    spans = find_evidence("Ada wrote the first program.", Chunk(document, 0, 60), TextSearch([document]))
    assert not fits(spans)
    assert fits(spans[:MOST_PLACES])


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)).map(sorted).filter(lambda cut: cut[0] < cut[1]), max_size=6))
def test_what_remains_of_a_passage_has_no_evidence_and_all_the_rest(cuts: list[list[int]]) -> None:
    document = Document("d", "".join(chr(0x4E00 + place) for place in range(200)))
    spans = [Span("d", low, high) for low, high in cuts]
    passage = Chunk(document, 50, 150, "Title")
    parts = without_evidence([passage, passage], spans)
    cut = {place for low, high in cuts for place in range(low, high)}
    remaining = {place for part in parts for place in range(part.start, part.end)}
    assert remaining.isdisjoint(cut)
    missing = set(range(50, 150)) - cut - remaining
    # Only remains of fewer than 20 characters are left out.
    assert all(not {place + step for step in range(20)} <= missing for place in missing)
    assert all(part.header == "Title" for part in parts)
