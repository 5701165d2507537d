"""The topics of the report, in the one order of all its views."""

from importlib import import_module
from typing import Any

from workbench.report.topics.topic import Topic

# The modules of the topics. To add a topic, write its module and add its name here.
MODULES = (
    "run.gate",
    "run.broken",
    "retrieval.ranking",
    "retrieval.verdict",
    "retrieval.differences",
    "retrieval.parts",
    "retrieval.tokens",
    "retrieval.sizes",
    "retrieval.costs",
    "retrieval.slices",
    "retrieval.answerable",
    "retrieval.pairs",
    "retrieval.questions",
    "answers.causes",
    "answers.conditions",
    "answers.attacks",
    "answers.refusals",
    "answers.examples",
    "answers.claims",
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
