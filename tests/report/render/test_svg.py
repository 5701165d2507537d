import re

from workbench.report.canvas import ACCENT, MUTED, canvas
from workbench.report.render.html import inline_svg


def drawn(name="one"):
    figure, (axes,) = canvas(2)
    axes.plot([0, 1], [0, 1], color=ACCENT, marker="o")
    axes.axvline(0.5, color=MUTED)
    axes.set_title("a <b> & c")
    return inline_svg(figure, name, "what it <shows>")


def test_colours_are_classes_and_nothing_is_styled_or_loaded():
    found = drawn()
    assert 'class="stroke-accent"' in found
    assert "stroke-muted" in found
    assert "style" not in found
    assert not re.search(r"#[0-9a-f]{6}", found)
    assert "http" not in found


def test_it_has_a_title_and_text_that_is_text():
    found = drawn()
    assert 'role="img"' in found
    assert '<title id="one-title">what it &lt;shows&gt;</title>' in found
    assert "a &lt;b&gt; &amp; c" in found
    assert "<text" in found


def test_ids_are_unique_to_a_figure_and_rendering_is_deterministic():
    ids = re.findall(r' id="([^"]+)"', drawn())
    assert all(one.startswith("one-") for one in ids)
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn())) <= set(ids)
    assert drawn() == drawn()
    assert not set(ids) & set(re.findall(r' id="([^"]+)"', drawn("two")))
