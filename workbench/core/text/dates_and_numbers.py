"""Dates, times, numbers, and yes or no in a text, and other values in the same form."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from workbench.core.text.formatting import ordinal

_ENGLISH = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
_GERMAN = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"]
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
MONTHS = frozenset({*_ENGLISH, *_GERMAN})
_NAMES = "|".join(sorted(MONTHS, key=len, reverse=True))
_DATE = re.compile(rf"(?<![\w.])(?:(?P<day>\d{{1,2}})\.? (?P<month>{_NAMES})|(?P<month_first>{_NAMES}) (?P<day_second>\d{{1,2}}))(?!\w)")
_TIME = re.compile(r"(?<![\w:.])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?![\w:]|\.\d)")
_LATER = (3, 4, 2, 5, 7)

_UNITS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
WORDS = {word: Decimal(value) for value, word in enumerate(_UNITS.split())} | {
    word: Decimal(10 * (place + 2)) for place, word in enumerate(_TENS.split())
}
_WORD_OF = {value: word for word, value in WORDS.items()}
# Not a part of an identifier (S1, C-2), of a version (1.5.9), of a time (15:30) or of a telephone number (+353 91 555).
_NUMBER = re.compile(
    rf"(?<![\w.,:+/-])(?<!\d )(?:(?P<digits>\d{{1,3}}(?:,\d{{3}})+|\d+)(?P<fraction>\.\d+)?(?P<ordinal>st|nd|rd|th)?(?![\w:/]|[.,]\d|-\d| \d)"
    rf"|(?P<word>(?i:{'|'.join(WORDS)}))(?![\w-]))"
)
_CURRENCY = re.compile(r"[€$£]\s?$")
_UNIT = re.compile(r"[ \u00a0-]?(%|[^\W\d_]+)")

_NEGATED = re.compile(
    r"\b(?P<verb>is|are|was|were|may|must|can|will|should|does|do|did|has|have|need)(?P<gap> not|n't)\b|\b(?P<cannot>cannot)\b", re.I
)
_PLAIN = re.compile(r"\b(?P<verb>is|are|was|were|may|must|can|will|should)\b", re.I)
# A second negation, an exception or a condition would not turn with the verb.
_OTHERWISE = re.compile(r"\b(no|not|nothing|nobody|none|never|without|only|unless|except|if)\b|n't\b", re.I)
_YES, _NO = frozenset({"yes", "ja"}), frozenset({"no", "nein"})
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)")


def moments_in(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield dates and then times as written in a text, each with other moments in the same form."""
    for match in _DATE.finditer(text):
        day, month = int(match["day"] or match["day_second"]), match["month"] or match["month_first"]
        names = _ENGLISH if month in _ENGLISH else _GERMAN
        later = [(names.index(month) + step) % 12 for step in _LATER]
        yield match.group(), tuple(match.group().replace(month, names[index]) for index in later if day <= _DAYS[index])
    for match in _TIME.finditer(text):
        hours = [(int(match["hour"]) + step) % 24 for step in _LATER]
        yield match.group(), tuple(f"{hour:0{len(match['hour'])}d}:{match['minute']}" for hour in hours)


@dataclass(frozen=True, slots=True)
class NumberInText:
    """A number at [start, end) of a text. `unit` is the currency before it, else the word or sign after it, in lower case and singular."""

    start: int
    end: int
    text: str
    value: Decimal
    unit: str

    @property
    def others(self) -> list[Decimal]:
        """Return other values of the same form, the most plausible first: a year near it, else half as much again, double, half, triple."""
        whole = "." not in self.text
        if whole and 1900 <= self.value <= 2100 and "," not in self.text and not self.unit:
            return [self.value + step for step in (-2, 2, -3, 3)]
        found = [self.value * Decimal(factor) for factor in ("1.5", "2", "0.5", "3", "4", "5")]
        return [value.to_integral(ROUND_CEILING) for value in found if value > 1] if whole else found

    def rewritten(self, value: Decimal) -> str:
        """Return another value in the form of this number: in a word, with separators of thousands, decimals or an ordinal's ending."""
        if self.text.casefold() in WORDS and value in _WORD_OF:
            word = _WORD_OF[value]
            return word.capitalize() if self.text[0].isupper() else word
        decimals = max(-int(self.value.as_tuple().exponent), 0) if "." in self.text else 0
        digits = f"{value:{',' if ',' in self.text else ''}.{decimals}f}"
        return digits + (
            ordinal(int(value)).removeprefix(str(int(value)))
            if self.text[-2:] in ("st", "nd", "rd", "th") and self.text[0].isdigit()
            else ""
        )


def numbers_in(text: str) -> Iterator[NumberInText]:
    """Yield the numbers of a text in order."""
    for match in _NUMBER.finditer(text):
        value = WORDS[match["word"].casefold()] if match["word"] else Decimal(match["digits"].replace(",", "") + (match["fraction"] or ""))
        yield NumberInText(match.start(), match.end(), match.group(), value, _unit(text, match.start(), match.end()))


def without_moments(text: str) -> str:
    """Return a text with a blank in place of its dates and times."""
    for moment, _ in moments_in(text):
        text = text.replace(moment, " ")
    return text


def _unit(text: str, start: int, end: int) -> str:
    if before := _CURRENCY.search(text[:start]):
        return before.group()[0]
    after = _UNIT.match(text, end)
    return after[1].casefold().removesuffix("s") if after else ""


def polarity(answer: str) -> str:
    """Return `yes` or `no` if an answer begins with it, in English or German, else an empty text."""
    first = _FIRST_WORD.match(answer)
    word = first[1].casefold() if first else ""
    return "yes" if word in _YES else "no" if word in _NO else ""


def opposite(statement: str) -> str:
    """Return a statement without its only negation, or with its only verb of a known kind negated; empty if there are several or none."""
    negated, plain = list(_NEGATED.finditer(statement)), list(_PLAIN.finditer(statement))
    if len(negated) == 1:
        match = negated[0]
        return statement[: match.start()] + (match["verb"] or match["cannot"][:3]) + statement[match.end() :]
    if len(plain) != 1 or _OTHERWISE.search(statement):
        return ""
    return f"{statement[: plain[0].end()]} not{statement[plain[0].end() :]}"
