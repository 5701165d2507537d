"""A question that a rule makes of a statement, and the words of languages that rules need."""

from dataclasses import dataclass
from functools import cache
from typing import Literal

from workbench.core.text.words import terms, words

Language = Literal["en", "de", ""]
# Frequent words, which most sentences of a language contain and which say nothing about their subject.
_FUNCTION_WORDS = {
    "en": "a an the of to in on at for with by from and or but not no is are was were be been has have had do does did it its this that "
    "these those you your we our they their he she his her i my me as if when which who whom what where how why than then there can may "
    "must should will would could shall all any each every more most other some such only own so too very about after before up down out "
    "over under into between also per via",
    "de": "der die das den dem des ein eine einer eines einem einen und oder aber nicht kein keine ist sind war waren sein wird werden "
    "wurde hat haben hatte im in am an auf für mit von vom zu zum zur bei aus nach vor über unter durch als wie wenn weil dass es er sie "
    "wir ihr ich man sich auch nur noch so sehr was wer wo wann warum welche welcher welches alle jede jeder jedes mehr kann können muss "
    "müssen darf dürfen soll sollen um bis ab ohne gegen seit",
}
# The share of function words from which a text is of a language. Tables and lists of names have few.
_CLEAR = 0.15


@dataclass(frozen=True)
class Phrasing:
    """A question about a statement. `rule` names how it was made, `quality` (0 to 1) says how natural its questions are."""

    question: str
    rule: str
    quality: float


@cache
def function_words(language: str) -> frozenset[str]:
    """Return the frequent words of a language, of all languages for an unknown one."""
    return frozenset((_FUNCTION_WORDS.get(language) or " ".join(_FUNCTION_WORDS.values())).split())


def content_words(text: str, language: Language) -> frozenset[str]:
    """Return the words that a question is about."""
    return frozenset(terms(text)) - function_words(language)


def language_of(text: str) -> Language:
    """Return the language of a text, English or German, or an empty text if it is probably neither."""
    found = words(text)
    shares = {language: sum(word in function_words(language) for word in found) / max(1, len(found)) for language in _FUNCTION_WORDS}
    best = max(shares, key=lambda language: shares[language])
    if shares[best] < _CLEAR:
        return ""
    return "de" if best == "de" else "en"
