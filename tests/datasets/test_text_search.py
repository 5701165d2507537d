import re

from hypothesis import given
from hypothesis import strategies as st

from workbench.datasets.text_search import TextSearch
from workbench.records import Document, Span

WORDS = st.text("ab \n", max_size=12)


def places(*texts: str) -> TextSearch:
    return TextSearch(Document(f"d{number}", text) for number, text in enumerate(texts))


def test_overlapping_places_are_found_and_none_across_documents() -> None:
    assert places("aaa", "a", "").verbatim("aa") == [Span("d0", 0, 2), Span("d0", 1, 3)]
    assert places("ab", "ab").verbatim("b\x00a") == []
    assert places("ab").verbatim("") == []


def test_other_white_space_is_found_at_the_offsets_of_the_document() -> None:
    found = places("x one\n\n  two\u00a0three. y", "one two three.").loosely(" one two  three.\n")
    assert found == [Span("d0", 2, 19), Span("d1", 0, 14)]


@given(texts=st.lists(WORDS, min_size=1, max_size=3), text=WORDS.filter(str.strip))
def test_every_verbatim_place_is_found_and_only_those(texts: list[str], text: str) -> None:
    slow = [
        Span(f"d{row}", at, at + len(text))
        for row, document in enumerate(texts)
        for at in range(len(document))
        if document.startswith(text, at)
    ]
    assert places(*texts).verbatim(text) == slow


@given(texts=st.lists(WORDS, min_size=1, max_size=3), text=WORDS.filter(str.strip))
def test_every_loose_place_has_the_same_words(texts: list[str], text: str) -> None:
    found = places(*texts).loosely(text)
    for span in found:
        assert texts[int(span.doc_id[1:])][span.start : span.end].split() == text.split()
    pattern = r"\s+".join(map(re.escape, text.split()))
    assert {span.doc_id for span in found} == {f"d{row}" for row, document in enumerate(texts) if re.search(pattern, document)}


def test_a_text_that_almost_recurs_everywhere_is_not_found() -> None:
    assert places("ab" * 500_000).verbatim("ab" * 1000 + "c") == []
