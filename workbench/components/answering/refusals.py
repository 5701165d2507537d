"""Recognise refusals in the text of an answer: in English, German, French, Spanish, Portuguese, Italian and Dutch."""

import functools
import itertools
import re
from collections.abc import Iterable
from typing import NamedTuple

from workbench.components.answering.refusal_patterns import dutch, english, german, romance
from workbench.components.answering.refusal_patterns.clauses import CONTEXT, READ
from workbench.components.chunking.sentences import sentences
from workbench.llm.replies.answers import json_reply

# Part of the keys of results that depend on it. Raise it when equal answers begin to be refusals, or cease to.
VERSION = 5

# Words before the first sentence, or its first clause, that says something.
_NO = r"(?:no|nope|nein|non|não|nee)"
_OPENING = (
    rf"(?:{_NO}|hm+|well|ok|okay|hello|hallo|hi|leider|unfortunately|regrettably|tut mir leid|entschuldigung|thank you|thanks|sadly|honestly|"
    r"(?:i'm |i am |we're )?(?:so |very )?(?:sorry|afraid)(?: that)?|i apologi[sz]e(?: for the \w+)?|désolée?|malheureusement|lo siento|lamentablemente|"
    r"desculpe|infelizmente|mi dispiace|purtroppo|spijt me|helaas)"
)
_OPENERS = re.compile(rf"{_OPENING}\W*$")
_OPENED = re.compile(
    rf"^(?:{_OPENING}(?:(?:\s*[,;:!–—-]\s*)+(?:but |aber |mais |pero |mas |ma |maar )?|\s+(?=(?:i|we|this|that|the|there|it|none) )))+"
    r"|^(?:leider|unfortunately|regrettably|sadly|honestly|malheureusement|lamentablemente|infelizmente|purtroppo|helaas)\s+"
)
_DENIED = re.compile(rf"^{_NO}\b\s*,")
_MOST_CHARACTERS = 10_000
_FIXED = str.maketrans({"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "„": '"', "*": None})
# Quotation marks around a whole answer.
_UNQUOTED = re.compile(r"""^\s*["“„«']([^"“”„«»]+)["”“»']\s*$""")
# A heading that says only that the answer follows, or the mark of any other.
_HEADING = re.compile(
    r"\s*(?:#{1,6}[^\S\n]+)?(?:\*\*|__)?(?:(?:final|short|endgültige|kurze)\s+)?(?:answer|response|antwort|réponse|respuesta|resposta|risposta|antwoord)"
    r":?(?:\*\*|__)?:?[^\S\n]*\n(?:[=-]{3,}[^\S\n]*\n)?\s*|\s*#{1,6}[^\S\n]+",
    re.IGNORECASE,
)
# Where an answer in JSON has its text.
_ANSWERS = ("answer", "final_answer", "final", "response", "output", "result", "text", "content")
# A message of a program that an answer quotes is not the answer's own refusal.
_QUOTED = re.compile(r'"[^"]*"')
_CITED = re.compile(r"\s*\[[\d,; ]+\]")
# "While the passages do not name X, they name Y" answers.
_CONCESSION = re.compile(r"^(?:while|although|though|even though|obwohl|auch wenn|zwar)\b[^,]*,")
_ACCORDING = re.compile(
    r"^(?:(?:answer|response|antwort|réponse|respuesta|resposta|risposta|antwoord)\s*:\s*|(?:based on|according to|from|given|in|laut|selon|d'après|según|segundo|"
    r"secondo|volgens) [^,:]*[,:]\s*)"
)
# A condition states no fact: "if the contract does not say otherwise, 30 days".
_CONDITION = re.compile(
    r"(?:^(?:when|whenever|until|once|falls)|\b(?:if|unless|whose|wenn|sofern|soweit|solange|si (?:le|la|les|el|los|las|no|un|une)|se (?:o|a|os|as|il|la|lo|i|le|non|não)|als "
    r"(?:de|het|u|een)))\b[^,;]*(?:,|$)"
)
_CONTRAST = re.compile(r"(?:however|but|nevertheless|nonetheless|that said|still|jedoch|allerdings|aber|dennoch|trotzdem)\b")
# What goes on in the same sentence: "the passages do not say who pays, but the company pays for a taxi".
_GOES_ON = re.compile(
    r"(?:,|;|\s[–—-])\s*(?:but|however|though|yet|aber|jedoch|allerdings|doch|mais|cependant|pero|sin embargo|mas|porém|ma|però|tuttavia|maar|echter)\b,?\s*(?P<more>.+)$"
)
# "I find no rule; the garage is for staff". What the sources are about, and where to ask, is no answer: "I find no rule; they are about travel".
_NEXT = re.compile(
    r";(?!\s*(?:they|these|those|this|that|it|ask|see|try|check|contact|look|refer|sie|diese|frag\w*|siehe|prüf\w*|ils|elles|ceux|celles|ces|voir|demande\w*|"
    r"ellos|ellas|est[oea]s?|vea|pregunt\w*|eles|elas|ess[ea]s?|veja|pergunt\w*|essi|esse|quest[ie]|vedi|chied\w*|ze|deze|vraag|zie)\b)\s*(?P<more>.+)$"
)
# It answers nothing if it refers to other sources, offers help, asks, or guesses what others contain.
_REFERS = re.compile(
    r"\b(?:please|you|your|let me|let us|feel free|may|might|could|perhaps|possibly|bitte|sie|dir|du|gerne|vielleicht|könnte|veuillez|vous|votre|n'hésitez|peut-être|"
    r"puede[ns]?|consult[ea]r?|usted|quizás|pode|você|consulte|talvez|può|puoi|potrebbe|contatt\w+|forse|u|je|kunt|neem|misschien)\b|\?$"
    r"|\bi (?:can|could|would|will|am happy|'d)\b|\b(?:other|another|further|more) (?:sources?|documents?|information|details|context)\b"
)
_INTERROGATIVE = re.compile(
    r"\b(?:who|whom|whose|what|when|where|which|why|how|wer|wem|wen|was|wann|wo|welche[rsnm]?|warum|wieso|wie|qui|que|quoi|quand|où|quel(?:le)?s?|pourquoi|"
    r"comment|combien|quién|qué|cuándo|dónde|cuál(?:es)?|cómo|cuánt[oa]s?|quem|quando|onde|qual|quais|como|quant[oaie]s?|chi|che|cosa|dove|quale|come|perché|"
    r"wie|wat|wanneer|waar|welke?|waarom|hoe|hoeveel)\b"
)
_SPEAKER = re.compile(r"\b(?:i|we|ich|wir|je|nous|ik|wij)\b")
# A question about a text: it begins with an auxiliary and a participle, or names the text.
_ABOUT_TEXT = re.compile(
    r"^(?:is|are|was|were|wird|werden|wurde|ist|sind|est-ce|sont|est|están?|são|è|viene|wordt|worden|is|zijn|se)\b|\b(?:report|article|paper|book|guide|manual|handbook|"
    r"policy|letter|minutes|contract|document|text|page|section|passage|leaflet|brochure|memo|email|bericht|artikel|buch|handbuch|vertrag|dokument|seite|"
    r"texte|rapport|article|livre|guide|manuel|contrat|informe|artículo|libro|guía|documento|relatório|artigo|livro|guia|rapporto|articolo|libro|guida|testo|"
    r"boek|gids|tekst|abstract|they|it|sie|er|es|il|elle)\b"
)
# What a question about a text asks of it, by the beginnings of words.
_ASKED = re.compile(
    r"\b(?:mention|menzion|mencion|discuss|specif|spezif|spécif|address|stat(?=e[ds]?\b)|describ|explain|name|nenn|genannt|erwähn|behandel|besprech|besprok|"
    r"indiqu|indic|précis|abord|vermeld|noem|genoemd|say|said|sag|dit|dice|diz)"
)


def is_refusal(text: str, phrases: Iterable[str] = (), question: str = "") -> bool:
    """Check whether an answer refuses, by its first sentence. "Sorry." and "No." are not counted as sentences.

    A text that answers first, and says later what it cannot answer, is no refusal; nor is one that goes on with an answer after a word such as
    "but" or "however". One of `phrases` anywhere makes the text a refusal; capitals and the number of blanks do not matter. A question of yes or no
    decides two cases: "not available" answers it, and "the report does not mention it" answers whether the report does.
    """
    # A refusal is short: reading a text of megabytes would take minutes.
    text = _UNQUOTED.sub(r"\1", _said(text[:_MOST_CHARACTERS]))
    plain = _plain(text)
    if any(_plain(phrase) in plain for phrase in phrases):
        return True
    parts = [_plain(text[start:end]) for start, end in sentences(text)]
    first, *rest = [*itertools.dropwhile(_OPENERS.match, parts)] or [""]
    return _refuses(first, _plain(question)) and not any(map(_CONTRAST.match, rest)) and not _goes_on(first)


def _said(text: str) -> str:
    """Return the text of an answer in JSON, or an answer without the heading before it."""
    fields = json_reply(text) or {}
    said = next((fields[name] for name in _ANSWERS if isinstance(fields.get(name), str)), text)
    found = _HEADING.match(said)
    return said[found.end() :] if found else said


def _goes_on(sentence: str) -> bool:
    """Check whether a sentence that refuses goes on with an answer after a word such as "but"."""
    said = _OPENED.sub("", sentence)
    found = _GOES_ON.search(said) or _NEXT.search(said)
    if found is None or not _refuses(said[: found.start()], ""):
        return False
    about_sources = found.re is _NEXT and any(
        CONTEXT in said or READ in said for said in (each.with_sources(found["more"]) for each in _languages())
    )
    return not about_sources and not _REFERS.search(found["more"]) and not _refuses(found["more"], "")


def _refuses(sentence: str, question: str) -> bool:
    polar = question.endswith("?") and not _INTERROGATIVE.search(" ".join(question.split()[:3]))
    said = _CONCESSION.sub("", _CITED.sub("", _QUOTED.sub('""', sentence)))
    clause = _CONDITION.sub("if", _OPENED.sub("", said)).strip(" .!?…,;:-–—()")
    clear, bare = _found(clause)
    if not clear:
        clear, bare = _found(_ACCORDING.sub("", clause))
    if bare:
        return not polar and not _DENIED.match(sentence)
    asked = {word[:5] for word in _ASKED.findall(question)} if polar and _ABOUT_TEXT.search(question) else set()
    return clear and not (asked & {word[:5] for word in _ASKED.findall(clause)} and not _SPEAKER.search(clause))


def _found(clause: str) -> tuple[bool, bool]:
    """Test a clause for a refusal, and for one by a bare pattern."""
    spoken = [(language, language.with_sources(clause)) for language in _languages() if language.words.search(clause)]
    bare = any(pattern.search(said) for language, said in spoken for pattern in language.bare)
    return bare or any(pattern.search(said) for language, said in spoken for pattern in language.clear), bare


class _Language(NamedTuple):
    """The compiled patterns of a language, which are slow and only tried on a clause with one of its `words`."""

    words: re.Pattern[str]
    sources: tuple[tuple[str, re.Pattern[str]], ...]
    clear: tuple[re.Pattern[str], ...]
    bare: tuple[re.Pattern[str], ...]

    def with_sources(self, clause: str) -> str:
        """Replace the nouns of sources by the word of their kind."""
        for word, nouns in self.sources:
            clause = nouns.sub(word, clause)
        return clause


@functools.cache
def _languages() -> tuple[_Language, ...]:
    return tuple(
        _Language(
            re.compile(language.WORDS),
            tuple((word, re.compile(rf"\b(?:{nouns})\b")) for word, nouns in language.SOURCES.items()),
            tuple(map(re.compile, language.CLEAR)),
            tuple(map(re.compile, language.BARE)),
        )
        for language in (english, german, romance, dutch)
    )


def _plain(text: str) -> str:
    return " ".join(text.translate(_FIXED).lower().split())
