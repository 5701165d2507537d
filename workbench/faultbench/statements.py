"""Sentences that can be a claim by themselves, the values that texts name, and answers with another value."""

import functools
import random
import re
from collections.abc import Iterable

from workbench.chunking.text.packing import Slice
from workbench.chunking.text.sentences import sentences

# Prose of a readable length, not a heading, table row, list item or code.
_STATEMENT = re.compile(r"[A-Z0-9€][^|#`\n]{28,248}\.")
# 1,090 and 15:30 are one number each; S1, 4th and sha256 are none.
_NUMBER = re.compile(r"(?<![\w.,:])\d+(?:[.,:]\d+)*(?!\w)")
_YES_OR_NO = re.compile(r"(yes|no)\b(?=\s*(?:[,;:.(]|$))", re.IGNORECASE)
_BELOW_TEN = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_COUNTED = (*_BELOW_TEN, "ten", "eleven", "twelve", "fifteen", "twenty", "thirty", "sixty")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LISTS = (_COUNTED, tuple(word.capitalize() for word in _COUNTED), _MONTHS, _WEEKDAYS)
_MONTH_NEXT = re.compile(rf"\s+(?:{'|'.join(_MONTHS)})\b")


@functools.cache
def statements(text: str) -> tuple[Slice, ...]:
    """The sentences of a text, 30 to 250 code points of prose each, in order."""
    return tuple((start, end) for start, end in sentences(text) if _STATEMENT.fullmatch(text[start:end]))


def numbers(text: str) -> set[str]:
    """The numbers that a text names, as they are written."""
    return set(_NUMBER.findall(text))


def content_words(text: str) -> set[str]:
    """The words of a text of four letters and more, in lower case: the shorter ones are in every sentence."""
    return set(re.findall(r"\w{4,}", text.casefold()))


def names_one_of(text: str, answers: Iterable[str]) -> bool:
    """Whether a text holds one of the answers, or a number of one."""
    return any(numbers(text) & numbers(answer) or names(text, answer) for answer in answers)


def names(text: str, phrase: str) -> bool:
    """Whether a text holds a phrase, as whole words and whatever the case."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) is not None


def alter(answer: str, named: str, lots: random.Random) -> str | None:
    """The answer with one value changed to one that `named` does not hold; None if it has no value that can be changed.

    A yes or no that opens an answer becomes the whole answer turned round: its reasons would not fit any more.
    """
    if opening := _YES_OR_NO.match(answer):
        return "No." if opening.group().casefold() == "yes" else "Yes."
    places = list(_NUMBER.finditer(answer)) or [place for words in _LISTS for place in re.finditer(rf"\b(?:{'|'.join(words)})\b", answer)]
    lots.shuffle(places)
    for place in places:
        others = [other for other in _others(place.group(), answer[place.end() :]) if not names(named, other)]
        if others:
            return answer[: place.start()] + lots.choice(others) + answer[place.end() :]
    return None


def _others(value: str, following: str) -> list[str]:
    """Values of the same form: a day stays a day of a month, a time a time of day, a year a year nearby."""
    for words in _LISTS:
        if value in words:
            return [word for word in words if word != value]
    if _MONTH_NEXT.match(following):
        return [str(day) for day in range(1, 29) if str(day) != value]
    if ":" in value:
        hours = value.partition(":")[0]
        return [f"{hours}:{minute:02}" for minute in range(0, 60, 5) if f"{hours}:{minute:02}" != value]
    if re.fullmatch(r"(?:19|20)\d\d", value):
        return [str(int(value) + years) for years in (-3, -2, 2, 3, 4)]
    return [re.sub(r"[1-9]", digit, value, count=1) for digit in "23456789" if digit not in value] if re.search(r"[1-9]", value) else []
