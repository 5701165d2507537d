"""Split texts into words, in any language. Only `regex` is imported: an exported retriever includes a copy of this file.

Words are those of UAX #29, as in Lucene's StandardTokenizer: `don't`, `3.14` and `C` are words, and marks belong to their letter. Three things
differ. A letter of a script without blanks between words is a word, with its marks: Han, kana, Thai, Lao, Khmer, Myanmar and others; Hangul too,
whose particles are attached to words. A colon separates words, as in CLDR. Between Latin letters, an apostrophe joins only the endings of English:
l'eau and İstanbul'da are two words.

Texts are compared in NFC and without case. Full-width, half-width and presentation forms (５, ｶ, ﬁ) are equal to usual letters, but 10² is not 102.
Characters that are not shown, such as a soft hyphen, a joiner or a blank of zero width, are left out.
"""

import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

import regex

# Part of the key of each result that depends on words. Raise it when equal texts begin to get other words.
VERSION = 1

# UAX #29 has no words of these letters, or a whole clause is one word (Katakana, Hangul, and scripts such as Javanese, whose lines break anywhere).
_LONE = r"[[[\p{L}\p{Nl}]--\p{WB=ALetter}--\p{WB=Hebrew_Letter}]||[\p{L}&&[\p{Hangul}\p{Katakana}\p{LB=AK}\p{LB=AP}\p{LB=AS}]]]"
_MARKS = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"
_SPLITS = r":|(?<=\p{Latin}\p{M}*)'(?=\p{Latin})(?!(?:d|ll|m|re|s|t|ve)\b)"
_JOIN = r"\p{WB=ExtendNumLet}"
# With the flag w, \B is no boundary of UAX #29.
_WORD = regex.compile(
    rf"(?V1w)(?P<letter>{_LONE}{_MARKS})"
    rf"|(?:(?<!{_JOIN}){_JOIN}++)?(?!{_LONE})[\p{{L}}\p{{N}}\p{{WB=ALetter}}]{_MARKS}(?:\B(?!{_LONE}|{_SPLITS}).{_MARKS})*+"
)
# What a slice of a text keeps whole: a word, and elsewhere a character as it is shown, such as a flag or a letter with its marks.
_WHOLE = regex.compile(rf"(?V1w){_WORD.pattern.removeprefix('(?V1w)')}|\X")
_PART = regex.compile(r"\S++")
_HIDDEN = regex.compile(r"\p{Default_Ignorable_Code_Point}+")
_FORMS = regex.compile(r"[\uFB00-\uFDFF\uFE70-\uFEFF\uFF00-\uFFEF]+")
_BLANK = regex.compile(rf"(?V1)(?<={_LONE}{_MARKS})\s+(?!\p{{M}})|\s+(?={_LONE})")
# Most parts between blanks recur, and are read once. A long one is a sentence of a script without blanks, or an address.
_LONGEST_PART, _MOST_PARTS = 24, 2**15


def words(text: str) -> list[str]:
    """Return the words of a text in order.

    Examples
    --------
    >>> words("Vitamin C isn't 3.14 µg: 图书馆 ปิด")
    ['vitamin', 'c', "isn't", '3.14', 'μg', '图', '书', '馆', 'ปิ', 'ด']
    """
    return [word for part in text.split() for word in (_known_words(part) if len(part) <= _LONGEST_PART else _words(part))]


def terms(text: str) -> list[str]:
    """Return the words of a text, and each pair of letters that are words and follow each other: the terms by which texts are compared.

    Single letters find a query of one letter, and pairs distinguish words of equal letters.

    Examples
    --------
    >>> terms("图书馆 5点")
    ['图', '图书', '书', '书馆', '馆', '5', '点']
    """
    return [term for part in text.split() for term in (_known_terms(part) if len(part) <= _LONGEST_PART else _terms(part))]


def search_terms(texts: Sequence[str], stopwords: str, stemmer: str) -> list[list[str]]:
    """Return the terms of each text without stop words, stemmed. Both are the name of a language or `none`."""
    terms_of = _search_terms_of(stopwords, stemmer)
    return [[term for part in text.split() for term in terms_of(part)] for text in texts]


@cache
def _search_terms_of(stopwords: str, stemmer: str) -> Callable[[str], tuple[str, ...]]:
    """Return the function that gives the terms of a part between blanks without stop words, stemmed."""
    from bm25s.stopwords import STOPWORDS_EN
    from Stemmer import Stemmer

    ignored = frozenset({"english": STOPWORDS_EN, "none": ()}[stopwords])
    # Without the stemmer's own cache, which threads cannot share.
    stem: Callable[[str], str] = Stemmer(stemmer, 0).stemWord if stemmer != "none" else str

    def found(part: str) -> tuple[str, ...]:
        return tuple(stem(term) for term in _terms(part) if term not in ignored)

    known = lru_cache(maxsize=_MOST_PARTS)(found)
    return lambda part: known(part) if len(part) <= _LONGEST_PART else found(part)


def whole_words(text: str, start: int, end: int) -> tuple[int, int]:
    """Extend a slice of a text to the words that its ends cut. In a script without blanks each letter is whole, so the slice stays as it is.

    Examples
    --------
    >>> start, end = whole_words("The ferry costs nine euros.", 6, 23)
    >>> "The ferry costs nine euros."[start:end]
    'ferry costs nine euros'
    """
    return _cut(text, start)[0], _cut(text, end)[1]


def folded(text: str) -> str:
    """Return a text in the form in which it is compared: NFC, without case, forms of letters and characters that are not shown."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFC", _HIDDEN.sub("", text))
    plain = unicodedata.normalize("NFC", _FORMS.sub(lambda forms: unicodedata.normalize("NFKC", forms[0]), plain)).casefold()
    return unicodedata.normalize("NFC", plain).replace("’", "'")


def without_blanks(text: str) -> str:
    """Remove the blanks beside letters of scripts that have none between words. Those of a line break, for example, separate no words."""
    return text if text.isascii() else _BLANK.sub("", text)


@lru_cache(maxsize=1024)
def whole(phrase: str) -> "regex.Pattern[str]":
    """Return a pattern that finds a phrase as whole words and numbers, in any case. In a script without blanks it finds the phrase anywhere."""
    joined = rf"[\w--{_LONE}]"
    # A phrase can end in a sign such as %, beside which no word boundary is.
    return regex.compile(rf"(?V1i)(?<!{joined})(?<!\d[.,]){regex.escape(phrase)}(?!{joined}|\p{{M}})(?![.,]\d)")


def _cut(text: str, place: int) -> tuple[int, int]:
    """Return the word that a place is within, or the place itself between two words."""
    begin = place
    while begin and not text[begin - 1].isspace():
        begin -= 1
    part = _PART.match(text, begin)
    units = _WHOLE.finditer(text, begin, part.end()) if part else ()
    return next((unit.span() for unit in units if unit.start() < place < unit.end()), (place, place))


def _terms(part: str) -> tuple[str, ...]:
    found: list[str] = []
    before = None
    for match in _WORD.finditer(folded(part)):
        letter = match["letter"]
        if before and letter and before.end() == match.start():
            found.append(before[0] + letter)
        found.append(match[0])
        before = match if letter else None
    return tuple(found)


def _words(part: str) -> tuple[str, ...]:
    return tuple(match[0] for match in _WORD.finditer(folded(part)))


_known_terms, _known_words = (lru_cache(maxsize=_MOST_PARTS)(split) for split in (_terms, _words))
