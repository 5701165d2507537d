"""Contradictions of an answer: yes for no, another number, another month."""

import random
import re

from workbench.faultbench.statements import NUMBER, names

_YES_OR_NO = re.compile(r"(yes|no)\b(?=\s*(?:[,;:.(]|$))", re.IGNORECASE)
_BELOW_TEN = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_COUNTED = (*_BELOW_TEN, "ten", "eleven", "twelve", "fifteen", "twenty", "thirty", "sixty")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LISTS = (_COUNTED, tuple(word.capitalize() for word in _COUNTED), _MONTHS, _WEEKDAYS)
_MONTH_NEXT = re.compile(rf"\s+(?:{'|'.join(_MONTHS)})\b")


def alter(answer: str, named: str, lots: random.Random) -> str | None:
    """The answer with one value changed to one that `named` does not hold; None if it has no value that can be changed.

    A yes or no that opens an answer becomes the whole answer turned round: its reasons would not fit any more.
    """
    if opening := _YES_OR_NO.match(answer):
        return "No." if opening.group().casefold() == "yes" else "Yes."
    places = list(NUMBER.finditer(answer)) or [place for words in _LISTS for place in re.finditer(rf"\b(?:{'|'.join(words)})\b", answer)]
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
