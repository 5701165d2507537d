"""Cut a sentence between coordinated clauses that are statements of their own."""

import itertools
import re

from workbench.components.chunking.text.packing import Slice, trimmed

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
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
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
    return any(match.group().casefold() in _FORMS for match in itertools.islice(_WORD.finditer(text), 1, None))


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
