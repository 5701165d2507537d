"""The topics of the report, in the one order of all its views."""

from importlib import import_module
from typing import Any

from workbench.report.analysis.findings import Findings, findings
from workbench.report.model import Block, Collapsible, Section
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.topic import Topic

# The modules of the topics in the order of the page. To add a topic, write its module and add its name here.
MODULES = (
    "run.gate",
    "retrieval.ranking",
    "decision.opening",
    "retrieval.differences",
    "retrieval.parts",
    "retrieval.questions",
    "answers.conditions",
    "answers.causes",
    "answers.refusals",
    "answers.attacks",
    "answers.judges",
    "answers.examples",
    "retrieval.costs",
    "answers.costs",
    "retrieval.curves",
    "retrieval.slices",
    "run.configurations",
    "run.targets",
    "run.appendix",
)
# Sections of the page that several topics share: anchor, title, and short title.
CHAPTERS = {
    "gate": ("Does it pass the gate?", "Gate"),
    "answers": ("Do the answers hold?", "Answers"),
    "costs": ("Quality and cost", "Cost"),
    "slices": ("Where is it weak?", "Slices"),
    "appendix": ("Appendix", "Appendix"),
}


def _topics_in(module: str) -> list[Topic[Any]]:
    return [value for value in vars(import_module(f"workbench.report.topics.{module}")).values() if isinstance(value, Topic)]


TOPICS: tuple[Topic[Any], ...] = tuple(topic for module in MODULES for topic in _topics_in(module))


def summary_lines(run: RunTables) -> list[str]:
    """Summarise a run for the terminal: configurations by the primary metric with the tie set marked, then the verdict."""
    return [line for topic in TOPICS for line in topic.terminal_lines(findings(run))]


def sections(conclusions: Findings) -> list[Section]:
    """Return the sections of the page, without empty ones."""
    shown: dict[str, list[tuple[Topic[Any], Section]]] = {}
    for topic in TOPICS:
        if "page" in topic.views and (section := topic(conclusions)):
            shown.setdefault(topic.chapter or section.anchor, []).append((topic, section))
    return [_chapter(anchor, members) if anchor in CHAPTERS else members[0][1] for anchor, members in shown.items()]


def _chapter(anchor: str, members: list[tuple[Topic[Any], Section]]) -> Section:
    """Put topics under one title, which is that of the first, too."""
    title, short = CHAPTERS[anchor]
    blocks: list[Block] = []
    for topic, section in members:
        if topic.folded:
            blocks.append(Collapsible(section.title, section.blocks))
        else:
            blocks += [section] if blocks else section.blocks
    return Section(title, anchor, blocks, short)
