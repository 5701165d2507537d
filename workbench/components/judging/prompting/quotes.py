"""Find the quotes of a judge in passages."""

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.core.text.words import whole_words

_WORD = re.compile(r"\w")
# One of each stands for all, and for any number of them in a row.
_QUOTE, _DASH, _BLANK = "'", "-", " "
_QUOTES = frozenset("\"'`´‘’‚‛“”„‟«»‹›′″‵‶「」『』〝〞〟＂＇")
_MINUS = "−"
# A number has its sign and its decimal point, also without a digit before it, and blanks that do not break between its thousands.
_SIGN_BEFORE = re.compile(r"(?:^|[^\w.)\]])[-+±−‐‑‒–—.]$")
_SIGNED = re.compile(r"[-+±−‐‑‒–—]\d")
_NARROW = "\u00a0\u2009\u202f"
_STOP = re.compile(r"[^\W\d_]\.[^\W\d_]")
_THOUSANDS = re.compile(rf"\d[{_NARROW}]\d{{3}}(?!\d)")


@dataclass(frozen=True)
class _Folded:
    """A text in a form in which quotes are compared, with the place [start, end) of each of its characters in the original."""

    text: str
    places: tuple[tuple[int, int], ...]
    original: str

    def find(self, words: str) -> tuple[int, int] | None:
        """Return where the original has these words, as whole words and numbers."""
        start = self.text.find(words)
        while start >= 0:
            end = start + len(words)
            if self._is_whole(start) and self._is_whole(end):
                first, last = self.places[start][0], self.places[end - 1][1]
                if _is_edge(self.original, first, start=True) and _is_edge(self.original, last, start=False):
                    return first, last
            start = self.text.find(words, start + 1)
        return None

    def _is_whole(self, place: int) -> bool:
        """Check that neither a character nor a letter with its marks goes on at a place."""
        if place in (0, len(self.text)):
            return True
        return not unicodedata.combining(self.text[place]) and self.places[place - 1] != self.places[place]


def quote_in(quote: str, text: str) -> tuple[int, int] | None:
    """Return the place [start, end) of a quote in a text, or None.

    A quote begins and ends at the edge of a word or a number, which has its sign, decimal point and separators of thousands.
    Quotation marks, dashes and blanks match any others, equal characters match in every form of Unicode, and invisible characters do not
    count; nothing else may differ. Quotation marks around the quote are no part of it, and a quote without a word is nowhere.

    Examples
    --------
    >>> quote_in('"opens in  May"', "The office opens\\nin May.")
    (11, 23)
    >>> quote_in("the 'late' desk", "Ask at the “late” desk.")
    (7, 22)
    >>> quote_in("5 days", "There are 25 days of leave.")
    """
    folded, words = _folded(text), _folded(quote).text.strip(_BLANK)
    for wanted in (words, words.strip(_BLANK + _QUOTE)):
        if _WORD.search(wanted) and (found := folded.find(wanted)):
            return found
    return None


def quoted_passage(quote: str, number: int, texts: Sequence[str]) -> tuple[int, int, int] | None:
    """Return passage, start and end of a quote: in the passage with this number if it is there, else in the first that has it."""
    order = sorted(range(len(texts)), key=lambda place: place != number)
    return next(((place, *span) for place in order if (span := quote_in(quote, texts[place]))), None)


@functools.lru_cache(maxsize=256)
def _folded(text: str) -> _Folded:
    characters: list[str] = []
    places: list[tuple[int, int]] = []
    for place, original in enumerate(text):
        for character in _decomposed(original):
            if characters and character == characters[-1] and character in (_QUOTE, _DASH, _BLANK):
                places[-1] = (places[-1][0], place + 1)
                continue
            at = len(characters)
            # Marks over and under a letter can be written in any order.
            while rank := unicodedata.combining(character):
                if at == 0 or unicodedata.combining(characters[at - 1]) <= rank:
                    break
                at -= 1
            characters.insert(at, character)
            places.insert(at, (place, place + 1))
    return _Folded("".join(characters), tuple(places), text)


def _is_edge(text: str, place: int, *, start: bool) -> bool:
    """Check that the start or the end of a quote is within no word and no number."""
    before, after = text[max(0, place - 2) : place], text[place : place + 4]
    blank = len(before) - start
    if blank > 0 and _THOUSANDS.match(before + after, blank - 1):
        return False
    if start and ((_SIGN_BEFORE.search(before) and after[:1].isdigit()) or (before[-1:].isdigit() and _SIGNED.match(after))):
        return False
    # A full stop without a blank after it ends a sentence, but UAX #29 has one word there.
    if blank > 0 and _STOP.match(before + after, blank - 1):
        return True
    return whole_words(text, place, place) == (place, place)


@functools.lru_cache(maxsize=4096)
def _decomposed(character: str) -> str:
    """Return the compared form of a character: nothing for an invisible one."""
    if character in _QUOTES:
        return _QUOTE
    if character == _MINUS or unicodedata.category(character) == "Pd":
        return _DASH
    if character.isspace():
        return _BLANK
    if unicodedata.category(character) == "Cf":
        return ""
    plain = unicodedata.normalize("NFKD", character)
    return plain if plain == character else "".join(map(_decomposed, plain))
