"""A web page becomes its content: without what its elements and roles call navigation, and without what it hides."""

import pytest

from workbench.conversion.converted import UnreadableFileError
from workbench.conversion.registry import convert

BODY = "<p>Every bike must be returned to the shed before 18:30, and a late return costs 15 euros.</p>"


def text_of(body: str, head: str = "<title>Bikes</title>") -> str:
    return convert(".html", f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode()).text


def test_only_the_main_element_is_read():
    help_text = "<div><h2>Keyboard shortcuts</h2><p>Press S to search in the book</p></div>"
    for opening, closing in (("<main>", "</main>"), ("<div role='main'>", "</div>"), ("<article>", "</article>")):
        page = f"{help_text}<ul id='themes'><li>Ayu</li></ul>{opening}<h1>Return</h1>{BODY}{closing}<p>Made by a machine</p>"
        assert text_of(page) == f"# Return\n\n{BODY[3:-4]}\n"


def test_a_main_element_with_little_of_the_page_is_not_its_content():
    text = text_of(f"{BODY * 9}<main><p>Loading</p></main>")
    assert text.count("before 18:30") == 9
    two = text_of(f"<article>{BODY}</article><article><p>Another article of the same page.</p></article>")
    assert "before 18:30" in two
    assert "Another article" in two


def test_navigation_and_hidden_parts_are_left_out():
    parts = [
        "<nav><a href='x'>Next</a> XX</nav>",
        "<footer>XX</footer>",
        "<aside>XX</aside>",
        "<div role='navigation'>XX</div>",
        "<div role=contentinfo>XX</div>",
        "<div hidden>XX</div>",
        "<span aria-hidden='true'>XX</span>",
        "<div style='color: red; Display : none'><p>XX</p></div>",
        "<template>XX</template>",
        "<noscript>XX</noscript>",
        "<a class='headerlink' href='#a'>¶</a>",
    ]
    kept = f"# Return\n\n{BODY[3:-4]}\n"
    assert {around: text_of(f"<h1>Return</h1>{around}{BODY}") for around in parts} == dict.fromkeys(parts, kept)


def test_parts_that_are_content_stay():
    text = text_of(
        f"<main><h1>Return</h1>{BODY}<aside>Ring the bell.</aside><p hidden='until-found'>Opens later.</p>"
        "<blockquote>Ride<footer>Ada</footer></blockquote><p><a href='#n'>Note 1</a></p></main>"
    )
    assert all(part in text for part in ("Ring the bell.", "Opens later.", "Ada", "Note 1"))
    assert "The whole page is in a footer" in text_of("<footer>The whole page is in a footer</footer>")


def test_a_page_that_only_redirects_is_refused_and_one_that_reloads_itself_is_read():
    with pytest.raises(UnreadableFileError, match="only redirects to another page"):
        text_of("<p>Redirecting to <a href='b.html'>b.html</a>.</p>", '<meta http-equiv="Refresh" content="0; URL=b.html">')
    assert "before 18:30" in text_of(BODY, '<meta http-equiv="refresh" content="30">')
    assert "before 18:30" in text_of(BODY * 9, '<meta http-equiv="refresh" content="30; url=b.html">')


def test_parts_that_are_not_read_are_named():
    parts = {
        "<div hidden>Secret</div><p style='display:none'>More</p>": "2 hidden parts",
        "<template><p>Later</p></template>": "1 hidden part",
        "<noscript>Turn scripts on</noscript>": "1 hidden part",
        "<img src=a.png><img src=b.png alt='A bike'><img src=line.png alt=''>": "2 images",
        "<iframe src=b.html></iframe>": "1 embedded page",
        "<object data=a.pdf>No viewer</object><embed src=b.swf>": "2 embedded objects",
        "<svg><text>9 euros</text></svg><svg><path d='M0 0'/></svg>": "1 drawing",
        "<video src=a.mp4></video><audio src=a.mp3></audio>": "2 media files",
        "<ruby>京都<rp>(</rp><rt>きょうと</rt><rp>)</rp></ruby>": "1 ruby text",
        "<div hidden><img src=a.png></div><nav><img src=b.png></nav>": "",
    }
    made = {part: convert(".html", f"<h1>Return</h1>{part}{BODY}".encode()) for part in parts}
    notes = {part: (f"has {what} that {'is' if what.startswith('1') else 'are'} not read",) if what else () for part, what in parts.items()}
    assert {part: page.notes for part, page in made.items()} == notes
    kept = {page.text.replace("\n\n京都", "") for page in made.values()}
    assert kept == {f"# Return\n\n{BODY[3:-4]}\n"}


def test_a_main_element_beside_more_text_is_noted():
    page = convert(".html", f"<div>{BODY * 3}</div><main>{BODY}</main>".encode())
    assert page.notes == ("has 75.0 % of its text outside of its main element, which is not read",)
    assert convert(".html", f"<nav>{BODY * 3}</nav><main>{BODY}</main>".encode()).notes == ()


def test_rows_with_joined_cells_stay_lines():
    rows = "<tr><td rowspan=2>Pool</td><td>Adults</td><td>9</td></tr><tr><td>Children</td><td>4</td></tr><tr><td colspan=3>Closed on Mondays</td></tr>"
    assert text_of(f"<table><tr><th>Where</th><th>Who</th><th>Price</th></tr>{rows}</table>", "") == (
        "| Where | Who | Price |\n| --- | --- | --- |\n| Pool | Adults | 9 |\n| Pool | Children | 4 |\n| Closed on Mondays |  |  |\n"
    )
    # A list in a cell is no line.
    assert "|" not in text_of("<table><tr><td colspan=2>A</td></tr><tr><td><ul><li>B</li></ul></td><td>C</td></tr></table>", "")
    assert "word" in text_of("<table><tr><td rowspan=99999 colspan=99999>word</td></tr><tr><td>b</td></tr></table>", "")


def test_equations_raised_numbers_and_soft_hyphens_keep_their_meaning():
    source = "<math><semantics><mrow><mi>E</mi><mo>=</mo><mi>m</mi></mrow><annotation encoding='application/x-tex'>E = m c^2</annotation></semantics></math>"
    assert text_of(f"<p>So {source} holds for 10<sup>6</sup> cells on 4 m<sup>2</sup> of soft&shy;ware<sup>th</sup>.</p>", "") == (
        "So E = m c^2 holds for 10⁶ cells on 4 m² of softwareth.\n"
    )
    assert text_of("<p>So <math><mi>x</mi><mo>=</mo><mn>2</mn></math>.</p>", "") == "So x=2.\n"
