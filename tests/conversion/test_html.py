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
