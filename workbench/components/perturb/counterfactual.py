"""An altered copy of the passage that contains the expected answer."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from workbench.components.context.conditions import COUNTERFACTUAL
from workbench.components.context.question_labels import QuestionLabels
from workbench.components.perturb.values import MONTHS, NumberInText, moments_in, numbers_in, opposite, polarity, without_moments
from workbench.core.records import Passage

# Invented names without a meaning.
_NAMES = ("Marwick", "Tolverne", "Askerby", "Brenlow", "Quarndale", "Helstone", "Pendrick", "Osmere")
_NAME = re.compile(r"(?<![\w-])[A-Z][\w'’-]*[a-z][\w'’-]*(?: [A-Z][\w'’-]*[a-z][\w'’-]*)*")
_SMALL_WORDS = frozenset(
    {"Yes", "No", "The", "A", "An", "It", "They", "You", "He", "She", "We", "I", "Only", "Up", "At", "If", "Within", "Not"}
)
_PARENTHESES = re.compile(r"\([^()]*\)")


@dataclass(frozen=True, slots=True)
class AlteredText:
    """The text of an altered copy, and the fact that was changed in it. `original` and `altered` are the words to look for in an answer."""

    text: str
    kind: str
    original: str
    altered: str


def altered(text: str, evidence: Sequence[tuple[int, int]], question: str, answers: Sequence[str]) -> AlteredText | None:
    """Return a copy of a text with one fact of an expected answer changed everywhere, or None if it contains no such fact.

    `evidence` are the parts [start, end) of the text that are labelled as evidence, empty if it has none. A fact that the question names is
    not changed, and no new value occurs in the text, the question or the answers.
    """
    taken = "\n".join([text, question, *answers])
    for rule in _RULES:
        for answer in answers:
            for found in rule(_Material(text, evidence or [(0, len(text))], question, answer, taken)):
                return found
    return None


@dataclass(frozen=True, slots=True)
class _Material:
    text: str
    evidence: Sequence[tuple[int, int]]
    question: str
    answer: str
    taken: str

    @property
    def stated(self) -> str:
        """Return the answer without remarks in parentheses, which often explain a calculation."""
        return _PARENTHESES.sub(" ", self.answer)

    def is_evidence(self, start: int, end: int) -> bool:
        return any(low < end and start < high for low, high in self.evidence)


def _moments(material: _Material) -> Iterator[AlteredText]:
    for moment, others in moments_in(material.stated):
        pattern = rf"(?<![\w.:]){re.escape(moment)}(?![\w:])"
        new = next((other for other in others if other not in material.taken), "")
        if new and moment not in material.question and _in_evidence(material, pattern):
            yield AlteredText(re.sub(pattern, new, material.text), "date", moment, new)


def _numbers(material: _Material) -> Iterator[AlteredText]:
    known = {number.value for number in numbers_in(material.question)}
    values = {number.value for number in numbers_in(material.taken)}
    in_text = list(numbers_in(material.text))
    for fact in numbers_in(without_moments(material.stated)):
        evident = [number for number in in_text if number.value == fact.value and material.is_evidence(number.start, number.end)]
        # The same unit as in the answer is the surest; the cell of a table has none.
        evident = next(filter(None, ([number for number in evident if number.unit == unit] for unit in (fact.unit, ""))), evident)
        new = next((other for other in fact.others if other not in values), None)
        if new is None or fact.value in known or fact.value in (0, 1) or not evident:
            continue
        units = {number.unit for number in evident} - {""}
        same = [number for number in in_text if number.value == fact.value and (number in evident or number.unit in units)]
        yield AlteredText(_with_value(material.text, same, new), "number", fact.text, fact.rewritten(new))


def _names(material: _Material) -> Iterator[AlteredText]:
    for match in _NAME.finditer(material.stated):
        name = match.group()
        pattern = rf"(?<![\w-]){re.escape(name)}(?![\w-])"
        first = material.stated[: match.start()].strip(" \t\"'*`") == ""
        # The first word of an answer is a name only if the text has it inside a sentence.
        inside = re.search(rf"(?<=[a-z,] ){re.escape(name)}(?![\w-])", material.text)
        if name in _SMALL_WORDS | MONTHS or name in material.question or (first and not inside) or not _in_evidence(material, pattern):
            continue
        new = next((other for other in _rotated(_NAMES, len(name)) if other not in material.taken), "")
        if new:
            yield AlteredText(re.sub(pattern, new, material.text), "name", name, new)


def _polarities(material: _Material) -> Iterator[AlteredText]:
    said = polarity(material.answer)
    for start, end in material.evidence if said else ():
        if turned := opposite(material.text[start:end]):
            other = {"yes": "no", "no": "yes"}[said]
            yield AlteredText(material.text[:start] + turned + material.text[end:], "polarity", said, other)


_RULES: tuple[Callable[[_Material], Iterator[AlteredText]], ...] = (_moments, _numbers, _names, _polarities)


def _in_evidence(material: _Material, pattern: str) -> bool:
    return any(material.is_evidence(match.start(), match.end()) for match in re.finditer(pattern, material.text))


def _with_value(text: str, numbers: Sequence[NumberInText], value: Decimal) -> str:
    for number in reversed(numbers):
        text = text[: number.start] + number.rewritten(value) + text[number.end :]
    return text


def _rotated(names: Sequence[str], by: int) -> list[str]:
    by %= len(names)
    return [*names[by:], *names[:by]]


def altered_copy(passages: Sequence[Passage], labels: QuestionLabels) -> tuple[Passage, int, AlteredText] | None:
    """Return a copy of the first passage with a fact of an expected answer that a rule can change, its number from 0 and the change, or None."""
    for number, passage in enumerate(passages):
        if labels.is_evident(passage):
            change = altered(passage.text, _evidence(passage, labels), labels.query.text, labels.answers)
            if change:
                return replace(passage, text=change.text, planted=COUNTERFACTUAL), number, change
    return None


def _evidence(passage: Passage, labels: QuestionLabels) -> list[tuple[int, int]]:
    """Return the evidence in a passage as parts of its text."""
    spans = (span for need in labels.needs for span in need if span.doc_id == passage.doc_id)
    parts = ((max(span.start, passage.start) - passage.start, min(span.end, passage.end) - passage.start) for span in spans)
    return [(start, end) for start, end in parts if start < end]
