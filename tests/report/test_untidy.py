"""A run that no one tidied: 35 configurations, names of 80 letters, a window too short, services, failures, one question."""

import html
import re

import pytest

from tests.made_runs import one_question
from workbench.core.text.formatting import shortened
from workbench.report.analysis.findings import findings
from workbench.report.analysis.parts import parts
from workbench.report.model import Collapsible, Columns, Figure, Section, Table
from workbench.report.render.html import document_of, rendered
from workbench.report.topics.registry import summary_lines
from workbench.report.views import ComparisonView, ConfigurationView
from workbench.runner.execution.collect import collect

pytestmark = pytest.mark.slow


def flat(blocks):
    for block in blocks:
        yield block
        if isinstance(block, Collapsible | Columns | Section):
            yield from flat(block.blocks)


def of_kind(document, kind):
    found = [block for block in flat(document.sections) if isinstance(block, kind)]
    return found + [block.data for block in flat(document.sections) if kind is Table and isinstance(block, Figure) and block.data]


@pytest.fixture(scope="module")
def document(untidy):
    return document_of(untidy)


@pytest.fixture(scope="module")
def page(document):
    return rendered(document)


def test_it_is_as_untidy_as_it_is_said_to_be(untidy):
    found = findings(untidy)
    assert (len(found.standings.ranked), len(found.standings.windowed), len(found.failures)) == (29, 2, 4)
    assert max(map(len, untidy.names)) == 80
    assert sum(len(name) == 80 for name in untidy.names) >= 6


def test_every_shortened_name_has_its_full_one_in_the_key(document, untidy):
    keys = [block.key for block in [*of_kind(document, Figure), *of_kind(document, Table)] if block.key]
    assert keys
    named = {*untidy.names, *(f"{part.alternative} over {part.reference}" for part in parts(untidy))}
    for key in keys:
        assert len({short for short, _ in key}) == len(key)
        # The figure of parts names the alternatives alone where these differ.
        assert all(("…" in short or name.startswith(f"{short} over ")) and len(short) <= 28 and name in named for short, name in key)


def test_names_with_equal_ends_stay_apart():
    names = [f"{'a' * 40}-{number}-{'b' * 40}" for number in range(30)]
    short = shortened(names)
    assert len(set(short.values())) == 30
    assert max(map(len, short.values())) <= 28
    assert shortened(["short", names[0]])["short"] == "short"


def test_full_names_are_in_every_table_that_names_its_rows(page, untidy):
    table = page[page.index('<table id="ranking-table"') :]
    table = html.unescape(table[: table.index("</table>")])
    assert all(f' data-name="{name}" title="{name}"' in table for name in untidy.configurations_settings)


def test_values_that_differ_never_look_equal_beside_each_other(document):
    for table in of_kind(document, Table):
        for column in range(len(table.columns)):
            cells = [
                row.cells[column] for row in table.rows if isinstance(row.cells[column].sort, float) and row.cells[column].shade is not None
            ]
            values = {round(cell.sort, 3) for cell in cells}
            assert len({cell.text for cell in cells}) >= len(values) or all("." not in cell.text for cell in cells), table.caption


def test_captions_do_not_speak_of_light_and_dark(page):
    said = html.unescape(re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL))
    assert not re.search(r"\b(darker|lighter|filled|hollow)\b", said)


def test_one_of_anything_is_said_in_the_singular(made):
    made_few = collect(made.ran(1, documents=1, name="one", dataset=one_question(made)))
    view = ComparisonView(made_few)
    parts = [view.overview(), view.ranking(), view.differences(), view.sources(), view.costs(), view.parts()]
    one = ConfigurationView(made_few, made_few.names[0])
    parts += [one.overview(), one.metrics(), one.misses(), one.queries(), one.lengths(), one.separation(), one.worst()]
    shown = " ".join(re.sub(r"<[^>]+>", " ", f"{part.html} {part.alt}") for part in parts)
    page = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", rendered(document_of(made_few)), flags=re.DOTALL)
    text = " ".join([shown, page, *summary_lines(made_few)])
    assert "1 question" in text
    assert not re.search(r"(?<![\d.,])1 (queries|questions|chunks|tokens|documents|configurations|clusters|pieces|slices)\b", text)


def test_one_question_has_no_interval(made):
    run = collect(made.ran(2, documents=1, name="single", dataset=one_question(made)))
    lines = summary_lines(run)
    assert (
        "Do not decide yet. 1 question about 1 document cannot tell these two configurations apart: their span_recall@60t is the same."
        in lines
    )
    page = html.unescape(rendered(document_of(run)))
    assert "[documents: 1]" in page
    assert "[0.000, 0.000]" not in page
