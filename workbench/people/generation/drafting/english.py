"""Questions about English statements, made by moving words, so that they stay grammatical."""

import re
from collections.abc import Iterator
from dataclasses import replace

from workbench.people.generation.drafting.english_words import IMPERATIVES, NO_SUBJECT, QUESTION_WORDS, VERBS
from workbench.people.generation.drafting.phrasing import Phrasing
from workbench.people.generation.drafting.statements import Statement

_NUMBER = r"(?:about |around |at least |at most |up to |only |exactly |nearly |almost |over |more than |less than )?(?P<number>(?:[€$£]\s?)?\d[\d.,:]*|a dozen|half|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|ninety)"
_SUBJECT = r"(?P<subject>[A-Z0-9][^,;:()?!.“”\"]{1,70}?)"
_BE = r"(?P<be>is|are|was|were)"
_MODAL = r"(?P<modal>must|should|can|cannot|may|will|have to|has to|need to|needs to)"
_CUES = (
    ("How soon", r"(?:within|in less than) (?=(?:the first |at most |about )?(?:\d+|a|an|one|two|three|four|five|six|seven|ten|twelve) (?:working |business |calendar )?(?:second|minute|hour|day|week|month|year))"),
    ("When", r"(?:after|before|until|no later than|as soon as|when|whenever|if|unless|only if|only when) (?!it\b(?!\w* )|them\b|that\b|which\b|so\b)"),
    ("When", r"(?:by|from|at|on|in) (?=\d{4}\b|\d{1,2}[:.]\d\d\b|\d{1,2} (?:am|pm|January|February|March|April|May|June|July|August|September|October|November|December)\b|noon|midnight|the (?:end|start|beginning) of (?:the |each |every )?(?:\w+ )?(?:day|week|month|quarter|year|season|term|shift)\b|(?:early |late )?(?:January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)|(?:spring|summer|autumn|winter)\b)"),
    ("How often", r"(?:once|twice|every|each) (?=a |an |\d|two|three|four|six|day|week|month|year|quarter|other)"),
    ("How long", r"(?:for (?:up to |at least |at most )?|at least |at most |up to )(?=(?:\d+|a|one|two|three|four|five|six|ten|twelve) (?:working |business |calendar )?(?:second|minute|hour|day|week|month|year))"),
    ("Why", r"(?:because|so that|in order to)\b"),
    ("How", r"(?:by (?=\w+ing\b|card|e-?mail|phone|post|hand|law\b)|with (?=(?:the|an?) (?:\S+ ){0,2}(?:options?|flags?|switch|command|keys?|tool|button|form|card|parameter|argument|setting|script)\b)|through|via|using)\b"),
)  # fmt: skip
# What cannot be before the part that is cut off: another clause, a negation, or a word that needs another.
_UNFINISHED = re.compile(
    r"[,;:()]|\b(?:not|no|never|it|they|them|that|which|who|whom|here|there|so)\b|\bbe (?:any|all|the)\b|\b(?:and|or|than|as|to|be|of|the|a|an|its|against|for|with|in|on|by|from|at|into|about|only|again|even|probably|just|soon|shortly|both|either|present|up|out|accordance|order|addition|comparison|\d+|(?:second|minute|hour|day|week|month|year)s?)$|\b(?:is|are|was|were|must|may|can|will)\b"
)
_TIME = r"(?:[a-z]+ )?(?:to \d[\d.,]* )?(?:ms|µs|s|seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b"
_OWN = (("your", "my"), ("yours", "mine"), ("yourself", "myself"), ("you", "I"))


# Words that join a sentence to the one before it, which a question does without.
_JOINING = re.compile(r" (?:also|still|therefore|thus|hence|now|then|however|instead|furthermore|moreover|here)(?= )", re.IGNORECASE)
# What something is said to be, but not what it is.
_NO_DEFINITION = re.compile(
    r"(?:a (?:little|bit|lot|few|good|bad|great|simple|common|popular)|the (?:default|same|case|only|reason|result|popular|usual|best|worst|most))\b"
)

# Two or three words with capitals, such as `Restart Markers`, are a thing as often as an instruction.
_NAMES_A_THING = re.compile(r"[A-Z]\w+(?: [A-Z]\w+){1,2}")
# With an article. `Opening hours` are a thing.
_GERUND = re.compile(r"(?P<gerund>[A-Z][a-z]+ing) (?P<rest>(?:an?|the|your|all|several|multiple) [^:;?!]+)$")
# Words of degree, which a question does without.
_DEGREE = re.compile(r" (?:only|simply|really|actively|just|merely)(?= )")


