"""Quotes in passages, at their exact place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.judging.prompting.quotes import quote_in, quoted_passage

TEXT = "The office opens\n in May. It costs €3,000 (net)."


@pytest.mark.parametrize("quote", ["opens in May", ' "opens  in\tMay" ', "“opens in May”", "€3,000 (net)"])
def test_blanks_and_quotation_marks_do_not_matter(quote: str) -> None:
    start, end = quote_in(quote, TEXT) or (0, 0)
    assert TEXT[start:end].split() == quote.strip(' "“”').split()


def test_anything_else_matters() -> None:
    quotes = ["opens in june", "Opens in May", "opens May", "", " ", '""', ".", "3.000"]
    assert {quote: quote_in(quote, TEXT) for quote in quotes} == dict.fromkeys(quotes)


@given(st.text(), st.data())
def test_every_slice_with_a_word_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    found = quote_in(text[start:end], text)
    if any(character.isalnum() for character in text[start:end]):
        assert found is not None
        assert text[slice(*found)].split() in (text[start:end].split(), text[start:end].strip("\"'“”‘’„«» \t\r\n").split())


def test_the_named_passage_comes_first_and_the_others_follow() -> None:
    texts = ["one two", "two three", "four"]
    assert quoted_passage("two", 1, texts) == (1, 0, 3)
    assert quoted_passage("two", 2, texts) == (0, 4, 7)
    assert quoted_passage("two", -1, texts) == (0, 4, 7)
    assert quoted_passage("five", 0, texts) is None
