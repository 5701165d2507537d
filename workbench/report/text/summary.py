"""The eight questions about a sweep, each answered by a sentence."""

from typing import NamedTuple

from workbench.analysis.findings import Findings
from workbench.report.model import Answer, Answered, Lead
from workbench.report.text import leader, verdict


class Answers(NamedTuple):
    """The answers in reading order."""

    won: Answer
    margin: Answer
    certainty: Answer
    cost: Answer
    faults: Answer
    weakest: Answer
    more: Answer
    data: Answer


def answers(found: Findings) -> Answers:
    """Answer all eight; without a winner no sentence names one."""
    return Answers(
        Answer("What won?", *verdict.won(found)),
        Answer("By how much?", *verdict.margin(found)),
        Answer("How sure is that?", *verdict.certainty(found)),
        Answer("What does it cost?", *leader.cost(found)),
        Answer("What mostly goes wrong?", *leader.faults(found)),
        Answer("Where is it weakest?", *leader.weakest(found)),
        Answer("How many more questions would be needed?", *verdict.more(found)),
        Answer("On which data?", *leader.data(found)),
    )


def headline(found: Findings) -> Lead:
    """The winner or the tie set; text in brackets becomes the aside."""
    sentence, bracket, aside = answers(found).won.sentence.partition(" (")
    return Lead(sentence, f"({aside}" if bracket else "")


def opening(found: Findings) -> list[str]:
    """The configurations that are not ranked, and the data."""
    answer = answers(found)
    return [line for line in (answer.won.detail, answer.data.text) if line]


def answered(found: Findings) -> Answered:
    """The other questions with their answers."""
    return Answered(list(answers(found))[1:-1])