def english_questions(statement: Statement) -> Iterator[Phrasing]:
    """Yield the questions that a statement answers, the most natural first."""
    text = _JOINING.sub("", statement.plain.rstrip(".!*_ "))
    heading = statement.headings[-1] if statement.headings else ""
    if statement.first:
        yield from _of_heading(heading)
    for rule in (_amount, _modal, _passive, _definition, _possession, _verb):
        for phrasing in rule(text, statement.common):
            yield replace(phrasing, question=_DEGREE.sub("", phrasing.question))


def english_topic(statement: Statement, topic: str) -> str:
    """Return a question about the statement's section and a phrase in it, for a statement that no rule fits."""
    return f"What is said about {topic} under “{statement.headings[-1]}”?"


def _of_heading(heading: str) -> Iterator[Phrasing]:
    """Ask what a heading asks: a question as it is, an instruction as how to do it."""
    first = heading.split(" ")[0]
    if heading.endswith("?") and first.lower() in QUESTION_WORDS and not re.match(r"(?:What|How) about\b", heading, re.IGNORECASE):
        yield Phrasing(heading, "heading", 0.95)
    elif (
        first.lower() in IMPERATIVES
        and first[0].isupper()
        and 2 <= len(heading.split()) <= 9
        and not re.search(r"[:;]|^\w+ (?:of|in|to|and|or|is|for)\b", heading)
        and not _NAMES_A_THING.fullmatch(heading)
    ):
        yield Phrasing(f"How do I {_mine(_lower(heading))}?", "instruction", 0.7)
    elif (match := _GERUND.match(heading)) and (verb := _verb_of(match["gerund"].lower())) and len(heading.split()) <= 9:
        yield Phrasing(f"How do I {verb} {_mine(match['rest'])}?", "instruction", 0.7)
    elif re.fullmatch(r"(?:How to|When to|Where to|What to) .{8,80}", heading):
        word, _, rest = heading.partition(" to ")
        yield Phrasing(f"{word} {'do I' if word == 'How' else 'should I'} {_mine(rest)}?", "instruction", 0.8)


def _verb_of(gerund: str) -> str:
    """Return the verb of a gerund, `create` of `creating` and `run` of `running`, if instructions begin with it."""
    stem = gerund.removesuffix("ing")
    return next((verb for verb in (stem, f"{stem}e", stem[:-1] if stem[-2:-1] == stem[-1:] else "") if verb in IMPERATIVES), "")


def _amount(text: str, common: bool) -> Iterator[Phrasing]:
    """The deposit is 80 euros → How much is the deposit?  A repair takes two days → How long does a repair take?"""
    if match := re.match(rf"{_SUBJECT} {_BE} (?:set to |limited to )?{_NUMBER}\b(?P<unit>.{{0,40}})", text):
        subject, be = _subject(match["subject"], common), match["be"]
        if subject:
            money = re.match(r"\s?(?:euros?|dollars?|pounds?|EUR|USD|GBP|€|\$|£)", match["unit"]) or match["number"][0] in "€$£"
            yield Phrasing(f"{'How much' if money else 'What'} {be} {subject}?", "amount", 0.9)
    match = re.match(rf"{_SUBJECT} (?P<verb>costs?|takes?|lasts?) {_NUMBER}(?P<unit>.{{0,30}})", text)
    subject = _subject(match["subject"], common) if match else ""
    if match and subject and (match["verb"].startswith("cost") or re.match(rf"\s?{_TIME}", match["unit"])):
        do = "does" if match["verb"].endswith("s") else "do"
        how = "How much" if match["verb"].startswith("cost") else "How long"
        yield Phrasing(f"{how} {do} {subject} {match['verb'].rstrip('s')}?", "amount", 0.9)


def _modal(text: str, common: bool) -> Iterator[Phrasing]:
    """Members must report damage within two days → When must members report damage?"""
    match = re.match(rf"{_SUBJECT} {_MODAL} (?P<rest>.+)", text)
    subject = _subject(match["subject"], common) if match else ""
    if not match or not subject:
        return
    if found := _cut(match["rest"]):
        word, verb = found
        if len(verb.split()) >= 2:
            modal = match["modal"]
            if modal.endswith(" to"):
                helping = "does" if modal in ("has to", "needs to") else "do"
                modal, verb = helping, f"{'need' if 'need' in modal else 'have'} to {verb}"
            elif modal == "cannot":
                modal, verb = "can", f"not {verb}"
            yield Phrasing(f"{word} {modal} {subject} {_mine(verb) if subject == 'I' else verb}?", "condition", 0.85)


