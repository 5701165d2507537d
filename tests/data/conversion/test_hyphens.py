"""A hyphen at the end of a line is removed only where the words of the document or a dictionary say that it divides a word."""

import pytest

from workbench.data.conversion.pdf.lines import LINE_END_HYPHEN, LineEndHyphens

ENGLISH = "The rules of the house are to be read by all who stay in it."
GERMAN = "Die Regeln gelten für alle, und der Vorstand ist nicht dafür da."


@pytest.mark.parametrize(
    ("divided", "whole"),
    [
        # Digits and capitals.
        ("SARS-CoV|2", "SARS-CoV-2"),
        ("F|16", "F-16"),
        ("2024|2025", "2024-2025"),
        ("pre|Christmas", "pre-Christmas"),
        ("(0)5|12", "(0)5-12"),
        ("Mc|Donald", "Mc-Donald"),
        # Part numbers, addresses and paths.
        ("XK|ab7", "XK-ab7"),
        ("x12k|ab", "x12k-ab"),
        ("www.example.org/bike|shed.html", "www.example.org/bike-shed.html"),
        ("ada|smith@example.org", "ada-smith@example.org"),
        ("https://example.org/a|b|c", "https://example.org/a-b-c"),
        ("src/pack|age", "src/pack-age"),
        # Words of a dictionary, at the beginning of a sentence and before a mark too.
        ("regis|tration", "registration"),
        ("Admin|istrative,", "Administrative,"),
        ("repre|senta|tive", "representative"),
        # Compounds that no dictionary has as one word.
        ("weather|dependent", "weather-dependent"),
        # Words that a dictionary has in both forms: the printed one stays.
        ("Well|known", "Well-known"),
        ("long|term", "long-term"),
        ("re|sign", "re-sign"),
        ("co|operate", "co-operate"),
        ("decision|making", "decision-making"),
        # A single letter is no syllable.
        ("X|ray", "X-ray"),
        ("e|mail", "e-mail"),
        ("T|shirt,", "T-shirt,"),
        # Compounds of more than two words, divided at each of their hyphens.
        ("mother-in|law", "mother-in-law"),
        ("mother|in-law", "mother-in-law"),
        ("one|time-only", "one-time-only"),
        ("up-to|date", "up-to-date"),
        ("state|of-the|art", "state-of-the-art"),
        # Of a compound, another word is divided.
        ("self-regis|tration", "self-registration"),
        # Words that are not known at all.
        ("qux|bar", "qux-bar"),
        ("x12kl|ab", "x12kl-ab"),
        # Suspended hyphens.
        ("pre| and post-war", "pre- and post-war"),
        ("pre|and post-war", "pre- and post-war"),
        ("two|or three-storey", "two- or three-storey"),
    ],
)
def test_hyphens_of_english_texts(divided: str, whole: str):
    assert resolved(divided, ENGLISH) == whole


def resolved(divided: str, *others: str) -> str:
    text = divided.replace("|", LINE_END_HYPHEN)
    return LineEndHyphens([text, *others]).resolved(text)


@pytest.mark.parametrize(
    ("divided", "whole"),
    [
        ("Ein|und Ausgang", "Ein- und Ausgang"),
        ("Haus|oder Gartentür", "Haus- oder Gartentür"),
        ("Geneh|migung", "Genehmigung"),
        ("Fahrradkeller|schlüssel", "Fahrradkellerschlüssel"),
        ("deutsch|niederländische", "deutsch-niederländische"),
        ("U|Bahn", "U-Bahn"),
        ("Check|in", "Check-in"),
    ],
)
def test_hyphens_of_german_texts(divided: str, whole: str):
    assert resolved(divided, GERMAN) == whole


def test_the_other_words_of_the_document_decide_before_a_dictionary():
    assert resolved("zyx|wvu", ENGLISH, "Every Zyxwvu counts.") == "zyxwvu"
    # Both are words of dictionaries.
    assert resolved("re|sign", ENGLISH, "They will re-sign the contract.") == "re-sign"
    assert resolved("re|sign", ENGLISH, "Members resign in May.") == "resign"
    assert resolved("Well|known", ENGLISH, "All that is wellknown.") == "Wellknown"
    assert resolved("on|line", ENGLISH, "On-line and online, and online again.") == "online"
    # A word is not its own proof.
    assert resolved("zyx|wvu and zyx|wvu", ENGLISH) == "zyx-wvu and zyx-wvu"


def test_the_language_of_a_document_is_that_of_its_function_words():
    french = "Les règles de la maison sont dans le livre et pour des amis, une page."
    assert resolved("règle|ment", french) == "règlement"
    assert resolved("Genehmi|gung", f"{GERMAN} {ENGLISH}") == "Genehmigung"
    assert resolved("Genehmi|gung", ENGLISH) == "Genehmi-gung"
