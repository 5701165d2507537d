import re

from workbench.core.text.display import displayed, excerpt, table_html, text_html, without_formulas

LONG = "configuration-" * 6


def test_a_table_escapes_its_text_and_aligns_columns_of_numbers_right() -> None:
    html = table_html(
        "a <b> title", [{"name": LONG, "n": "1,204", "score": -0.5}, {"name": "<script>", "n": 3, "score": "0.25"}], "a & note"
    )
    assert "a &lt;b&gt; title" in html
    assert "&lt;script&gt;" in html
    assert "a &amp; note" in html
    cells = re.findall(r'<td style="([^"]*)">([^<]*)', html)
    assert [text for style, text in cells if "text-align:right" in style] == ["1,204", "-0.5", "3", "0.25"]
    assert LONG in html


def test_a_title_needs_neither_rows_nor_a_note() -> None:
    assert table_html("alone", []).count("<p") == 1
    assert "<table" not in table_html("alone", [])


def test_a_text_keeps_its_line_breaks() -> None:
    assert "| a |\n| b |" in text_html("page", "| a |\n| b |")
    assert "white-space:pre-wrap" in text_html("page", "")


def test_dollars_and_backslashes_begin_no_formula_and_attributes_stay_as_they_are() -> None:
    assert without_formulas('<td title="$5">$5 and $6, \\(x\\)</td>') == (
        '<td title="$5"><span>$</span>5 and <span>$</span>6, <span>\\</span>(x<span>\\</span>)</td>'
    )


def test_an_excerpt_is_one_line_with_a_limit() -> None:
    assert excerpt("a\n\n b") == "a b"
    assert excerpt("x" * 300, 60) == "x" * 59 + "…"


def test_control_characters_and_halves_of_pairs_are_replaced_in_titles_texts_and_tables() -> None:
    wild = "a\x1b[31m\u202eb\u2066\ud83d\x07c\td\n"
    for html in (text_html(wild, wild), table_html(wild, [{wild: wild}], wild), displayed(wild)):
        assert not set("\x1b\u202e\u2066\ud83d\x07") & set(html)
        assert "a\ufffd[31m\ufffdb\ufffd\ufffd\ufffdc\td\n" in html
