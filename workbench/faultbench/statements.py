"""Sentences that can stand alone as a claim, and the values that texts name."""

import functools
import re
from collections.abc import Iterable

from workbench.chunking.text.packing import Slice
from workbench.chunking.text.sentences import sentences

# Prose of a readable length, not a heading, table row, list item or code.
_STATEMENT = re.compile(r"[A-Z0-9€][^|#`\n]{28,248}\.")
# 1,090 and 15:30 are one number each; S1, 4th and sha256 are none.
NUMBER = re.compile(r"(?<![\w.,:])\d+(?:[.,:]\d+)*(?!\w)")


@functools.cache
def statements(text: str) -> tuple[Slice, ...]:
    """The sentences of a text, 30 to 250 code points of prose each, in order."""
    return tuple((start, end) for start, end in sentences(text) if _STATEMENT.fullmatch(text[start:end]))


def numbers(text: str) -> set[str]:
    """The numbers that a text names, as they are written."""
    return set(NUMBER.findall(text))


def content_words(text: str) -> set[str]:
    """The words of a text of four letters and more, in lower case: the shorter ones are in every sentence."""
    return set(re.findall(r"\w{4,}", text.casefold()))


def names_one_of(text: str, answers: Iterable[str]) -> bool:
    """Whether a text holds one of the answers, or a number of one."""
    return any(numbers(text) & numbers(answer) or names(text, answer) for answer in answers)


def names(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase, as whole words and whatever the case."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) is not None
