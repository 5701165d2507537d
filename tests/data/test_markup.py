import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.formats.markup import document_of_html

PAGE = """<!DOCTYPE html>
<html><head><title> Leave
 &amp; travel </title><style>p {color: red}</style><script>var x = "<p>no</p>";</script></head>
<body><!-- a comment -->
<h1>Leave</h1>
<p>Thirty&nbsp;days <b>a</b> year;<br>H<sub>2</sub>O is
 free.</p>
<h2>Rules</h2>
<ul><li>Ask <a href="x">first</a></li><li><p>Then go</p><ol><li>by train</li><li>by bus</li></ol></li><li>Return</li></ul>
<table><caption>Days</caption><tr><th>Who</th><th>Days</th></tr><tr><td>a|b</td><td>30<br>or 31</td></tr></table>
<pre>
x = 1
  y = ```2```
</pre>
<div>Loose <span>text</span></div>tail
</body></html>"""
TEXT = """# Leave

Thirty days a year;
H2O is free.

## Rules

- Ask first
- Then go
  1. by train
  2. by bus
- Return

Days

| Who | Days |
| --- | --- |
| a\\|b | 30 or 31 |

````
x = 1
  y = ```2```
````

Loose text

tail"""


def text_of(markup: str) -> str:
    return document_of_html("d", markup).text


def test_a_page_becomes_markdown_without_scripts_and_styles() -> None:
    document = document_of_html("d", PAGE)
    assert document.text == TEXT
    assert document.title == "Leave & travel"


def test_pages_that_people_write() -> None:
    pages = {
        "<p>one<p>two": "one\n\ntwo",
        "<ul><li>one<li>two</ul>three": "- one\n- two\n\nthree",
        "<title>T</title><head><body><p>kept": "kept",
        "<li>alone": "- alone",
        "<ul><li></li><li>x</li></ul>": "- x",
        "<h2></h2><p>x</p>": "x",
        "<table><tr><td>layout only</td></tr></table>": "layout only",
        "<table><tr><td colspan=2>wide</td></tr><tr><td>a</td><td>b</td></tr></table>": "wide\n\na\n\nb",
        "<table><tr><td>a</td><td><ul><li>b</li></ul></td></tr><tr><td>c</td><td>d</td></tr></table>": "a\n\n- b\n\nc\n\nd",
        "<svg><title>icon</title></svg><p>x": "x",
        '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body><p>x</p></body></html>': "x",
        "just text &lt;b&gt;": "just text <b>",
        "<script>only()</script>": "",
        "<pre> </pre>": "",
        "http://example.org": "http://example.org",
    }
    assert {markup: text_of(markup) for markup in pages} == pages


def test_a_page_nested_deeper_than_python_recurses_is_read() -> None:
    assert text_of("<div>" * 5000 + "<p>deep</p>" + "</div>" * 5000) == "deep"
    assert text_of("<p>x" * 3000).count("x") == 3000


@given(
    words=st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1), min_size=1, max_size=5),
    tag=st.sampled_from(["p", "li", "td", "h3", "b", "x-y"]),
)
def test_every_word_of_a_page_is_in_its_text_in_order(words: list[str], tag: str) -> None:
    found = text_of("".join(f"<{tag}>{word}</{tag}> " for word in words))
    assert [word for word in found.split() if word not in ("-", "###")] == words


@given(st.text())
def test_any_text_is_read_twice_alike(markup: str) -> None:
    assert text_of(markup) == text_of(markup)


def calls(page: str) -> int:
    """The number of function calls of a conversion, which unlike its time is the same on a busy machine."""
    made = 0

    def count(*_: object) -> None:
        nonlocal made
        made += 1

    sys.setprofile(count)
    try:
        text_of(page)
    finally:
        sys.setprofile(None)
    return made


def test_the_work_on_a_nested_page_is_proportional_to_its_length() -> None:
    pieces = [
        "<table><tr><td>x",
        "<tr><td>a<td>b",
        "<ul><li>x",
        "<p>x</p><script>1</script>",
        "<svg><g><title>x",
    ]
    growth = {piece: calls("<table>" + piece * 160) / calls("<table>" + piece * 40) for piece in pieces}
    assert {piece: times for piece, times in growth.items() if times >= 5} == {}


def test_items_of_deep_lists_are_not_indented_without_end() -> None:
    assert len(text_of("<ul><li>x" * 1000)) < 100 * 1000


def test_a_page_that_would_take_too_long_is_refused_before_it_is_parsed(wording) -> None:
    wording(
        lambda page: document_of_html("d", page),
        [
            "<a " * 1000,
            "<!-- >" * 1000,
            "<![CDATA[>" * 1000,
            "<p>x" * 10_001,
            "<b>" * 2_000_001,
        ],
        ValueError,
    )


def test_signs_that_open_no_tag_are_text() -> None:
    assert text_of("<p>" + "1 < 2 and " * 300).count("1 < 2 and") == 300


@pytest.mark.parametrize(
    "declarations", ['<!ENTITY ferry "boat">', '<!ENTITY a "x">\n<!ELEMENT b (#PCDATA)>\n', "<!-- a > b -->"], ids=["one", "two", "comment"]
)
def test_declarations_in_the_document_type_are_no_text(declarations: str) -> None:
    page = document_of_html(
        "d", f"<?xml version='1.0'?>\n<!DOCTYPE html [{declarations}] >\n<html><body><p>The [ferry]> leaves.</p></body></html>"
    )
    assert page.text == "The [ferry]> leaves."
    assert document_of_html("d", "<!DOCTYPE html [ <p>Never closed").text.endswith("Never closed")
