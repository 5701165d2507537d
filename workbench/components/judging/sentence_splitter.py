"""The sentences, list items and rows of tables of an answer as claims by rules, cut between coordinated clauses that are statements of their own."""

import itertools
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from workbench.components.answering.base import AnswerResources
from workbench.components.answering.refusals import VERSION as REFUSALS_VERSION
from workbench.components.answering.refusals import is_refusal
from workbench.components.chunking.packing import Slice, trimmed
from workbench.components.chunking.sentences import quotable
from workbench.components.judging.base import AnswerClaims, ClaimSplitter, SplitRequest
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


# Forms that are almost always the finite verb of a clause.
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|did|can|cannot|could|may|might|must|shall|should|will|would|(?:is|are|was|were|do|does|did|has|have|had"
    r"|ca|could|must|should|wo|would)n['’]t)\b",
    re.IGNORECASE,
)
# A subject with its verb in one word.
_CONTRACTED = re.compile(r"\b(?:(?:it|he|she|that|there)['’](?:s|ll)|(?:they|you|we)['’](?:re|ve|ll)|I['’](?:m|ve|ll))\b", re.IGNORECASE)
_VERBS = (
    "accept add affect agree allow answer appear apply approve arrive ask assign assume attend become begin belong bill book bring build buy call"
    " carry change charge check choose close collect come concern confirm consider contain continue convert cost count cover create cut decide"
    " deliver depend describe determine differ drop earn email end ensure enter exceed exclude expect expire explain extend fail fall file find"
    " follow get give go grant grow happen help hold include increase involve issue keep know lapse last lead learn leave let lie list live lose"
    " make match mean meet mention move need notify obtain occur offer open order owe own pass pay permit place post prevent produce promise"
    " provide publish put raise rank reach read receive record reduce refer register reject remain replace report represent require resign resolve"
    " rest restart result return review ring rise rule run say see sell send serve set ship show sign sit start state stay stop store submit"
    " supply support take tell terminate travel treat try turn update use vary wait want warn work write"
)


def _present(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeo":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "x", "ch", "sh", "go")) else "s")


def _past(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeo":
        return verb[:-1] + "ied"
    return verb + ("d" if verb.endswith("e") else "ed")


_IRREGULAR = (
    "became began bought brought came chose cost cut fell found gave got held kept knew led left let lost made meant met paid put read rose ran said"
    " saw sold sent set showed sat stood stayed took told went won wrote"
)
_FORMS = frozenset([*map(_present, _VERBS.split()), *map(_past, _VERBS.split()), *_IRREGULAR.split()])
# After a pronoun or a plural, the plain form of a verb is finite, too.
_PLAIN = re.compile(
    r"\b(?:I|you|we|they|(?!(?:this|its|his|is|was|as|does|has|us|unless)\b)[^\W\d_]{2,}s)(?:\s+(?:[a-z]+ly|only|just|still|then|also))?"
    rf"\s+(?:{'|'.join(_VERBS.split())})\b",
    re.IGNORECASE,
)
_CLAUSE_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# A clause after a conjunction has its own subject.
_SUBJECT = re.compile(
    r"(?:\*|_|`|\")*(?:(?:I|you|we|they|he|she|it|this|that|these|those|there|nobody|everyone|anyone|someone|nothing|both|each|neither|one|the|an?|all"
    r"|any|every|no|its|your|our|their|his|her|my)\b|[A-Z])",
)
# Conditions and reasons belong to what they condition.
_BOUND = re.compile(
    r"(?:if|when|unless|until|because|since|where|which|who|that|whose|as|although|though|while|whether|once)\b", re.IGNORECASE
)
_CUTS = re.compile(r";\s+|,?\s+(?:and|but|whereas)\s+(?:(?:then|so|yet|therefore)\s+)?|,\s+(?:while|yet|so(?!\s+that\b))\s+", re.IGNORECASE)
# What makes the words after it belong to another clause.
_BREAK = re.compile(
    r",|\b(?:which|who|that|whose|if|when|unless|until|because|since|where|while|whether|once|after|before)\b", re.IGNORECASE
)


def clauses(text: str, start: int, end: int) -> list[Slice]:
    """Return the slices of a sentence [start, end) that are statements with a subject and a finite verb, the whole sentence if there is only one.

    A semicolon separates statements, and so does a conjunction between two of them. A part that is no statement stays with the one before it.
    """
    cuts = [match for match in _CUTS.finditer(text, start, end) if not _inside(text[start : match.start()])]
    found: list[Slice] = []
    begin = start
    for match, until in zip(cuts, [*(cut.start() for cut in cuts[1:]), end], strict=False):
        if _is_coordinated(text[begin : match.start()], match.group(), text[match.end() : until]):
            found.append(trimmed(text, begin, match.start()))
            begin = match.end()
    return [*found, trimmed(text, begin, end)]


def _is_coordinated(left: str, conjunction: str, right: str) -> bool:
    if conjunction.lstrip().startswith(";"):
        return is_statement(left) and is_statement(right)
    # The clause before a conjunction must be complete: "until its author and the primary agree" has one subject of two.
    last = _BREAK.split(left)[-1]
    complete = is_statement(left) and (is_statement(last) or not last.strip()) and not _is_condition(left)
    return complete and bool(_SUBJECT.match(right)) and is_statement(_BREAK.split(right)[0])


def is_statement(text: str) -> bool:
    """Check that a text has a finite verb with something before it."""
    if _PLAIN.search(text) or _CONTRACTED.search(text):
        return True
    if match := _FINITE.search(text):
        return bool(text[: match.start()].strip())
    return any(match.group().casefold() in _FORMS for match in itertools.islice(_CLAUSE_WORD.finditer(text), 1, None))


def _is_condition(text: str) -> bool:
    """Check that a text is a subordinate clause without its main clause, such as "If it rains"."""
    return bool(_BOUND.match(text.lstrip())) and "," not in text


def _inside(before: str) -> bool:
    """Check that a place after this text is inside parentheses or quotation marks."""
    return (
        before.count("(") > before.count(")")
        or before.count('"') % 2 == 1
        or before.count("“") > before.count("”")
        or before.count("`") % 2 == 1
    )
