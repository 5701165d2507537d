"""Answers that no one tidied: many configurations, names of 80 letters, failed calls, one question, null results."""

import html
import re
from dataclasses import replace

import pytest

from tests.answered_runs import Planted, answered
from tests.made_runs import Made, one_question
from workbench.report.analysis.findings import findings
from workbench.report.model import Collapsible, Figure, Table
from workbench.report.render.html import document_of, rendered
from workbench.report.topics.answers.conditions import conditions
from workbench.report.topics.answers.refusals import refusals
from workbench.report.topics.registry import summary_lines
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of

pytestmark = pytest.mark.slow

LONG = "paraphrase-multilingual-mpnet-base-v2-dimensions-256-with-header-{number:02d}-prompt-{name}"
ANCHORS = ("answers", "costs")


def words(page: str) -> str:
    return html.unescape(" ".join(re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL).split()))


@pytest.fixture(scope="module")
def many(made: Made):
    sizes = [{"kind": "fixed", "size": [16 + 4 * number for number in range(12)], "overlap": 0}]
    experiment = experiment_of(made.experiment(1, 3, name="many", sweep={"chunking": sizes}), "here")
    names = [LONG.format(number=number, name=one.name)[:80] for number, one in enumerate(experiment.configurations)]
    renamed = tuple(replace(one, name=name) for one, name in zip(experiment.configurations, names, strict=True))
    run = collect(run_experiment(replace(experiment, configurations=renamed), made.folder / "outputs", lambda _: None))
    return answered(run, Planted(failed=0.2, confident=True))


@pytest.fixture(scope="module")
def document(many):
    return document_of(many)


def flat(blocks):
    for block in blocks:
        yield block
        if isinstance(block, Collapsible):
            yield from flat(block.blocks)


def of_kind(document, kind):
    return [
        block for section in document.sections if section.anchor in ANCHORS for block in flat(section.blocks) if isinstance(block, kind)
    ]


def test_every_configuration_has_its_rows_under_its_full_or_keyed_name(document, many):
    tables = [table for table in of_kind(document, Table) if table.columns[0].title == "configuration"]
    assert len(tables) >= 4
    for table in tables:
        keyed = dict(table.key)
        assert {keyed.get(each.cells[0].text, each.cells[0].text) for each in table.rows} <= set(many.names)


def test_the_page_and_the_terminal_have_no_missing_number_in_words(document, many):
    for text in (words(rendered(document)), "\n".join(summary_lines(many))):
        assert not re.search(r"\b(nan|None|inf|<NA>)\b", text)


@pytest.mark.parametrize("planted", [Planted(), Planted(failed=1.0), Planted(right=dict.fromkeys(Planted().right, 0.0), unanswerable=0)])
def test_one_document_all_failures_or_no_right_answer_still_make_a_page(made, planted):
    run = answered(collect(made.ran(2, documents=2)), planted)
    page = words(rendered(document_of(run)))
    assert "Do the answers hold?" in page
    assert not re.search(r"\b(nan|inf)\b", page)


def test_one_question_makes_a_page(made):
    one = answered(collect(made.ran(2, documents=1, name="single", dataset=one_question(made))), Planted(unanswerable=0))
    assert "1 question about 1 document is too few" in words(rendered(document_of(one)))


def test_the_same_answer_in_every_condition_has_no_figure_and_no_loss(unanswered):
    right = dict.fromkeys(Planted().right, 1.0)
    run = answered(unanswered, Planted(right=right))
    section = conditions(findings(run))
    assert not [block for block in section.blocks if isinstance(block, Figure)]
    assert "No loss" in section.blocks[0].text
    assert refusals(findings(run)) is not None
