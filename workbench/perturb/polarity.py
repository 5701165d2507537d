"""Statements that a rule can turn into their opposite."""

import re

_NEGATED = re.compile(
    r"\b(?P<verb>is|are|was|were|may|must|can|will|should|does|do|did|has|have|need)(?P<gap> not|n't)\b|\b(?P<cannot>cannot)\b", re.I
)
_PLAIN = re.compile(r"\b(?P<verb>is|are|was|were|may|must|can|will|should)\b", re.I)
# A second negation, an exception or a condition would not turn with the verb.
_OTHERWISE = re.compile(r"\b(no|not|nothing|nobody|none|never|without|only|unless|except|if)\b|n't\b", re.I)
_YES, _NO = frozenset({"yes", "ja"}), frozenset({"no", "nein"})
_FIRST_WORD = re.compile(r"\W*([^\W\d_]+)")


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
