"""An altered copy of the passage that contains the expected answer."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from workbench.context.conditions import COUNTERFACTUAL
from workbench.context.question_labels import QuestionLabels
from workbench.perturb.facts import AlteredText, altered
from workbench.records import Passage


@dataclass(frozen=True, slots=True)
class AlteredCopy:
    """The altered copy of the passage with a `number` from 0, and the fact that was changed."""

    passage: Passage
    number: int
    change: AlteredText


def altered_copy(passages: Sequence[Passage], labels: QuestionLabels) -> AlteredCopy | None:
    """Return a copy of the first passage with a fact of an expected answer that a rule can change, or None if there is no such passage."""
    for number, passage in enumerate(passages):
        if labels.is_evident(passage):
            change = altered(passage.text, _evidence(passage, labels), labels.query.text, labels.answers)
            if change:
                return AlteredCopy(replace(passage, text=change.text, planted=COUNTERFACTUAL), number, change)
    return None


def _evidence(passage: Passage, labels: QuestionLabels) -> list[tuple[int, int]]:
    """Return the evidence in a passage as parts of its text."""
    spans = (span for need in labels.needs for span in need if span.doc_id == passage.doc_id)
    parts = ((max(span.start, passage.start) - passage.start, min(span.end, passage.end) - passage.start) for span in spans)
    return [(start, end) for start, end in parts if start < end]
