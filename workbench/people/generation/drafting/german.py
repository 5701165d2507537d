"""Questions about German statements, made by moving words, so that they stay grammatical."""

import re
from collections.abc import Iterator

from workbench.people.generation.drafting.phrasing import Phrasing
from workbench.people.generation.drafting.statements import Statement

_NUMBER = r"(?:etwa |rund |ungefähr |mindestens |höchstens |maximal |bis zu |nur |genau |über )?(?P<number>\d[\d.,:]*|eine[mnr]?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf|vierzehn|zwanzig|dreißig)"
_UNIT = r"(?:Sekunden?|Minuten?|Stunden?|Tagen?|Tag|Wochen?|Monaten?|Monat|Jahren?|Jahr|Werktagen?|Arbeitstagen?)"
_NO_SUBJECT = frozenset(
    [
        "es",
        "er",
        "sie",
        "dies",
        "dieser",
        "diese",
        "dieses",
        "das",
        "man",
        "wer",
        "was",
        "wenn",
        "falls",
        "weil",
        "da",
        "obwohl",
        "während",
        "nach",
        "vor",
        "bei",
        "mit",
        "in",
        "im",
        "an",
        "am",
        "auf",
        "für",
        "von",
        "zu",
        "zum",
        "zur",
        "aus",
        "über",
        "unter",
        "durch",
        "dabei",
        "dazu",
        "dafür",
        "dann",
        "deshalb",
        "daher",
        "außerdem",
        "jedoch",
        "aber",
        "und",
        "oder",
        "auch",
        "so",
        "hier",
        "dort",
        "bitte",
        "nur",
        "nicht",
        "alle",
        "beide",
        "ohne",
        "um",
        "bis",
        "ab",
        "seit",
        "gegen",
        "zuerst",
        "danach",
        "zudem",
        "ferner",
        "sonst",
    ]
)
_ARTICLES = frozenset(
    [
        "der",
        "die",
        "das",
        "ein",
        "eine",
        "jeder",
        "jede",
        "jedes",
        "kein",
        "keine",
        "alle",
        "unsere",
        "unser",
        "ihre",
        "ihr",
        "mein",
        "meine",
    ]
)
_SUBJECT = r"(?P<subject>[A-ZÄÖÜ][^,;:()?!.„“\"]{1,60}?)"
_VERB = r"(?P<verb>ist|sind|wird|werden|muss|müssen|darf|dürfen|kann|können|soll|sollen|sollte|sollten|öffnet|schließt|beginnt|endet)"
_TIMES = (
    ("Wie oft", rf"(?:alle|jede[nrs]?) (?:{_NUMBER} )?{_UNIT}|(?:ein|zwei|drei|vier)mal (?:im|pro|am) \w+"),
    ("Wie lange", rf"(?:bis zu|höchstens|mindestens|maximal) {_NUMBER} {_UNIT}(?! vor| nach| vorher)"),
    ("Wann", rf"(?:spätestens |frühestens )?(?:innerhalb von |binnen |vor Ablauf von )?{_NUMBER} {_UNIT}(?: vorher| nachher| im Voraus| (?:vor|nach) (?:der|dem|den) \w+)"),
    ("Wann", rf"(?:innerhalb von|binnen|innerhalb|nach|vor) {_NUMBER} {_UNIT}"),
    ("Wann", r"(?:spätestens )?(?:von|ab|bis|um|bis zum|am|zum) \d[\d.:]*(?: bis \d[\d.:]*)?(?: Uhr|\. \w+)"),
)  # fmt: skip


def german_questions(statement: Statement) -> Iterator[Phrasing]:
    """Yield the questions that a statement answers, the most natural first."""
    text = statement.plain.rstrip(".!*_ ")
    heading = statement.headings[-1] if statement.headings else ""
    if statement.first and heading.endswith("?") and len(heading) > 12:
        yield Phrasing(heading, "heading", 0.95)
    for rule in (_amount, _possession, _time, _definition):
        yield from rule(text)


