"""The topics of the report, in the one order of all its views."""

from importlib import import_module
from typing import Any

from workbench.report.analysis.findings import Findings
from workbench.report.model import Headline, Summary, SummaryItem
from workbench.report.sentences import beside_verdict, delivery_notes
from workbench.report.topics.retrieval.verdict import won
from workbench.report.topics.run.gate import gate_opening
from workbench.report.topics.run.method import data
from workbench.report.topics.topic import Topic

# The modules of the topics. To add a topic, write its module and add its name here.
MODULES = (
    "run.gate",
    "retrieval.ranking",
    "retrieval.verdict",
    "retrieval.parts",
    "retrieval.sizes",
    "retrieval.costs",
    "retrieval.slices",
    "retrieval.questions",
    "answers.causes",
    "answers.conditions",
    "answers.attacks",
    "answers.refusals",
    "answers.examples",
    "answers.judges",
    "answers.costs",
    "run.targets",
    "retrieval.exploratory",
    "run.configurations",
    "run.method",
)


def _topics_in(module: str) -> list[Topic[Any]]:
    return [value for value in vars(import_module(f"workbench.report.topics.{module}")).values() if isinstance(value, Topic)]


TOPICS: tuple[Topic[Any], ...] = tuple(topic for module in MODULES for topic in _topics_in(module))


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