def _passive(text: str, common: bool) -> Iterator[Phrasing]:
    """The filter is cleaned twice a year → How often is the filter cleaned?"""
    match = re.match(
        rf"{_SUBJECT} {_BE} (?P<rest>(?:not |only |always |usually )?(?:\w+ed|open|closed|due|valid|available|paid|sent|kept|held|made|given|taken|written|read|cut|set|stored|put|built|chosen|shown|known)\b.*)",
        text,
    )
    subject = _subject(match["subject"], common) if match else ""
    if match and subject and (found := _cut(match["rest"])):
        word, rest = found
        yield Phrasing(f"{word} {match['be']} {subject} {rest}?", "condition", 0.85)


def _definition(text: str, common: bool) -> Iterator[Phrasing]:
    """A heat pump is a machine that … → What is a heat pump?"""
    match = re.match(rf"{_SUBJECT} (?P<be>is|are) (?P<rest>(?:a|an|the|one of the)\b.{{20,}})", text)
    subject = _subject(match["subject"], common) if match else ""
    if not match or not subject or subject == "I" or _NO_DEFINITION.match(match["rest"]) or not _is_term(subject):
        return
    # A definite subject is mostly one of the sentences before.
    yield Phrasing(f"What {match['be']} {subject}?", "definition", 0.6 if subject.startswith("the ") else 0.8)


def _is_term(subject: str) -> bool:
    """Return True if a subject may be a term that needs a definition: no action, no set, and no `the` with a single word."""
    parts = subject.split()
    single = parts[0] in ("the", "our", "your", "their") and len(parts) == 2
    return (
        len(parts) <= 6 and not single and not parts[0].endswith("ing") and parts[0] not in ("any", "every", "each", "all", "our", "your")
    )


def _possession(text: str, common: bool) -> Iterator[Phrasing]:
    """You have thirty days of leave a year → How many days of leave do I have?"""
    match = re.match(
        rf"{_SUBJECT} (?P<verb>have|has|get|gets|receive|receives|contains|needs) {_NUMBER} (?P<unit>(?:(?:working|business|calendar) )?[a-z]+(?<!s)s(?: of [a-z]+)?)\b",
        text,
    )
    subject = _subject(match["subject"], common) if match else ""
    if match and subject and not match["number"].startswith(("€", "$", "£")):
        third = match["verb"] in ("has", "gets", "receives", "contains", "needs")
        verb = "have" if match["verb"] == "has" else match["verb"].removesuffix("s") if third else match["verb"]
        yield Phrasing(f"How many {match['unit']} {'does' if third else 'do'} {subject} {verb}?", "amount", 0.9)


def _verb(text: str, common: bool) -> Iterator[Phrasing]:
    """The insurance covers theft → What does the insurance cover?"""
    for third, verb in VERBS.items():
        match = re.match(
            rf"{_SUBJECT} {third} (?=(?:a|an|the|its|their|all|any|each|every|both|one|two|three|only|\d+)\b)(?P<rest>.{{15,}})", text
        )
        subject = _subject(match["subject"], common) if match else ""
        if match and subject and subject != "I" and 2 <= len(subject.split()) <= 8:
            yield Phrasing(f"What does {subject} {verb}?", "fact", 0.6)
            return


def _cut(rest: str) -> tuple[str, str] | None:
    """Cut off the part that answers when, how often, how long, why or how. Returns the question word and what is before the part."""
    found = []
    for word, cue in _CUES:
        if match := re.search(rf"(?<=\w) {cue}", rest):
            found.append((match.start(), word))
    if not found:
        return None
    at, word = min(found)
    before = rest[:at].strip()
    return None if _UNFINISHED.search(before) or not before else (word, before)


def _subject(text: str, common: bool) -> str:
    """Return a subject inside of a sentence, or an empty text if it is no subject that stands alone."""
    parts = text.split()
    first = parts[0].lower()
    joined = "and" in parts and len(parts) > 5
    if (
        first in NO_SUBJECT
        or len(parts) > 10
        or joined
        or re.search(
            r"\b(?:that|which|who|whose|where|is|are|was|were|must|can|if|when|has|have|used|within|until|because|not|upon)\b|\b(?:to|of|for|by|with|in|on|at|from|and|or)$|\b[Tt]he (?:former|latter)$",
            text,
        )
    ):
        return ""
    if first in ("you", "we"):
        return {"you": "I", "we": "we"}[first] if len(parts) == 1 else ""
    return _lower(text) if common else text


def _lower(text: str) -> str:
    """Write the first word of a sentence in lower case, unless it is an abbreviation."""
    first = text.split(" ")[0]
    return text if len(first) > 1 and not first[1:].islower() else text[0].lower() + text[1:]


def _mine(text: str) -> str:
    """Ask as the reader who is addressed: `your bike` becomes `my bike`."""
    for theirs, own in _OWN:
        text = re.sub(rf"\b{theirs}\b", own, text)
    return text