def german_topic(statement: Statement, topic: str) -> str:
    """Return a question about the statement's section and a phrase in it, for a statement that no rule fits."""
    return f"Was steht unter „{statement.headings[-1]}“ zu „{topic}“?"


def _amount(text: str) -> Iterator[Phrasing]:
    """Die Pauschale beträgt 28 Euro → Wie hoch ist die Pauschale?"""
    match = re.match(rf"{_SUBJECT} (?P<verb>beträgt|betragen|kostet|kosten|dauert|dauern) {_NUMBER}\b", text)
    subject = _subject(match["subject"]) if match else ""
    if match and subject:
        asked = {
            "beträgt": "Wie hoch ist",
            "betragen": "Wie hoch sind",
            "kostet": "Wie viel kostet",
            "kosten": "Wie viel kosten",
            "dauert": "Wie lange dauert",
            "dauern": "Wie lange dauern",
        }
        yield Phrasing(f"{asked[match['verb']]} {subject}?", "amount", 0.9)


def _possession(text: str) -> Iterator[Phrasing]:
    """Jede Mitarbeiterin hat im Jahr 30 Tage Urlaub → Wie viele Tage Urlaub hat jede Mitarbeiterin im Jahr?"""
    match = re.match(
        rf"{_SUBJECT} (?P<verb>hat|haben|bekommt|bekommen|erhält|erhalten|umfasst|enthält) (?P<middle>(?:[\wäöüß]+ ){{0,3}}?){_NUMBER} (?P<unit>[A-ZÄÖÜ]\w+(?: [A-ZÄÖÜ]\w+)?)",
        text,
    )
    subject = _subject(match["subject"]) if match else ""
    if match and subject and not match["number"].startswith("eine"):
        middle = f" {match['middle'].strip()}" if match["middle"].strip() else ""
        yield Phrasing(f"Wie viele {match['unit']} {match['verb']} {subject}{middle}?", "amount", 0.9)


def _time(text: str) -> Iterator[Phrasing]:
    """Anträge müssen zwei Wochen vorher gestellt werden → Wann müssen Anträge gestellt werden?"""
    match = re.match(rf"{_SUBJECT} {_VERB} (?P<rest>(?:[^,;:()]|(?<=\d)[:,](?=\d))+)", text)
    subject = _subject(match["subject"]) if match else ""
    if not match or not subject:
        return
    for word, time in _TIMES:
        if found := re.search(rf"(?:^|(?<=\s)){time}\b", match["rest"]):
            rest = " ".join((match["rest"][: found.start()] + match["rest"][found.end() :]).split())
            if not re.search(r"\b(?:und|oder|von|bis|nach|vor|in)$", rest):
                yield Phrasing(f"{word} {match['verb']} {subject}{f' {rest}' if rest else ''}?", "condition", 0.85)
            return


def _definition(text: str) -> Iterator[Phrasing]:
    """Eine Dienstreise ist eine Reise, die … → Was ist eine Dienstreise?"""
    match = re.match(rf"{_SUBJECT} (?P<verb>ist|sind) (?:ein|eine|der|die|das)\b.{{20,}}", text)
    subject = _subject(match["subject"]) if match else ""
    if match and subject and len(subject.split()) <= 5:
        yield Phrasing(f"Was {match['verb']} {subject}?", "definition", 0.8)


def _subject(text: str) -> str:
    """Return a subject inside of a sentence, or an empty text if it is no subject that stands alone."""
    parts = text.split()
    first = parts[0].lower()
    lone = len(parts) == 1 and first in ("wir", "ich")
    if lone:
        return first
    if (first in _NO_SUBJECT and not (first in ("das", "alle") and len(parts) > 1)) or len(parts) > 8:
        return ""
    return text[0].lower() + text[1:] if first in _ARTICLES else text
