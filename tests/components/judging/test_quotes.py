"""Quotes in passages, at their exact place."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.components.judging.replies import quote_in, quoted_passage
from workbench.core.text.words import whole_words

TEXT = "The office opens\n in May. It costs €3,000 (net)."


@pytest.mark.parametrize(
    "quote", ["opens in May", ' "opens  in\tMay" ', "“opens in May”", "„opens in May“", "opens\u00a0in\u2009May", "€3,000 (net)"]
)
def test_blanks_and_quotation_marks_do_not_matter(quote: str) -> None:
    start, end = quote_in(quote, TEXT) or (0, 0)
    assert TEXT[start:end].split() == quote.strip(' "“”„').split()


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ('the "late" desk', "the “late” desk"),
        ("the 'late' desk", "the «late» desk"),
        ("doesn't open", "doesn’t open"),
        ("``late`` desk", '"late" desk'),
        ("9-17, Monday - Friday", "9–17, Monday — Friday"),
        ("non-stop -- always", "non\u2011stop — always"),
        ("minus -4 degrees", "minus −4 degrees"),
        ("Café Müller", unicodedata.normalize("NFD", "Café Müller")),
        (unicodedata.normalize("NFD", "Café Müller"), "Café Müller"),
        ("한국어 문서", unicodedata.normalize("NFD", "한국어 문서")),
        ("office files", "oﬃce ﬁles"),
        ("wait... then", "wait… then"),
        ("document", "docu\u00adment"),
        ("zero width", "\ufeffzero\u200b width"),
        ("Ａ１ room", "A1 room"),
        ("a\u0323\u0302 letter", "a\u0302\u0323 letter"),
    ],
)
def test_typography_does_not_matter_and_the_place_is_that_of_the_text(quote: str, text: str) -> None:
    for before, after in (("", ""), ("Ärger: ", " (é).")):
        start, end = quote_in(quote, before + text + after) or (0, 0)
        assert (before + text + after)[start:end].strip('\ufeff"“”') == text.strip('\ufeff"“”')


def test_anything_else_matters() -> None:
    quotes = ["opens in june", "Opens in May", "opens May", "", " ", '""', ".", "3.000", "–"]
    assert {quote: quote_in(quote, TEXT) for quote in quotes} == dict.fromkeys(quotes)


def test_a_letter_without_its_mark_is_another_letter() -> None:
    for text in ("the résumé", unicodedata.normalize("NFD", "the résumé")):
        assert quote_in("resume", text) is None
        assert quote_in("the re", text) is None
    assert quote_in("1", "½ of it") is None


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("5 days of leave", "25 days of leave"),
        ("5 °C", "The pool is at -15 °C."),
        ("15 °C", "The pool is at -15 °C."),
        ("15 °C", "The pool is at −15 °C."),
        ("-5 °C", "3-5 °C"),
        ("-5 °C", "at 3-5 °C"),
        ("500 euros", "1,500 euros"),
        ("500 euros", "1.500 euros"),
        ("500 euros", "1\u202f500 euros"),
        (",500 euros", "1,500 euros"),
        ("It costs 1", "It costs 1,500 euros."),
        ("It costs 1", "It costs 1\u00a0500 euros."),
        ("It costs 1", "It costs 1.5 euros."),
        ("5 percent", ".5 percent"),
        ("5 km", "15 km"),
        ("a distance of 5", "a distance of 5km"),
        ("oking is", "Smoking is banned."),
        ("Smok", "Smoking is banned."),
        ("a", "Smoking is banned."),
        ("office", "offices"),
        (".b is", "a.b is a file"),
        ("doesn", "It doesn't open."),
        ("сти", "новости дня"),
    ],
)
def test_a_quote_within_a_word_or_a_number_is_none(quote: str, text: str) -> None:
    assert quote_in(quote, text) is None


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("25 days of leave", "25 days of leave"),
        ("-15 °C", "at −15 °C."),
        ("1,500 euros", "costs 1,500 euros."),
        ("17", "open 9–17"),
        ("9", "open 9-17"),
        ("19 rules", "COVID-19 rules"),
        ("25", "25% of it"),
        ("500", "€500"),
        ("in May", "It opens in May.It closes in June."),
        ("It closes", "It opens in May.It closes in June."),
        ("15 days", "- 15 days"),
        ("开门", "办公室五月开门。"),
        ("บริษัท", "พนักงานบริษัทได้"),
        ("eau", "l'eau claire"),
    ],
)
def test_a_quote_of_whole_words_and_numbers_is_found(quote: str, text: str) -> None:
    assert quote_in(quote, text) is not None


def test_a_quote_is_found_at_a_later_place_if_the_first_is_within_a_word() -> None:
    assert quote_in("5 days", "25 days, then 5 days") == (14, 20)


@given(st.text(st.characters(exclude_categories=("Cs", "Cf", "Mn", "Mc", "Me", "Lm", "Sk", "So", "No"), exclude_characters="´")), st.data())
def test_every_slice_of_whole_words_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    start, end = whole_words(text, start, end)
    quote = text[start:end]
    composed = any(unicodedata.normalize("NFKD", character) != character for character in text)
    # A sign or a point before a number belongs to it.
    if any(character.isalnum() for character in quote) and not composed and text[:start][-1:] in ("", " "):
        found = quote_in(quote, text)
        assert found is not None
        assert quote_in(text[slice(*found)], quote) is not None


def test_the_named_passage_comes_first_and_the_others_follow() -> None:
    texts = ["one two", "two three", "four"]
    assert quoted_passage("two", 1, texts) == (1, 0, 3)
    assert quoted_passage("two", 2, texts) == (0, 4, 7)
    assert quoted_passage("two", -1, texts) == (0, 4, 7)
    assert quoted_passage("five", 0, texts) is None
