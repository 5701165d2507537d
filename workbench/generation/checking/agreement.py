"""Whether two short answers say the same."""

import re

from workbench.context.answer_words import content_words
from workbench.generation.passages import cosines
from workbench.storage.vector_cache import VectorCache

# The share of the expected answer's words that the other must have, or else their cosine. Numbers and negations must agree in any case.
WORDS, COSINE = 0.6, 0.8
_NEGATION = re.compile(r"\b(?:no|not|never|none|neither|nor|nobody|nothing|without|cannot|nein|nicht|nie|niemand|kein\w*|ohne)\b|n't\b")
_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred"
_NUMBERS = {word: str(value) for value, word in enumerate(_ONES.split())} | {
    word: str(10 * value) for value, word in enumerate(_TENS.split(), 2)
}
# Words that two answers share whatever they say.
_COMMON = frozenset(
    [
        "at",
        "in",
        "on",
        "of",
        "to",
        "for",
        "by",
        "is",
        "are",
        "be",
        "was",
        "were",
        "it",
        "its",
        "and",
        "or",
        "with",
        "from",
        "as",
        "that",
        "this",
        "which",
        "there",
        "has",
        "have",
        "you",
        "your",
        "they",
    ]
)


def answers_agree(answer: str, expected: str, cache: VectorCache) -> bool:
    """Return whether an answer says what the expected one says: its numbers, a negation or none, and most of its words or a similar meaning.

    Answers that say the same in very other words are not recognised, which costs a candidate.
    """
    given, wanted = _words(answer), _words(expected)
    if not given or not wanted:
        return False
    if {word for word in wanted if word[0].isdigit()} - given:
        return False
    if bool(_NEGATION.search(_plain(answer))) != bool(_NEGATION.search(_plain(expected))):
        return False
    if len(given & wanted) >= WORDS * len(wanted):
        return True
    return bool(cosines([answer], [expected], cache)[0, 0] >= COSINE)


def _words(text: str) -> set[str]:
    """Return the words of a text that say something, with numbers as digits."""
    words = {_NUMBERS.get(word, word) for word in content_words(text)}
    return words - _COMMON or words


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'")
