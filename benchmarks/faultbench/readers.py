"""The bench's readers, which read the labels instead of a model: one is perfect by construction, the others each fail in one way."""

import functools
import random
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from benchmarks.faultbench.cases import CheckedClaim, overlap
from workbench.components.chunking.packing import Slice
from workbench.components.chunking.sentences import sentences
from workbench.components.judging.base import Verdict
from workbench.core.records import Need, Query, Span

# Prose of a readable length, but no heading, table row, list item or code.
_STATEMENT = re.compile(r"[A-Z0-9€][^|#`\n]{28,248}\.")
# 1,090 and 15:30 are one number each. S1, 4th and sha256 are not numbers.
_NUMBER = re.compile(r"(?<![\w.,:])\d+(?:[.,:]\d+)*(?!\w)")
_YES_OR_NO = re.compile(r"(yes|no)\b(?=\s*(?:[,;:.(]|$))", re.IGNORECASE)
# The content words that a statement shares with a question that it is about.
_ABOUT = 3
# The words of an answer of which a half is no answer.
_FEWEST_TO_CUT = 4
_BELOW_TEN = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
_COUNTED = (*_BELOW_TEN, "ten", "eleven", "twelve", "fifteen", "twenty", "thirty", "sixty")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LISTS = (_COUNTED, tuple(word.capitalize() for word in _COUNTED), _MONTHS, _WEEKDAYS)
_MONTH_NEXT = re.compile(rf"\s+(?:{'|'.join(_MONTHS)})\b")

_REFUSALS = (
    "I cannot answer this from the documents I was given.",
    "The documents do not say.",
    "I don't know: the context has no information on this.",
    "Sorry, there is not enough information to answer that question.",
)


@functools.cache
def statements(text: str) -> tuple[Slice, ...]:
    """The sentences of a text, 30 to 250 code points of prose each, in order."""
    return tuple((start, end) for start, end in sentences(text) if _STATEMENT.fullmatch(text[start:end]))


def numbers(text: str) -> set[str]:
    """The numbers in a text, as written."""
    return set(_NUMBER.findall(text))


def content_words(text: str) -> set[str]:
    """The words of a text with at least four letters, in lower case. Shorter ones are in every sentence."""
    return set(re.findall(r"\w{4,}", text.casefold()))


def names_one_of(text: str, answers: Iterable[str]) -> bool:
    """Return True if a text contains one of the answers, or a number from one."""
    return any(numbers(text) & numbers(answer) or names(text, answer) for answer in answers)


def names(text: str, phrase: str) -> bool:
    """Return True if a text contains a phrase as whole words, ignoring case."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text, re.IGNORECASE) is not None


def alter(answer: str, named: str, lots: random.Random) -> str | None:
    """Change one value of the answer to one that is not in `named`. Returns None if no value can be changed.

    If the answer starts with yes or no, the opposite becomes the whole answer, because the reasons no longer fit.
    """
    if opening := _YES_OR_NO.match(answer):
        return "No." if opening.group().casefold() == "yes" else "Yes."
    places = list(_NUMBER.finditer(answer)) or [place for words in _LISTS for place in re.finditer(rf"\b(?:{'|'.join(words)})\b", answer)]
    lots.shuffle(places)
    for place in places:
        others = [value for value in _others(place.group(), answer[place.end() :]) if not names(named, value)]
        if others:
            return answer[: place.start()] + lots.choice(others) + answer[place.end() :]
    return None


def _others(value: str, following: str) -> list[str]:
    """Values of the same form: a day remains a day of a month, a time a time of day, a year a nearby year."""
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


class Reading(NamedTuple):
    """The input of a reader: the query and its needs, the texts of all documents, the context, and whether the question can be answered from it."""

    query: Query
    needs: tuple[Need, ...]
    texts: Mapping[str, str]
    context: tuple[Span, ...]
    complete: bool

    @property
    def evidence(self) -> list[Span]:
        """All alternatives of all needs."""
        return [span for need in self.needs for span in need.alternatives]

    def text(self, *spans: Span) -> str:
        """The text of spans, one line each."""
        return "\n".join(self.texts[span.doc_id][span.start : span.end] for span in spans)

    def random(self, seed: int, why: str) -> random.Random:
        """The reader's random numbers for this query."""
        return random.Random(f"{seed} {why} {self.query.query_id}")


