"""Words of texts in many scripts, split by hand."""

import itertools
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.components.answering.extractive import ExtractiveGenerator
from workbench.components.context.context_packing import ContextPacking
from workbench.components.judging.chat_splitter import ChatSplitter
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.core.text.words import VERSION, _known_terms, _terms, folded, search_terms, terms, whole, without_blanks, words
from workbench.measures.metrics.registry import METRICS

# Letters, marks, digits and signs of scripts with and without blanks between words.
ALPHABET = "aÉßİσςжשלאرةًَकिष्प क़กิ้ำໃ່ខ្ម၊ျာ图図はーカ가ᄀ々〇٣३๓5½².,:'’-_!\n\u00ad\u200b\u200d\u202f\u0301ﬁＡｶﾞ😀"
MIXED = st.one_of(st.text(max_size=30), st.text(ALPHABET, max_size=30))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Vitamin C and section 5", ["vitamin", "c", "and", "section", "5"]),
        ("π is 3.14, not 3,142 or 1.", ["π", "is", "3.14", "not", "3,142", "or", "1"]),
        ("Don't! It’s the patients' O'Neil", ["don't", "it's", "the", "patients", "o", "neil"]),
        ("the well-known snake_case of e.g. example.com, C++", ["the", "well", "known", "snake_case", "of", "e.g", "example.com", "c"]),
        ("COVID-19 at 15:30, ½ of 10² m", ["covid", "19", "at", "15", "30", "½", "of", "10", "²", "m"]),
        # French, Italian and Turkish join parts of words by apostrophes, Finnish by colons.
        ("l’eau d'Orsay, dell'acqua", ["l", "eau", "d", "orsay", "dell", "acqua"]),
        ("Ankara'nın EU:n", ["ankara", "nın", "eu", "n"]),
        # An apostrophe is a letter in Ukrainian, and two signs are in Hebrew.
        ("п'ять צה\"ל", ["п'ять", 'צה"ל']),
        ("Straße STRASSE cafe\u0301 ΟΔΟΣ οδός", ["strasse", "strasse", "café", "οδοσ", "οδόσ"]),
        ("ﬁne ５ Ａ co\u00adop ab\u200bc", ["fine", "5", "a", "coop", "abc"]),
        ("हिन्दी में ३ शब्द।", ["हिन्दी", "में", "३", "शब्द"]),
        ("السَّلامُ عليكم، ٣٫١٤", ["السَّلامُ", "عليكم", "٣٫١٤"]),
        ("می\u200cخواهم", ["میخواهم"]),
        ("图书馆，3月", ["图", "书", "馆", "3", "月"]),
        ("図書館はカフェー", ["図", "書", "館", "は", "カ", "フ", "ェ", "ー"]),
        ("도서관은 3시", ["도", "서", "관", "은", "3", "시"]),
        ("ห้องปิด ๑๐", ["ห้", "อ", "ง", "ปิ", "ด", "๑๐"]),
        ("ຫໍສະ", ["ຫໍ", "ສ", "ະ"]),
        ("ខ្មែរ", ["ខ្", "មែ", "រ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("ꦧꦱꦗꦮ", ["ꦧ", "ꦱ", "ꦗ", "ꦮ"]),
        ("用Python3写API", ["用", "python3", "写", "api"]),
        ("__init__ 0_²", ["__init__", "0_", "²"]),
        ("_ ... 😀 \u0301 ''", []),
    ],
)
def test_words_are_those_of_the_script(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_terms_have_pairs_of_neighbouring_letters_of_scripts_without_blanks() -> None:
    assert terms("图书馆，馆 A馆x") == ["图", "图书", "书", "书馆", "馆", "馆", "a", "馆", "x"]
    assert terms("ปิดวัน") == ["ปิ", "ปิด", "ด", "ดวั", "วั", "วัน", "น"]
    assert terms("도서 관은") == ["도", "도서", "서", "관", "관은", "은"]
    assert terms("the 3.14 cafés") == ["the", "3.14", "cafés"]
    # Khmer is written with and without blanks of zero width.
    assert terms("ភាសា\u200bខ្មែរ") == terms("ភាសាខ្មែរ")


def test_search_terms_are_stemmed_and_without_stop_words() -> None:
    texts = ["The cats' owner isn't running: 图书", "the"]
    assert search_terms(texts, "english", "english") == [["cat", "owner", "isn't", "run", "图", "图书", "书"], []]
    assert search_terms(texts, "none", "none") == [["the", "cats", "owner", "isn't", "running", "图", "图书", "书"], ["the"]]
    assert search_terms([], "english", "english") == []


@given(MIXED)
def test_composed_and_decomposed_texts_have_equal_terms(text: str) -> None:
    assert terms(unicodedata.normalize("NFC", text)) == terms(unicodedata.normalize("NFD", text)) == terms(text)


@given(MIXED)
def test_each_letter_and_digit_is_in_a_word(text: str) -> None:
    kept = [char for char in folded(text) if char.isalnum()]
    assert [char for word in words(text) for char in word if char.isalnum()] == kept


@given(MIXED, MIXED)
def test_a_blank_separates_terms(first: str, second: str) -> None:
    assert terms(f"{first} {second}") == terms(first) + terms(second)
    assert words(f"{first} {second}") == words(first) + words(second)


@given(MIXED)
def test_terms_are_words_and_pairs_of_neighbours(text: str) -> None:
    pairs = {first + second for first, second in itertools.pairwise(words(text))}
    assert set(words(text)) <= set(terms(text)) <= set(words(text)) | pairs


@given(st.lists(MIXED))
def test_remembered_parts_have_the_same_terms(texts: list[str]) -> None:
    parts = [part for text in texts for part in text.split()]
    assert [_known_terms(part) for part in parts] == [_terms(part) for part in parts]


@given(MIXED, MIXED)
def test_a_text_contains_the_terms_of_its_part(before: str, part: str) -> None:
    """Parts end at letters of scripts without blanks, as an expected answer does within an answer."""
    part, before = f"图{part}图", before + "图"
    assert not set(terms(part)) - set(terms(before + part + "图"))


def test_time_grows_with_the_length_only() -> None:
    """Texts that a pattern could read again from each place. Quadratic time would be minutes."""
    for repeated in ("_", "'", "a'", "e\u0301", "a.", "图\u0301", "é", "1,", "a:"):
        terms("x" + repeated * 100_000)
    terms("e" + "\u0301" * 100_000)


def test_a_phrase_is_whole_within_words_but_not_within_scripts_without_blanks() -> None:
    found = {("UK", "the UK."): True, ("UK", "Ukraine"): False, ("1.2", "1.25"): False, ("5 %", "15 %"): False, ("STRASSE", "straße"): True}
    found |= {("八十元", "押金八十元。"): True, ("UK", "在UK学习"): True, ("ปิด", "ห้องปิดแล้ว"): True, ("กา", "กา\u0e49"): False}
    assert {(phrase, text): bool(whole(phrase).search(text)) for phrase, text in found} == found


def test_blanks_beside_letters_of_scripts_without_blanks_are_removed() -> None:
    assert without_blanks("图书 馆 open 24 小时 a day") == "图书馆open 24小时a day"
    assert without_blanks("no change, žádná změna") == "no change, žádná změna"
    # A mark belongs to no letter after a blank.
    assert without_blanks("ก \u0e48") == "ก \u0e48"


@pytest.mark.parametrize(
    "identity",
    [
        BM25Retriever().identity(),
        HybridRetriever().identity()["retrievers"]["bm25"],
        OverlapJudge().identity("support"),
        ExtractiveGenerator().identity(),
        ContextPacking().identity(),
        ChatSplitter(provider="openai", model="m").identity(),
    ],
)
def test_the_version_of_words_is_in_the_identity_of_components_that_split_texts(identity: dict[str, object]) -> None:
    assert identity["words"] == VERSION


def test_the_version_of_words_is_in_the_version_of_metrics_that_split_answers() -> None:
    names = ("exact_match", "token_f1", "answer_recall", "counterfactual_robustness")
    assert [METRICS[name].version for name in names] == [1 + VERSION] * 4
