"""An executed notebook as a page: complete, readable by everybody, and harmless whatever its outputs contain."""

import base64
import json
import re
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from click.testing import CliRunner
from markupsafe import escape
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from workbench.api.datasets import EvidenceMark, marked_text
from workbench.cli.main import main
from workbench.core.errors import InputError
from workbench.core.records import Chunk
from workbench.report.render.notebook_page import notebook_page

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
HOSTILE = """<div style="position:fixed;inset:0;color:red;background-image:url(http://192.0.2.1/a)" onclick="x()"><script>window.x=1</script>
<img src="http://192.0.2.1/b.png" onerror="x()"><a href="javascript:x()">one</a> <a href="data:text/html,x">two</a> <a href="https://example.org">three</a>
<iframe src="http://192.0.2.1"></iframe><form action="http://192.0.2.1"><input></form><style>body{display:none}</style><b tabindex="7">bold</b></div>"""


@pytest.fixture
def page(tmp_path: Path):
    """Write a notebook with these cells and return its page, parsed."""

    def make(*cells) -> BeautifulSoup:
        path = tmp_path / "made.ipynb"
        path.write_text(json.dumps(new_notebook(cells=list(cells))))
        return BeautifulSoup(notebook_page(path), "html.parser")

    return make


def display(**data):
    metadata = data.pop("metadata", {})
    return new_output("display_data", {name.replace("_", "/", 1): value for name, value in data.items()}, metadata=metadata)


def cell(*outputs, source="view.ranking()"):
    return new_code_cell(source, outputs=list(outputs))


def test_markdown_code_and_outputs_are_in_their_order_and_the_title_is_the_question(page):
    made = page(
        new_markdown_cell("# Which *one*?\n\n<b>raw</b>"),
        new_code_cell("import workbench as wb"),
        cell(new_output("stream", text="\x1b[31mred\x1b[0m\u202e\n")),
        new_markdown_cell("## Ranking"),
        cell(display(text_html="<table><tr><td>1</td></tr></table>", text_plain="1")),
        new_code_cell("view.record(run_id)", metadata={"tags": ["record"]}, outputs=[new_output("stream", text="secret record")]),
    )
    assert made.title.text == "Which one? · Workbench"
    assert [found.name for found in made.main.find_all(["h1", "h2", "details", "table"])] == ["h1", "details", "h2", "details", "table"]
    assert made.main.details.code.text == "import workbench as wb\n\nview.ranking()"
    assert [found.text for found in made.select(".output pre")] == ["red\ufffd\n"]
    assert "<b>raw</b>" in made.main.text
    assert "secret record" not in made.text


def test_a_hostile_output_keeps_its_text_and_loses_everything_else(page):
    made = page(new_markdown_cell("[x](javascript:x) ![y](http://192.0.2.1/c.png)"), cell(display(text_html=HOSTILE)))
    assert not made.find_all(["script", "iframe", "form", "input", "object"])
    assert len(made.find_all("style")) == 1
    (box,) = made.select(".output > div")
    assert box["style"] == "color:red"
    assert made.find("b")["tabindex"] == "0"
    assert {link.get("href") for link in made.main.find_all("a")} == {None, "https://example.org"}
    assert not [image for image in made.find_all("img") if image.get("src")]
    assert not [name for tag in made.find_all() for name in tag.attrs if name.startswith("on")]
    (policy,) = [tag["content"] for tag in made.find_all("meta") if tag.get("http-equiv")]
    assert policy == "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def test_every_picture_has_a_description(page):
    made = page(
        new_markdown_cell("## Recall"),
        cell(
            display(image_png=PIXEL, metadata={"image/png": {"alt": 'said "so"', "width": 40}}),
            display(image_png=PIXEL, text_plain="A curve that rises"),
            display(image_png=PIXEL, text_plain="<Figure size 640x480 with 1 Axes>"),
            new_output("display_data", {"image/svg+xml": "<svg onload='x()'></svg>"}),
            display(image_png="not base64!"),
        ),
    )
    pictures = made.find_all("img")
    assert [picture["alt"] for picture in pictures] == ['said "so"', "A curve that rises", "Figure: Recall", "Figure: Recall"]
    assert pictures[0]["width"] == "40"
    assert base64.b64decode(pictures[0]["src"].removeprefix("data:image/png;base64,")) == base64.b64decode(PIXEL)
    assert pictures[3]["src"].startswith("data:image/svg+xml;base64,")
    assert made.find_all("svg") == []


