"""The topics of the report, in the one order of all its views."""

from typing import Any

from workbench.report.summary import verdict_topic
from workbench.report.topics.answers.attacks import attacks
from workbench.report.topics.answers.causes import answer_failures
from workbench.report.topics.answers.claims import unsupported_claims
from workbench.report.topics.answers.conditions import conditions
from workbench.report.topics.answers.costs import answer_costs_section
from workbench.report.topics.answers.examples import answer_examples
from workbench.report.topics.answers.judges import judges
from workbench.report.topics.answers.refusals import refusals
from workbench.report.topics.retrieval.answerable import answerable
from workbench.report.topics.retrieval.costs import costs
from workbench.report.topics.retrieval.differences import differences
from workbench.report.topics.retrieval.exploratory import exploratory
from workbench.report.topics.retrieval.pairs import pairs, sources
from workbench.report.topics.retrieval.parts import parts_section
from workbench.report.topics.retrieval.questions import drill_section
from workbench.report.topics.retrieval.ranking import ranking
from workbench.report.topics.retrieval.sizes import sizes
from workbench.report.topics.retrieval.slices import slices
from workbench.report.topics.retrieval.tokens import curves
from workbench.report.topics.run.broken import broken
from workbench.report.topics.run.configurations import cards
from workbench.report.topics.run.gate import gate
from workbench.report.topics.run.method import method, provenance
from workbench.report.topics.run.targets import targets
from workbench.report.topics.topic import Topic

TOPICS: tuple[Topic[Any], ...] = (
    gate,
    broken,
    ranking,
    verdict_topic,
    differences,
    parts_section,
    curves,
    sizes,
    costs,
    slices,
    answerable,
    sources,
    pairs,
    drill_section,
    answer_failures,
    conditions,
    attacks,
    refusals,
    answer_examples,
    unsupported_claims,
    judges,
    answer_costs_section,
    targets,
    exploratory,
    cards,
    method,
    provenance,
)
