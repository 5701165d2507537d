import base64
import io

from PIL import Image

from workbench.analysis.standings import Mean
from workbench.report.figures.plots import curves, forest
from workbench.report.render.display import WIDTH_PIXELS, prose, show
from workbench.report.tables.fragments import Column, table, words


def test_text_is_escaped_wherever_it_is_put():
    attack = '<script>window.x=1</script>"'
    for fragment in (prose(attack), table(attack, [words(attack), Column(attack)], [[attack, attack]])):
        assert "<script" not in fragment._repr_html_()
        assert "&lt;script&gt;" in fragment._repr_html_()


def test_numbers_are_set_to_the_right_and_rows_have_headers():
    html = str(table("t", [words("name"), Column("value")], [["a", "0.5"]]).html)
    assert '<th scope="row" class="wb-word">a</th>' in html
    assert '<td class="wb-number">0.5</td>' in html


def test_a_figure_is_a_sharp_png_of_few_colours_with_its_words():
    picture = show(curves((500, 1000), {"a": [0.1, 0.2], "b": [0.2, float("nan")]}), "what it shows")
    data, about = picture._repr_mimebundle_()
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert about == {"image/png": {"alt": "what it shows", "width": WIDTH_PIXELS}}
    assert image.mode == "P"
    assert image.width == 2 * WIDTH_PIXELS
    assert len(picture.png) < 60_000


def test_equal_figures_are_equal_bytes():
    rows = [("a", Mean("recall@5", 0.5, 0.4, 0.6, 10, 5, 0, 1.0)), ("b", Mean("recall@5", 0.5, float("nan"), float("nan"), 1, 1, 0, 1.0))]
    assert show(forest(rows, "recall@5"), "x").png == show(forest(rows, "recall@5"), "x").png