class ReaderReply(NamedTuple):
    """The answer as an observation records it."""

    text: str
    refused: bool
    correct: bool
    relevant: bool
    claims: tuple[CheckedClaim, ...] = ()
    truncated: bool = False


Reader = Callable[[Reading], ReaderReply | None]


def accepted(query: Query) -> list[str]:
    """The correct answers: the expected one and its other wordings."""
    return [text for text in (query.answer, *query.answer_variants) if text]


def read_perfectly(reading: Reading) -> ReaderReply:
    """The expected answer if the query has one and all its evidence is in the context, else a refusal."""
    if reading.query.answerable and reading.complete:
        return _supported(reading.query.answer, correct=True, relevant=True)
    return refuse(reading)


def read_worded(reading: Reading, wording: int) -> ReaderReply | None:
    """Like the perfect reader, but in another accepted wording. None if there are too few."""
    wordings = accepted(reading.query)[1:]
    return _supported(wordings[wording], correct=True, relevant=True) if reading.complete and wording < len(wordings) else None


def refuse(reading: Reading, wording: int = 0) -> ReaderReply:
    """A refusal, regardless of the context."""
    return ReaderReply(_REFUSALS[wording % len(_REFUSALS)], True, not reading.query.answerable, relevant=False)


def contradict(reading: Reading, seed: int, lot: int) -> ReaderReply | None:
    """The expected answer with a value that the question, its answers and its evidence do not contain. None if no value can be changed."""
    named = "\n".join([reading.query.text, *accepted(reading.query), reading.text(*reading.evidence)])
    text = alter(reading.query.answer, named, reading.random(seed, f"contradict {lot}"))
    if text is None:
        return None
    return ReaderReply(text, False, False, True, (CheckedClaim(text, "contradicted" if reading.complete else "absent"),))


def add_unsupported(reading: Reading, seed: int, in_place: bool) -> ReaderReply | None:
    """A statement from a document outside the context, with a number outside it too, after the right answer or instead of it."""
    absent = _absent(reading, seed)
    if absent is None:
        return None
    claim = CheckedClaim(absent, "absent")
    if in_place:
        return ReaderReply(absent, False, False, False, (claim,))
    answer = reading.query.answer
    right = CheckedClaim(answer, "supported" if reading.complete else "absent")
    return ReaderReply(f"{answer.rstrip('.')}. {absent}", False, True, True, (right, claim))


def refuse_and_add(reading: Reading, seed: int, wording: int) -> ReaderReply | None:
    """A refusal that goes on with a statement from a document outside the context, with a number outside it too."""
    absent = _absent(reading, seed)
    if absent is None:
        return None
    return ReaderReply(f"{refuse(reading, wording).text} {absent}", True, False, False, (CheckedClaim(absent, "absent"),))


def say_nothing(_: Reading, text: str) -> ReaderReply:
    """An answer without a word."""
    return ReaderReply(text, False, False, False)


def break_off(reading: Reading, words: int) -> ReaderReply | None:
    """The first words of the nearest statement of the context that does not give the answer, cut off at a token limit, or None."""
    nearest = overlook(reading, 0) or miss_the_point(reading, 0, 0)
    parts = nearest.text.split() if nearest else []
    if len(parts) <= words:
        return None
    text = " ".join(parts[:words])
    return ReaderReply(text, False, False, True, (CheckedClaim(text, "supported"),), truncated=True)


