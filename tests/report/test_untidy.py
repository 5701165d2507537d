"""A run that no one tidied: 26 configurations, names of 80 letters, a window too short, an embedder that fails, one question."""

import html
import itertools
import re

import pytest
from matplotlib.text import Text

from workbench.core.text.formatting import shortened
from workbench.report.analysis.findings import findings
from workbench.report.analysis.parts import parts
from workbench.report.model import Collapsible, Columns, Figure, Section, Table
from workbench.report.render.html import document_of, rendered
from workbench.report.render.plain import summary_lines, summary_markdown
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
    assert (len(found.standings.ranked), len(found.standings.windowed), len(found.failures)) == (26, 1, 1)
    assert max(map(len, untidy.names)) == 80
    assert sum(len(name) == 80 for name in untidy.names) >= 6


def test_no_figure_is_wider_than_its_frame(document):
    figures = of_kind(document, Figure)
    assert len(figures) >= 3
    for figure in figures:
        figure.drawing.canvas.draw()
        width, drawn = figure.drawing.get_figwidth(), figure.drawing.get_tightbbox()
        assert drawn.x0 >= -0.01, figure.name
        assert drawn.x1 <= width + 0.01, figure.name
        assert figure.drawing.axes[0].get_window_extent().width > 0.2 * figure.drawing.bbox.width


def test_names_in_figures_do_not_overlap(document):
    for figure in of_kind(document, Figure):
        figure.drawing.canvas.draw()
        # Names beside points without the lines that lead to them; those beside rows are ticks.
        boxes = sorted((Text.get_window_extent(text) for text in figure.drawing.axes[0].texts), key=lambda box: box.y0)
        assert len(boxes) >= (25 if figure.name == "differences" else 1)
        # The letters' own height, without the room for what hangs below the line.
        assert all(lower.y1 <= upper.y0 + 0.25 * lower.height for lower, upper in itertools.pairwise(boxes))


def test_a_crowded_figure_names_the_important_points_and_its_table_names_all(document, untidy):
    crowded = [figure for figure in of_kind(document, Figure) if figure.name not in ("differences", "parts")]
    assert len(crowded) >= 2
    for figure in crowded:
        written = [text.get_text() for text in figure.drawing.axes[0].texts]
        assert 1 <= len(written) <= 12
        assert "Only these are named" in figure.caption
        assert {row.cells[0].text for row in figure.data.rows} >= set(untidy.names[:26])
        assert {short for short, _ in figure.key} <= set(written)


def test_every_shortened_name_has_its_full_one_in_the_key(document, untidy):
    keys = [block.key for block in [*of_kind(document, Figure), *of_kind(document, Table)] if block.key]
    assert len(keys) >= 4
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
    assert all(f"</span>{name}</th>" in table for name in untidy.names[:26])


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


def test_question_ids_lead_to_their_drill_down(page, untidy):
    linked = set(re.findall(r'<a href="#queries" data-query="([^"]+)">', page))
    assert len(linked) > 20
    assert linked <= set(untidy.questions["query_id"])


def test_one_of_anything_is_said_in_the_singular(made):
    made_few = collect(made.ran(1, documents=1, name="one", dataset=one_question(made)))
    view = ComparisonView(made_few)
    parts = [view.overview(), view.ranking(), view.differences(), view.sources(), view.costs(), view.exploratory()]
    one = ConfigurationView(made_few, made_few.names[0])
    parts += [one.overview(), one.metrics(), one.misses(), one.queries(), one.lengths(), one.separation(), one.worst()]
    shown = " ".join(re.sub(r"<[^>]+>", " ", f"{part.html} {part.alt}") for part in parts)
    page = re.sub(r"<(script|style)\b.*?</\1>|<[^>]+>", " ", rendered(document_of(made_few)), flags=re.DOTALL)
    text = " ".join([shown, page, *summary_lines(made_few), summary_markdown(made_few)])
    assert "1 question" in text
    assert not re.search(r"(?<![\d.,])1 (queries|questions|chunks|tokens|documents|configurations|clusters|pieces|slices)\b", text)


def test_one_question_has_no_interval(made):
    run = collect(made.ran(2, documents=1, name="single", dataset=one_question(made)))
    lines = summary_lines(run)
    assert "There is no difference: fixed-16-0 and fixed-24-0 have the same span_recall@60t on 1 question." in lines
    page = html.unescape(rendered(document_of(run)))
    assert "[documents: 1]" in page
    assert "[0.000, 0.000]" not in page


def one_question(made) -> dict[str, str]:
    folder = made.folder / "one-question"
    if not folder.exists():
        (folder / "documents").mkdir(parents=True)
        (folder / "documents" / "d.md").write_text("The ferry leaves at ten in the morning.", "utf-8")
        row = '{"query_id": "q", "query": "When does the ferry leave?", "relevant_doc_ids": ["d"], "evidence": [[{"doc_id": "d", "start": 0, "end": 39}]]}'
        (folder / "questions.jsonl").write_text(row + "\n", "utf-8")
    return {"kind": "golden", "path": str(folder)}
