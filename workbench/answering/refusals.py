"""Recognise refusals in the text of an answer, in English and German."""

import itertools
import re
from collections.abc import Iterable

from workbench.chunking.text.sentences import sentences

# Words before the first sentence that says something.
_OPENERS = re.compile(
    r"(?:no|nein|hm+|well|hello|hallo|hi|leider|unfortunately|tut mir leid|entschuldigung|thank you|thanks|(?:i'm |i am |we're )?(?:so |very )?sorry)"
    r"\W*$"
)
_MOST_CHARACTERS = 10_000
_FIXED = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "„": '"'})
# A message of a program that an answer quotes is not the answer's own refusal.
_QUOTED = re.compile(r'"[^"]*"')
# "While the passages do not name X, they name Y" answers.
_CONCESSION = re.compile(r"^(?:while|although|though|even though|obwohl|auch wenn|zwar)\b[^,]*,")
_CONTRAST = re.compile(r"(?:however|but|nevertheless|nonetheless|that said|still|jedoch|allerdings|aber|dennoch|trotzdem)\b")

# Each pattern is one way to refuse. `within(n)` is a gap within a clause.
_SOURCE = (
    r"(?:pages?|passages?|documents?|contexts?|texts?|excerpts?|extracts?|sources?|materials?|sections?|articles?|information|handbook|snippets?|"
    r"provided|here|my set|(?:anything|nothing|what|ones?) (?:that )?i(?:'ve| have| was| can see)?|among (?:mine|what))"
)
_SUPPLY = (
    r"(?:contain|mention|say|describe|state|specify|include|cover|provide|give|come up|appear|deal|explain|address|answer|discuss|show|list|have|"
    r"name|hold|tell|offer|reach|settle|touch|speak|set|help)"
)
_SUPPLIED = (
    r"(?:in|on|among|covered|mentioned|stated|given|described|contained|included|addressed|specified|provided|found|discussed|dealt with|"
    r"answered|explained|listed|shown|part of|available|to be found|something|anything)"
)
_FIND = (
    r"(?:find|see|answer|say|tell|determine|settle|rank|compare|work|name|confirm|judge|help|provide|locate|verify|derive|advise|point|"
    r"assist|comply|discuss)"
)
_UNABLE = r"(?:can(?:no|')t|cannot|can not|couldn't|could not|won't be able to|(?:am|are|'m|'re) (?:unable|not able) to)"
_IS_NOT = r"\b(?:is|are|was|were) ?(?:not|n't)"
_DOES_NOT = r"\b(?:do|does|did|can) ?(?:not|n't)"
_NONE = r"\b(?:nothing|none|neither|nowhere|no \w+)\b"


def _within(length: int) -> str:
    return rf"[^.;:]{{0,{length}}}"