def break_off_answer(reading: Reading, verdict: Verdict) -> ReaderReply | None:
    """The first half of the expected answer, cut off at a token limit: a claim that is not whole, to which a judge can give any verdict."""
    words = reading.query.answer.split()
    text = " ".join(words[: len(words) // 2])
    if len(words) < _FEWEST_TO_CUT or any(names(text, answer) for answer in accepted(reading.query)):
        return None
    return ReaderReply(text, False, False, True, (CheckedClaim(text, verdict),), truncated=True)


def miss_the_point(reading: Reading, seed: int, lot: int) -> ReaderReply | None:
    """A statement from the context that is beside the evidence and has no word of the question, or None."""
    beside = [text for text in _beside(reading) if not content_words(text) & content_words(reading.query.text)]
    return _supported(reading.random(seed, f"miss {lot}").choice(beside), correct=False, relevant=False) if beside else None


def overlook(reading: Reading, near: int) -> ReaderReply | None:
    """The statement from the context that is beside the evidence and shares most words with the question, or the next ones that share some."""
    question = content_words(reading.query.text)
    nearest = sorted(_beside(reading), key=lambda text: -len(question & content_words(text)))
    about = [text for text in nearest if len(question & content_words(text)) >= _ABOUT]
    return _supported(about[near], correct=False, relevant=True) if near < len(about) else None


def answer_in_part(reading: Reading, part: int) -> ReaderReply | None:
    """One of the several pieces of evidence that the question needs, as it is in the context, or None."""
    if len(reading.needs) < 2 or part >= len(reading.needs):
        return None
    whole = [span for span in reading.needs[part].alternatives if any(_inside(span, piece) for piece in reading.context)]
    return _supported(reading.text(whole[0]), correct=False, relevant=True) if whole else None


def unverified(reading: Reading, reader: Reader) -> ReaderReply | None:
    """The reply of a reader whose claims the judge fails to verify."""
    reply = reader(reading)
    return reply and reply._replace(claims=tuple(replace(claim, verdict="") for claim in reply.claims))


def answer_anyway(reading: Reading, near: int) -> ReaderReply | None:
    """For a question without an answer, the statement from the context that shares most words with it, or the next ones."""
    question = content_words(reading.query.text)
    texts = dict.fromkeys(reading.text(span) for span in _in_context(reading))
    nearest = sorted(texts, key=lambda text: -len(question & content_words(text)))
    return _supported(nearest[near], correct=False, relevant=True) if near < len(nearest) else None


def _supported(text: str, *, correct: bool, relevant: bool) -> ReaderReply:
    return ReaderReply(text, False, correct, relevant, (CheckedClaim(text, "supported"),))


def _beside(reading: Reading) -> list[str]:
    """The statements of the context, by rank, that share nothing with the evidence and contain no value of the answer, each once."""
    spans = [span for span in _in_context(reading) if not any(overlap(span, evidence) for evidence in reading.evidence)]
    answers = accepted(reading.query)
    return [text for text in dict.fromkeys(map(reading.text, spans)) if not names_one_of(text, answers)]


def _inside(span: Span, piece: Span) -> bool:
    return span.doc_id == piece.doc_id and piece.start <= span.start and span.end <= piece.end


def _in_context(reading: Reading) -> list[Span]:
    """The statements that are in one piece of the context, by rank."""
    return [
        Span(piece.doc_id, start, end)
        for piece in reading.context
        for start, end in statements(reading.texts[piece.doc_id])
        if piece.start <= start and end <= piece.end
    ]


def _absent(reading: Reading, seed: int) -> str | None:
    delivered = {span.doc_id for span in reading.context}
    elsewhere = [doc_id for doc_id in sorted(reading.texts) if doc_id not in delivered]
    candidates = [reading.texts[doc_id][start:end] for doc_id in elsewhere for start, end in statements(reading.texts[doc_id])]
    known, answers = numbers(reading.text(*reading.context)), accepted(reading.query)
    lots = reading.random(seed, "unsupported")
    lots.shuffle(candidates)
    return next((text for text in candidates if numbers(text) - known and not names_one_of(text, answers)), None)