def test_a_widget_leaves_its_table_or_says_that_it_was_interactive(page):
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "m", "version_major": 2, "version_minor": 0}, "text/plain": "VBox()"}
    made = page(
        cell(new_output("display_data", view), new_output("display_data", view | {"text/html": "<table><tr><td>7</td></tr></table>"}))
    )
    first, second = made.select(".output")
    assert first.text == "An interactive element was here. Run the notebook to use it."
    assert second.find("td").text == "7"


def test_chunks_keep_their_colours_and_evidence_its_lines(page):
    text = marked_text(
        "One. Two. Three.", [Chunk("d", 0, 9), Chunk("d", 5, 16)], [EvidenceMark(0, 4, cut=False), EvidenceMark(5, 16, cut=True)]
    )
    shown = page(cell(display(text_html=str(text))))
    # The cleaner writes spaces and leading zeros.
    declared, kept = (
        {re.sub(r"0(?=\.)| ", "", span.get("style", "")) for span in html.find_all("span")}
        for html in (BeautifulSoup(text, "html.parser"), shown)
    )
    assert len(declared) == 6
    assert declared <= kept


def test_a_table_that_is_wide_scrolls_by_keyboard(page):
    own = '<div style="overflow-x:auto" tabindex="0" role="group" aria-label="own"><table><tr><td>1</td></tr></table></div>'
    made = page(cell(display(text_html="<table><tr><td>1</td></tr></table>"), display(text_html=own)))
    assert [table.parent["aria-label"] for table in made.find_all("table")] == ["Table", "own"]
    assert [table.parent["tabindex"] for table in made.find_all("table")] == ["0", "0"]


def test_a_failed_cell_shows_its_error_as_text(page):
    error = new_output("error", ename="ValueError", evalue="<b>no</b>", traceback=["\x1b[0;31mValueError\x1b[0m: <b>no</b>"])
    assert page(cell(error)).select_one(".output pre").text == "ValueError: <b>no</b>"


def test_the_command_writes_the_page_beside_the_notebook_and_refuses_what_is_none(tmp_path):
    nbformat.write(new_notebook(cells=[new_markdown_cell("# Why?")]), tmp_path / "one.ipynb")
    done = CliRunner().invoke(main, ["report", str(tmp_path / "one.ipynb")])
    assert (done.exit_code, done.stdout) == (0, f"page: {tmp_path / 'one.html'}\n")
    assert "<h1>Why?</h1>" in (tmp_path / "one.html").read_text("utf-8")
    (tmp_path / "two.ipynb").write_text("{not json")
    for name, message in (("two", "is not a notebook"), ("three", "cannot be read")):
        refused = CliRunner().invoke(main, ["report", str(tmp_path / f"{name}.ipynb")])
        assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
        assert message in refused.stderr


@pytest.mark.parametrize("text", ['{"cells": 3}', "[]", '"x"', '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{}]}', ""])
def test_broken_notebooks_are_refused_in_one_line(tmp_path, text):
    (tmp_path / "broken.ipynb").write_text(text)
    with pytest.raises(InputError, match="is not a notebook"):
        notebook_page(tmp_path / "broken.ipynb")


@pytest.mark.parametrize(
    ("cell_change", "what"),
    [
        ({"outputs": [{"output_type": "display_data", "data": {"image/png": PIXEL}}]}, "'metadata' is a required property"),
        ({"outputs": [{"output_type": "display_data", "metadata": {}}]}, "'data' is a required property"),
        ({"outputs": [{"output_type": "error", "ename": "x", "evalue": "y"}]}, "'traceback' is a required property"),
        ({"outputs": [{"output_type": "stream", "name": "stdout", "text": 5}]}, "5 is not valid"),
        ({"outputs": None}, ""),
        ({"source": None}, ""),
        ({"source": 5}, "5 is not valid"),
        ({"metadata": {"tags": None}}, "None is not of type 'array'"),
        ({"metadata": {"tags": 5}}, "5 is not of type 'array'"),
    ],
)
def test_a_cell_that_nbformat_does_not_know_is_refused_in_one_line_with_its_place(tmp_path, cell_change, what):
    path = tmp_path / "broken.ipynb"
    made = {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": None, "source": "x", "outputs": []} | cell_change
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [made]}))
    refused = CliRunner().invoke(main, ["report", str(path)])
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "is not a notebook" in refused.stderr
    assert what in refused.stderr
    assert "cells" in refused.stderr or not what


