"""Dates and times of day in a text, and the same ones with another month or hour."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_ENGLISH = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
_GERMAN = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"]
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MONTHS = frozenset({*_ENGLISH, *_GERMAN})
_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_DATE = re.compile(rf"(?<![\w.])(?:(?P<day>\d{{1,2}})\.? (?P<month>{_NAMES})|(?P<month_first>{_NAMES}) (?P<day_second>\d{{1,2}}))(?!\w)")
_TIME = re.compile(r"(?<![\w:.])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?![\w:]|\.\d)")
_LATER = (3, 4, 2, 5, 7)


@dataclass(frozen=True, slots=True)
class MomentInText:
    """A day of a year, or a time of day, as it is written in a text."""

    text: str
    others: tuple[str, ...]


def moments_in(text: str) -> Iterator[MomentInText]:
    """Yield dates and then times, each with other moments in the same form."""
    for match in _DATE.finditer(text):
        day, month = int(match["day"] or match["day_second"]), match["month"] or match["month_first"]
        names = _ENGLISH if month in _ENGLISH else _GERMAN
        later = [(names.index(month) + step) % 12 for step in _LATER]
        yield MomentInText(match.group(), tuple(match.group().replace(month, names[place]) for place in later if day <= _DAYS[place]))
    for match in _TIME.finditer(text):
        hours = [(int(match["hour"]) + step) % 24 for step in _LATER]
        yield MomentInText(match.group(), tuple(f"{hour:0{len(match['hour'])}d}:{match['minute']}" for hour in hours))
