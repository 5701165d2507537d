"""The panel without a browser: its controls change the chunking, and its HTML is safe and short."""

import re
from html.parser import HTMLParser

import ipywidgets
import pytest
import yaml

import workbench as wb
from workbench.api.widgets.boundaries import PAGE, ChunkingPanel
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Document, Need, Query, Span

EVIL = "<script>window.xss=1</script> & <img src=x onerror=alert(1)> $x$ "


class Texts(HTMLParser):
    """The text and the tags of some HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.tags = "", set[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def text_of(html: str) -> str:
    """The text of a page, without the numbers of chunks and the scissors."""
    return Texts(re.sub(r'<span style="[^"]*font-size:.8em[^"]*">[\d,]+</span>', "", html)).text.replace("✂", "")


def panel_of(text: str, *spans: tuple[int, int]) -> ChunkingPanel:
    needs = tuple(Need("q", (Span("d", *span),)) for span in spans)
    return wb.try_chunking(Dataset("wild", (Document("d", text, EVIL),), (Query("q", EVIL),), (), needs), wb.FixedChunker(size=32))


def controls(panel: ChunkingPanel) -> dict[str, object]:
    """Every control by its label."""
    found, waiting = {}, [panel.widget]
    while waiting:
        widget = waiting.pop()
        waiting += getattr(widget, "children", ())
        if getattr(widget, "description", ""):
            found[widget.description] = widget
    return found


def shown(panel: ChunkingPanel) -> str:
    """The HTML that the panel shows now, of all its parts."""
    return "".join(part.value for part in panel.widget.children if isinstance(part, ipywidgets.HTML))


def test_the_text_of_a_document_and_its_questions_is_escaped() -> None:
    html = panel_of(EVIL * 20, (0, 30), (70, 200)).static_html
    assert Texts(html).tags <= {"p", "div", "span"}
    assert EVIL * 20 in text_of(html)


def test_a_slider_changes_the_chunks_the_counts_and_the_yaml() -> None:
    panel = panel_of("The ferry leaves at nine. " * 200)
    moved = controls(panel)
    before = len(panel.boundaries.chunks)
    moved["Size"].value = 100
    moved["Overlap"].value = 40
    assert panel.chunker == wb.FixedChunker(size=100, overlap=40)
    assert len(panel.boundaries.chunks) < before
    assert yaml.safe_load(moved["YAML"].value) == {"chunking": {"kind": "fixed", "size": 100, "overlap": 40}}
    moved["Chunking"].value = "hierarchical"
    assert moved["Overlap"].layout.display == "none"
    assert moved["Parent"].layout.display is None
    assert panel.chunker == wb.HierarchicalChunker(child=100, parent=1024)


def test_an_overlap_above_the_size_moves_with_it() -> None:
    panel = panel_of("The ferry leaves at nine. " * 200)
    moved = controls(panel)
    moved["Overlap"].value = 500
    assert (moved["Overlap"].value, panel.chunker.sizes) == (31, (32, 31))
    moved["Size"].value = 600
    assert panel.chunker.sizes == (600, 31)


def test_a_long_document_is_shown_in_pages_that_together_are_its_text() -> None:
    text = "".join(f"Sentence {number} of the log. " for number in range(2_000))
    panel = panel_of(text, (20_000, 20_900))
    pages = []
    for page in range(panel.pages):
        panel.turn(page)
        html = panel.static_html
        assert len(html) < 60_000
        pages.append(text_of(html.partition("</div>")[2]))
    assert "".join(pages) == text
    panel.turn(0)
    panel.next_cut()
    assert panel.page == 20_000 // PAGE
    panel.turn(99)
    assert panel.page == panel.pages - 1


def test_another_document_is_chosen_by_the_list_or_by_words(part: wb.Dataset) -> None:
    panel = wb.try_chunking(part, doc_id=part.documents[3].doc_id)
    chosen = controls(panel)
    assert chosen["Document"].value == part.documents[3].doc_id
    chosen["Filter"].value = part.documents[1].doc_id
    assert panel.doc_id == part.documents[1].doc_id
    chosen["Filter"].value = "no such <i>document"
    assert chosen["Document"].options == ()
    assert panel.doc_id == part.documents[1].doc_id
    assert "No document has these words in its id or title: no such &lt;i&gt;document." in shown(panel)
    chosen["Filter"].value = ""
    assert "No document" not in shown(panel)
    assert len(chosen["Document"].options) == len(part.documents)


def test_what_cannot_be_shown_is_one_line(part: wb.Dataset) -> None:
    with pytest.raises(InputError, match="no document 'nothing' with text"):
        wb.try_chunking(part, doc_id="nothing")
    with pytest.raises(InputError, match="semantic chunks do not follow a slider"):
        wb.try_chunking(part, wb.SemanticChunker(size=256))
    with pytest.raises(InputError, match="'recursiv' does not follow a slider"):
        wb.try_chunking(part).choose(kind="recursiv")
    with pytest.raises(InputError, match="no document of empty has text"):
        wb.try_chunking(Dataset("empty", (Document("d", " "),), (), ()))


def test_a_setting_that_does_not_fit_is_one_line_and_the_panel_stays_as_it_was(wording) -> None:
    panel = panel_of("The ferry leaves at nine. " * 20)
    before, html = panel.settings, panel.static_html
    changes: list[dict[str, object]] = [{"tokens": "x"}, {"size": "x"}, {"size": True}, {"enrich": 1}, {"foo": 1}, {"sise": 1}]
    wording(lambda change: panel.choose(**change), changes)
    assert (panel.settings, panel.static_html) == (before, html)
    assert panel.choose(size=64).chunker == wb.FixedChunker(size=64)