def test_json_that_is_nested_too_deeply_is_refused_in_one_line(tmp_path):
    (tmp_path / "deep.ipynb").write_text('{"cells": ' + "[" * 100_000)
    with pytest.raises(InputError, match="is not a notebook: it is nested too deeply"):
        notebook_page(tmp_path / "deep.ipynb")


def test_no_image_metadata_and_halves_of_characters_are_shown(page):
    made = page(
        new_markdown_cell("# Half \ud83d"),
        cell(
            display(image_png=PIXEL, metadata={"image/png": None}), display(text_html="<b>\ud83d</b>"), new_output("stream", text="\udc00")
        ),
    )
    assert made.title.text == "Half \ufffd · Workbench"
    assert made.find("img")["alt"] == "Figure: Half \ufffd"
    assert [made.find("b").text, made.select(".output pre")[0].text] == ["\ufffd", "\ufffd"]


def test_an_output_of_very_many_elements_is_left_out_and_a_long_table_is_not(page):
    deep, rows = "<div>" * 50_000, "<tr><td>1</td></tr>" * 11_000
    made = page(cell(display(text_html=deep), display(text_html=deep, text_plain="short"), display(text_html=f"<table>{rows}</table>")))
    assert [output.text for output in made.select(".output")][:2] == [
        "An output with too many elements was here. Run the notebook to see it.",
        "short",
    ]
    assert len(made.find_all("td")) == 11_000


@pytest.mark.parametrize(
    "address",
    [" data:text/html,x", "DATA:text/html,x", "da\tta:text/html,x", "\x01data:x", "da\nta:x", "vbscript:x", " java\tscript:x", "file:///x"],
)
def test_a_link_leads_to_a_page_or_nowhere(page, address):
    links = f'<a href="{escape(address)}">one</a> <a href="HTTPS://example.org/a:b">two</a> <a href="#here">three</a> <a href="b/c.html">four</a>'
    made = page(cell(display(text_html=links)))
    assert [link.get("href") for link in made.select(".output a")] == [None, "HTTPS://example.org/a:b", "#here", "b/c.html"]


@pytest.mark.parametrize(
    "style",
    [
        "list-style:url(http://192.0.2.1/a)",
        "clip-path:URL( 'http://192.0.2.1/a' )",
        r"list-style:u\72l(http://192.0.2.1/a)",
        "background-color:red;list-style:image-set('http://192.0.2.1/a' 1x)",
        "margin-top:-100000px;background-color:red",
        "/**/margin-top:-9em;background-color:red",
        "MARGIN : 0 0 -9em;background-color:red",
        "margin-left:calc(0px - 9em);background-color:red",
        "position:fixed;background-color:red",
    ],
)
def test_a_style_loads_nothing_and_keeps_its_box_in_its_place(page, style):
    made = page(cell(display(text_html=f'<div style="{style};margin-bottom:1em;color:rgba(1, 2, 3, 0.4)">x</div>')))
    (box,) = made.select(".output > div")
    left = {"background-color:red"} if "background-color" in style else set()
    assert set(box["style"].split(";")) == {"margin-bottom:1em", "color:rgba(1, 2, 3, 0.4)"} | left


@pytest.mark.browser
def test_an_output_cannot_leave_its_box(page, chromium, tmp_path):
    flood = '<div style="height:10px"><div style="height:9000px;background-color:red">flood</div></div>'
    page(cell(display(text_html=flood)), new_markdown_cell("# Below"))
    (tmp_path / "made.html").write_text(notebook_page(tmp_path / "made.ipynb"), "utf-8")
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    try:
        shown = context.new_page()
        shown.goto((tmp_path / "made.html").as_uri())
        box = shown.locator("h1").bounding_box()
        point = [box["x"] + 5, box["y"] + box["height"] / 2]
        assert shown.evaluate("([x, y]) => document.elementFromPoint(x, y).tagName", point) == "H1"
        assert shown.evaluate("document.documentElement.scrollHeight") < 2_000
    finally:
        context.close()
