"""Find the words of an expected answer in a text."""

import re
from collections.abc import Iterable

_WORDS = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
# The commas that separate thousands.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = frozenset({"a", "an", "the", "der", "die", "das", "ein", "eine"})
# Words that answer a question without naming anything that a passage could contain.
_POLARITY = frozenset({"yes", "no", "ja", "nein", "not", "never", "true", "false"})
# A single word or number of fewer characters occurs almost anywhere.
_SHORTEST = 3


def content_words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text in order, in lower case and without articles. Thousands are not separated."""
    words = map(str.casefold, _WORDS.findall(_THOUSANDS.sub("", text)))
    return tuple(word for word in words if word not in _ARTICLES)


def holds_answer(text: str, answers: Iterable[str]) -> bool:
    """Return whether a text contains all words of an expected answer in their order. Answers of yes and no are not looked for."""
    line = f" {' '.join(content_words(text))} "
    return any(f" {' '.join(words)} " in line for words in map(content_words, answers) if _is_telling(words))


def _is_telling(words: tuple[str, ...]) -> bool:
    telling = [word for word in words if word not in _POLARITY]
    return len(telling) > 1 or any(len(word) >= _SHORTEST for word in telling)
