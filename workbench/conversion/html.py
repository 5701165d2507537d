"""HTML pages, as Markdown."""

from collections.abc import Callable

from bs4 import BeautifulSoup
from bs4.dammit import EncodingDetector

from workbench.conversion.converted import ConvertedText, UnreadableFileError
from workbench.conversion.encoding import decode_text
from workbench.conversion.page_content import content_of
from workbench.datasets.formats.markup import parsed_html, text_of_html, title_of_html


def convert_html(raw: bytes) -> ConvertedText:
    """Convert the content of a page: headings, lists, simple tables and code stay; scripts, styles, navigation and hidden parts go.

    Raises UnreadableFileError if it is not HTML, or only redirects.
    """
    markup, note = _decoded(raw)
    soup = _parsed(markup)
    title = title_of_html(soup)
    text = text_of_html(content_of(soup))
    if not text.strip():
        # All of it is in parts that mostly are not content.
        text = text_of_html(_parsed(markup))
    return ConvertedText(_titled(title, text), (note,) if note else ())


def markdown_of(markup: str, change: Callable[[BeautifulSoup], None]) -> str:
    """Return HTML that a converter wrote as Markdown, after a `change` to its elements. Raises UnreadableFileError if it is not HTML."""
    soup = _parsed(markup)
    change(soup)
    return _titled(title_of_html(soup), text_of_html(soup))


def _parsed(markup: str) -> BeautifulSoup:
    try:
        return parsed_html(markup)
    except ValueError as error:
        raise UnreadableFileError(f"cannot be read as HTML ({error})") from None


def _titled(title: str, text: str) -> str:
    """Return a text below its title if it has no heading of the first level."""
    headed = any(line.startswith("# ") for line in text.split("\n"))
    return f"# {title}\n\n{text}" if title and text.strip() and not headed else text


def _decoded(raw: bytes) -> tuple[str, str]:
    declared = EncodingDetector.find_declared_encoding(raw, is_html=True)
    if declared and declared.lower() not in ("utf-8", "utf8"):
        try:
            return raw.decode(declared), ""
        except (LookupError, UnicodeDecodeError):
            pass
    return decode_text(raw)
