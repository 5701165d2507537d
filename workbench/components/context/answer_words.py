"""Find the words of an expected answer in a text."""

import re
from collections.abc import Iterable

from workbench.core.text.words import words

# A word is compared as its numbers and its letters: 5kg as 5 kg, don't as don t.
_PARTS = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_][^\d'_]*")
# The commas that separate thousands.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_ARTICLES = frozenset({"a", "an", "the", "der", "die", "das", "ein", "eine"})
# Words that answer a question without naming anything that a passage could contain.
_POLARITY = frozenset({"yes", "no", "ja", "nein", "not", "never", "true", "false"})
# A single word or number of fewer characters occurs almost anywhere.
_SHORTEST = 3


def content_words(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text in order, in lower case and without articles. Thousands are not separated."""
    parts = (part for word in words(_THOUSANDS.sub("", text)) for part in _PARTS.findall(word))
    return tuple(part for part in parts if part not in _ARTICLES)


def holds_answer(text: str, answers: Iterable[str]) -> bool:
    """Return True if a text contains all words of an expected answer in their order. Answers of yes and no are not looked for."""
    line = f" {' '.join(content_words(text))} "
    return any(f" {' '.join(answer)} " in line for answer in map(content_words, answers) if _is_telling(answer))


def _is_telling(answer: tuple[str, ...]) -> bool:
    telling = [word for word in answer if word not in _POLARITY]
    return len(telling) > 1 or any(len(word) >= _SHORTEST for word in telling)
