"""The page, the notebooks and the terminal speak of one configuration: the one that the first screen shows."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from tests.answered_runs import Planted, answered
from tests.judged_runs import judged
from tests.made_runs import Made
from tests.report.analysis.test_decision import BASE, N, noise, parted
from workbench.api.results import Results
from workbench.api.widgets.explorer.explorer import explore
from workbench.report.analysis.decision import Basis, RunDecision, decide
from workbench.report.analysis.findings import findings
from workbench.report.analysis.setting_names import short_names
from workbench.report.model import Block, Collapsible, Columns, Lines, Prose, Section, Table, Terms
from workbench.report.results.run_tables import RunTables
from workbench.report.topics.registry import TOPICS, sections

CLOSE = [np.clip(BASE + np.random.default_rng(row).normal(0, 0.01, N), 0, 1) for row in (1, 2)]
LEADING = sorted(CLOSE, key=lambda row: row.mean())
KINDS = {
    Basis.TEST: lambda made: made.valued([BASE, BASE + 0.3 + noise.random(N) * 0.1], name="one-won"),
    Basis.COST: lambda made: made.valued(LEADING, name="one-close", smallest_difference=0.1),
    Basis.PART: parted,
    Basis.BASELINE: lambda made: made.valued(LEADING, name="one-kept", baseline="fixed-16-0"),
    "identical": lambda made: made.valued([BASE, BASE], name="one-same"),
}
# They rank all configurations, or speak of parts, of budgets of tokens, or of every service.
ABOUT_MANY = ("decision", "ranking", "differences", "parts", "curves", "targets")


@pytest.fixture(params=KINDS, scope="module")
def run(request: pytest.FixtureRequest, made: Made) -> RunTables:
    return judged(answered(KINDS[request.param](made), Planted(repeats=2)))


@pytest.fixture
def decision(run: RunTables) -> RunDecision:
    return decide(findings(run))


def texts(blocks: Sequence[Block]) -> Iterator[str]:
    """Every text that can single out a configuration, without the cells of tables."""
    for block in blocks:
        match block:
            case Prose():
                yield block.text
            case Lines():
                yield from block.items
            case Table():
                yield block.caption
            case Terms():
                yield from (term.name for term in block.items)
            case Section() if block.anchor in ABOUT_MANY:
                continue
            case Section() | Collapsible():
                yield block.title
                yield from texts(block.blocks)
            case Columns():
                yield from texts(block.blocks)


def named(run: RunTables, text: str) -> list[str]:
    """The configurations in a text, by name or by short name, in its order."""
    short = short_names(run)
    known = {**{short[name]: name for name in run.names}, **{name: name for name in run.names}}
    pattern = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    return [known[found] for found in re.findall(rf"(?<![\w.-])({pattern})(?![\w-])", text)]


def subjects(run: RunTables, blocks: Sequence[Block]) -> set[str]:
    return {names[0] for text in texts(blocks) if (names := named(run, text))}


def test_the_recommended_one_is_not_the_leader_in_some_of_the_runs(made: Made) -> None:
    decisions = [decide(findings(make(made))) for make in KINDS.values()]
    assert [one.basis for one in decisions] == [Basis.TEST, Basis.COST, Basis.PART, Basis.BASELINE, Basis.COST]
    assert sum(one.shown is not one.findings.first for one in decisions) >= 2


def test_every_section_is_about_the_configuration_of_the_first_screen(run: RunTables, decision: RunDecision) -> None:
    about = {section.anchor: subjects(run, [section]) for section in sections(findings(run)) if section.anchor != "appendix"}
    assert {anchor: names for anchor, names in about.items() if names - {decision.shown.name}} == {}
    assert {"answers", "costs", "slices"} <= about.keys()


def test_every_topic_of_the_notebooks_and_the_terminal_is_about_it(run: RunTables, decision: RunDecision) -> None:
    found = findings(run)
    for topic in (topic for topic in TOPICS if topic.name not in ABOUT_MANY and topic.chapter != "appendix"):
        section = topic(found)
        shown = {*subjects(run, [section] if section else []), *(named(run, line)[0] for line in topic.terminal_lines(found))}
        assert shown <= {decision.shown.name}, topic.name


def test_the_questions_begin_with_the_pair_of_the_first_screen(run: RunTables, decision: RunDecision) -> None:
    topic = next(topic for topic in TOPICS if topic.name == "queries")
    assert topic.compute(findings(run)).pair == (decision.shown.name, decision.other.name)


def test_the_explorer_and_the_views_of_answers_begin_with_it(run: RunTables, decision: RunDecision) -> None:
    results = Results.view(run, run.folder)
    assert explore(results).configurations == (decision.shown.name, decision.other.name)
    assert results.answer_view().name == results.judge_view().name == decision.shown.name