_ENGLISH = (
    rf"\b(?:i|we) ?{_UNABLE} (?:\w+ly )?{_FIND}\b",
    r"\b(?:i|we) (?:do not|don't|did not|didn't) (?:really |actually )?(?:know|see|find)\b",
    r"\b(?:i|we) (?:do not|don't) have (?:\w+ ){0,3}(?:information|details?|access|context|data|answers?|passages?|pages?|documents?|knowledge)\b",
    r"\b(?:i|we) have no (?:\w+ ){0,2}(?:information|details?|data|way of|answers?|knowledge)\b",
    rf"\b{_SOURCE}\b{_within(60)}{_DOES_NOT} (?:\w+ )?{_SUPPLY}\b",
    rf"\b{_SOURCE}\b{_within(60)}{_IS_NOT} (?:\w+ )?{_SUPPLIED}\b",
    rf"{_IS_NOT} (?:\w+ )?{_SUPPLIED}\b{_within(40)}\b{_SOURCE}\b",
    rf"{_DOES_NOT} (?:\w+ )?{_SUPPLY}\b{_within(40)}\b{_SOURCE}\b",
    r"\bcan(?:not|'t) be (?:read|answered|determined|found|settled|inferred|established)\b",
    rf"{_NONE}{_within(60)}\b{_SOURCE}\b{_within(60)}\b(?:{_SUPPLY}s?|about|that|which|describing)\b",
    rf"{_NONE}{_within(60)}\b(?:is|are) {_SUPPLIED}\b{_within(40)}\b{_SOURCE}\b",
    rf"\bno (?:page|passage|document|text|source|section|article)\b{_within(40)}\b{_SUPPLY}s?\b",
    r"\b(?:i|we) (?:have|see|find|found) nothing (?:\w+ )?(?:on|about)\b",
    rf"\b(?:there(?:'s| is| are)|i (?:can )?(?:see|find|have)) (?:nothing|no \w+){_within(60)}\b(?:about|{_SOURCE})\b",
    rf"\b(?:missing from|absent from|missing in|outside)\b{_within(30)}\b{_SOURCE}\b",
    rf"\b{_SOURCE}\b{_within(40)}\b(?:is|are) silent\b",
    r"\b(?:not enough|insufficient|no relevant|no sufficient) (?:information|context|evidence|detail)",
    r"\b(?:it is|it's) not possible to (?:answer|say|tell|determine)\b",
    r"^(?:unknown|not (?:specified|mentioned|stated|given|provided|available|known|found)|no answer|n/a|unbekannt|keine (?:angabe|antwort)|k\. ?a)\.?$",
    r"\b(?:unanswerable|no answer (?:is )?(?:found|given|available|possible))\b",
)
_QUELLE = (
    r"(?:seiten?|passagen?|textstellen?|dokumenten?|kontext|texte?n?|(?:text)?auszügen?|quellen?|unterlagen|abschnitten?|informationen|angaben|"
    r"handbuch|material(?:ien)?)"
)
_KEIN = r"\b(?:nicht|nichts|keine?n?|keinerlei|nirgends|weder)\b"
_BEANTWORTEN = (
    r"\b(?:beantworten|finden|sagen|entnehmen|erkennen|sehen|angeben|nennen|feststellen|ermitteln|helfen|beurteilen|hervor|vergleichen)\b"
)
_GERMAN = (
    rf"\b(?:kann|können|konnten?|lässt sich|lassen sich|geht|gehen)\b{_within(80)}{_KEIN}{_within(60)}(?:{_BEANTWORTEN}|\b{_QUELLE}\b)",
    rf"\b(?:ich|wir) (?:weiß|wissen|finden?|sehen?|habe[n]?)\b{_within(40)}{_KEIN}",
    rf"\b(?:weiß|finde|sehe) ich\b{_within(40)}{_KEIN}",
    rf"\b{_QUELLE}\b{_within(60)}{_KEIN}",
    rf"{_KEIN}{_within(60)}\b{_QUELLE}\b",
    rf"\b{_QUELLE}\b{_within(40)}\bschweigen\b",
)
_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in (*_ENGLISH, *_GERMAN)))


def is_refusal(text: str, phrases: Iterable[str] = ()) -> bool:
    """Return whether an answer refuses, by its first sentence. "Sorry." and "No." are not counted as sentences.

    A text that answers first, and says later what it cannot answer, is no refusal; nor is one that goes on with an answer after a word such as
    "however". One of `phrases` anywhere makes the text a refusal; capitals and the number of blanks do not matter.
    """
    # A refusal is short: reading a text of megabytes would take minutes.
    text = text[:_MOST_CHARACTERS]
    plain = _plain(text)
    if any(_plain(phrase) in plain for phrase in phrases):
        return True
    parts = [_plain(text[start:end]) for start, end in sentences(text)]
    first, *rest = [*itertools.dropwhile(_OPENERS.match, parts)] or [""]
    refuses = _PATTERN.search(_CONCESSION.sub("", _QUOTED.sub('""', first)))
    return bool(refuses) and not any(map(_CONTRAST.match, rest))


def _plain(text: str) -> str:
    return " ".join(text.translate(_FIXED).lower().split())
