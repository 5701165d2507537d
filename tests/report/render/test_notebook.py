import base64
import io
import re

from PIL import Image

from workbench.measures.statistics.intervals import Interval
from workbench.report.analysis.passages import Piece
from workbench.report.canvas import IntervalRow, differences_drawing
from workbench.report.model import (
    Bar,
    Cell,
    Collapsible,
    Column,
    Columns,
    Fact,
    Figure,
    Headline,
    Lines,
    NextStep,
    Opening,
    Prose,
    Row,
    Section,
    Table,
    Term,
    Terms,
)
from workbench.report.render.notebook import Html, Picture, picture, show
from workbench.report.topics.retrieval.curves import recall_drawing

ATTACK = '<script>window.x=1</script><a href="http://evil.example/">"'
# What an untrusted notebook keeps of a page: JupyterLab's list of elements, without pictures.
KEPT = {
    "a",
    "article",
    "caption",
    "code",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "h4",
    "h5",
    "li",
    "mark",
    "p",
    "small",
}
KEPT |= {"span", "strong", "summary", "table", "tbody", "td", "th", "thead", "tr", "ul"}


def table(text: str) -> Table:
    cells = [Cell(text), Cell("0.5", 0.5, note=text), Cell("", bar=Bar(4.0, 50.0, 96.0)), Cell("0.5", 0.5, shade=4)]
    columns = [Column(text, "word"), Column(text, note=text), Column("", "bar"), Column(text, "shade", upright=True)]
    return Table(text, columns, [Row(cells)], text, "apart", key=((text, text),))


def every_block(text: str) -> list:
    passage = Term(text, text, pieces=[Piece(text), Piece(text, "missed"), Piece(text, "delivered")])
    return [
        *(table(text), Headline(text, text), Prose(text), Lines([text]), Terms([Term(text, text, text), Term(text, text, code=True)])),
        *(
            Opening(text, lines=[text], facts=[Fact(text, text, text)], step=NextStep(text, text), notes=[text]),
            Collapsible(text, [Prose(text)], text),
        ),
        *(
            Columns([table(text)]),
            Section(text, "s", [Section(text, "u", [Prose(text)])]),
            Terms([passage, passage], label=text),
        ),
    ]


def test_text_is_escaped_wherever_it_is_put():
    html = show(*every_block(ATTACK))._repr_html_()
    assert "<script" not in html
    assert all(link.startswith("#") for link in re.findall('href="([^"]*)', html))
    assert html.count("&lt;script&gt;") > 30


def test_everything_is_styled_in_place_with_elements_that_an_untrusted_notebook_keeps():
    html = show(*every_block("x")).html
    assert "class=" not in html
    assert "<style" not in html
    assert "var(" not in html
    assert set(re.findall(r"<([a-z0-9]+)", html)) <= KEPT


def test_numbers_are_set_to_the_right_and_rows_have_headers():
    html = show(Table("t", [Column("name", "word"), Column("value")], [Row([Cell("a"), Cell("0.5")])])).html
    assert re.search(r'<th scope="row" style="[^"]*">a</th>', html)
    assert re.search(r'<td style="[^"]*text-align:right[^"]*">0.5</td>', html)


def test_a_figure_is_a_picture_between_the_html_around_it():
    figure = Figure(
        "one", "what it shows", "how it is read", recall_drawing((500, 1000), [("a", [0.1, 0.2])]), table("numbers"), (("a…b", "ab"),)
    )
    before, drawn, after = show(Prose("before"), Columns([figure]), Prose("after")).parts
    assert isinstance(before, Html)
    assert isinstance(drawn, Picture)
    assert drawn.alt == "what it shows"
    assert [text in after.html for text in ("how it is read", "The numbers of this figure", "a…b", "after")] == [True] * 4


def test_a_figure_is_a_sharp_png_of_few_colours_with_its_words():
    found = picture(recall_drawing((500, 1000), [("a", [0.1, 0.2]), ("b", [0.2, float("nan")])]), "what it shows")
    data, about = found._repr_mimebundle_()
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert about == {"image/png": {"alt": "what it shows", "width": 576}}
    assert image.mode == "P"
    assert image.width == 2 * 576
    assert len(found.png) < 60_000


def test_equal_figures_are_equal_bytes():
    rows = [
        IntervalRow("a", Interval(0.1, 0.0, 0.2, 9, 9), False),
        IntervalRow("b", Interval(0.5, float("nan"), float("nan"), 4, 4), True),
    ]
    assert picture(differences_drawing(rows, "recall@5", 2), "x").png == picture(differences_drawing(rows, "recall@5", 2), "x").png
