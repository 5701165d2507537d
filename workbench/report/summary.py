"""The head of the report: the headline, the opening, and the answers to the questions of all topics."""

from workbench.report.analysis.findings import Findings
from workbench.report.model import Headline, Summary, SummaryItem
from workbench.report.text.sentences import beside_verdict, delivery_notes
from workbench.report.topics.registry import TOPICS
from workbench.report.topics.retrieval.verdict import won
from workbench.report.topics.run.gate import gate_opening
from workbench.report.topics.run.method import data


def answers(findings: Findings) -> list[SummaryItem]:
    """Answer the eight questions about every run. Sentences name a winner only if the verdict does."""
    return _answered(findings, every_run=True)


def headline(findings: Findings) -> Headline:
    """Name the winner or the tie set. Text in brackets becomes the aside."""
    sentence, bracket, aside = won(findings)[0].partition(" (")
    return Headline(sentence, f"({aside}" if bracket else "")


def opening(findings: Findings) -> list[str]:
    """Give the outcome of the gate, warn of drafts, and describe configurations that are not ranked, the data and odd deliveries."""
    return [
        *gate_opening(findings),
        *beside_verdict(findings, findings.verdict),
        *(line for line in (won(findings)[1], " ".join(data(findings)).strip()) if line),
        *delivery_notes(findings),
    ]


def answered(findings: Findings) -> Summary:
    """Answer all questions but those that the headline and the opening answer: whether answers hold too, and whether each added part is worth it."""
    return Summary(_answered(findings, every_run=False)[1:-1])


def _answered(findings: Findings, every_run: bool) -> list[SummaryItem]:
    questions = sorted((question for topic in TOPICS for question in topic.questions), key=lambda question: question.place)
    return [item for question in questions if question.every_run or not every_run for item in question.answers(findings)]
