"""What is said first: what won or that nothing did, and the answers to the other questions about a sweep."""

from workbench.analysis.findings import Findings
from workbench.report.model import Answered, Lead
from workbench.report.text.summary import answers


def headline(found: Findings) -> Lead:
    """What won; what the sentence puts in brackets is said more quietly."""
    told, bracket, aside = answers(found).won.sentence.partition(" (")
    return Lead(told, f"({aside}" if bracket else "")


def opening(found: Findings) -> list[str]:
    """What is not in the order, and on which data all this is."""
    said = answers(found)
    return [line for line in (said.won.detail, f"{said.data.sentence} {said.data.detail}".strip()) if line]


def answered(found: Findings) -> Answered:
    """The other questions with their answers."""
    return Answered(list(answers(found))[1:-1])
