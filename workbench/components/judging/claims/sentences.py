"""Claims by rules: sentences, list items and rows of tables, cut between coordinated clauses."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from workbench.components.answering.base import AnswerResources
from workbench.components.answering.quotations import quotable
from workbench.components.answering.refusals import VERSION as REFUSALS_VERSION
from workbench.components.answering.refusals import is_refusal
from workbench.components.chunking.text.packing import Slice, trimmed
from workbench.components.judging.claims.base import AnswerClaims, ClaimSplitter, SplitRequest
from workbench.components.judging.claims.clauses import clauses, is_statement
from workbench.core.records import Claim

# Longer answers are those of a program gone wrong.
_MOST_CHARACTERS = 100_000
_FENCE = re.compile(r"^[^\S\n]*(```|~~~)[^\n]*\n(.*?)(?:^[^\S\n]*\1[^\S\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARKER = re.compile(r"(?:[-*+•]|\d+[.)])[^\S\n]+(?:\[[ xX]\][^\S\n]+)?|>[^\S\n]?")
# The number of an item, where the sentence begins after it.
_NUMBER = re.compile(r"\d+[.)]")
_CITATION = re.compile(r"\s*\[\s*(?:passages?\s+)?\d{1,4}(?:\s*(?:[,;–—-]|and|&)\s*\d{1,4})*\s*\](?!\()", re.IGNORECASE)
_RULE = re.compile(r"\|?[\s|:-]*-[\s|:-]*\|?")
# Words that state nothing alone: they are read with the sentence after them.
_OPENER = re.compile(
    r"(?:yes|no|not yet|not quite|not always|not exactly|not necessarily|neither|both|either|sorry|ja|nein|correct|right|true|false)\W*",
    re.IGNORECASE,
)
_META = re.compile(
    r"(?:see|cf\.?|source|sources|reference|references|citation|citations|siehe)\b[\s:]*(?:(?:also|passages?|pages?|sections?|and|,|;|\d+)\s*)*\W*$"
    r"|(?:i\s+)?hope\s+(?:this|that)\s+helps|let\s+me\s+know|feel\s+free\s+to|here\s+(?:is|are)\b[^.]*:$|(?:sure|certainly|of course|thanks|thank you)\b\W*$"
    r"|(?:i['’]m|i am)\s+(?:sorry|afraid)\b\W*$",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")


class SentenceSplitter(ClaimSplitter):
    """Sentences, list items and table rows as claims, each cut between coordinated clauses with a subject and a verb of their own.

    Headings, questions, references, and sentences that say only what the answer cannot say are no claims. The text of a claim is that of
    the answer without citations. Code in a fence is one claim.
    """

    kind: Literal["sentences"] = "sentences"

    def identity(self) -> Any:
        """Return everything that determines the claims besides question and answer: also the version of the detector of refusals."""
        return {**super().identity(), "refusals": REFUSALS_VERSION}

    def split(self, requests: Sequence[SplitRequest], resources: AnswerResources) -> Iterator[tuple[int, AnswerClaims]]:
        """Yield the claims of the answers in the order of the requests. Nothing fails."""
        for place, request in enumerate(requests):
            yield place, AnswerClaims(tuple(claims(request.answer, request.question)))


def claims(answer: str, question: str = "") -> Iterator[Claim]:
    """Yield the claims of an answer in its order. Its question helps to tell refusals from claims."""
    for start, end in _units(answer[:_MOST_CHARACTERS], question):
        text = _CITATION.sub("", answer[start:end]).strip()
        yield Claim(text, start, end)


def _units(answer: str, question: str) -> Iterator[Slice]:
    prose = 0
    for match in _FENCE.finditer(answer):
        yield from _prose(answer, prose, match.start(), question)
        if _WORD.search(match[2]):
            yield trimmed(answer, match.start(2), match.end(2))
        prose = match.end()
    yield from _prose(answer, prose, len(answer), question)


def _prose(answer: str, first: int, last: int, question: str) -> Iterator[Slice]:
    """Yield the statements of [first, last), without fences."""
    text = answer[first:last]
    opened: Slice | None = None
    units = [_bare(text, *unit) for unit in quotable(text)]
    for number, (start, end) in enumerate(units):
        following = text[slice(*units[number + 1])] if number + 1 < len(units) else answer[last:].strip()
        if not _says_something(text, start, end, following):
            continue
        if following and _OPENER.fullmatch(text[start:end]):
            opened = (start, end)
            continue
        parts = [part for part in clauses(text, start, end) if not is_refusal(text[slice(*part)], question=question)]
        if not parts:
            continue
        if opened:
            parts[0], opened = (opened[0], parts[0][1]), None
        yield from ((first + low, first + high) for low, high in parts if _WORD.search(text[low:high]))


def _bare(text: str, start: int, end: int) -> Slice:
    """Return the slice without the mark of a list item, and without citations after its last word."""
    if marker := _MARKER.match(text, start, end):
        start = marker.end()
    return trimmed(text, start, end)


def _says_something(text: str, start: int, end: int, following: str) -> bool:
    unit = _CITATION.sub("", text[start:end]).strip()
    if not _WORD.search(unit) or unit.endswith("?") or _META.match(unit) or (following and _NUMBER.fullmatch(unit)):
        return False
    if unit.startswith("|"):
        # The header of a table says nothing without its rows.
        return not _RULE.fullmatch(text[end:].lstrip("\n").split("\n", 1)[0].strip() or "x")
    return not (unit.endswith(":") and following and not is_statement(unit))
