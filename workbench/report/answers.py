"""The eight questions that are asked of a sweep, each with its answer in a sentence made from the findings."""

from typing import NamedTuple

from workbench.report import first_told, verdict_told
from workbench.report.findings import Findings


class Answer(NamedTuple):
    """A question, the sentence that answers it, and what stands behind that (may be empty)."""

    question: str
    sentence: str
    detail: str


class Answers(NamedTuple):
    """The answers in the order in which they are read."""

    won: Answer
    margin: Answer
    certainty: Answer
    cost: Answer
    faults: Answer
    weakest: Answer
    more: Answer
    data: Answer


def answers(found: Findings) -> Answers:
    """All eight; without a winner no sentence names one."""
    return Answers(
        Answer("What won?", *verdict_told.won(found)),
        Answer("By how much?", *verdict_told.margin(found)),
        Answer("How sure is that?", *verdict_told.certainty(found)),
        Answer("What does it cost?", *first_told.cost(found)),
        Answer("What mostly goes wrong?", *first_told.faults(found)),
        Answer("Where is it weakest?", *first_told.weakest(found)),
        Answer("How many more questions would be needed?", *verdict_told.more(found)),
        Answer("On which data?", *first_told.data(found)),
    )
