"""HTML pages, as Markdown."""

from bs4.dammit import EncodingDetector

from workbench.conversion.converted import ConvertedText, UnreadableFileError
from workbench.conversion.encoding import decode_text
from workbench.datasets.formats.markup import document_of_html


def convert_html(raw: bytes) -> ConvertedText:
    """Convert a page: headings, lists, simple tables and code stay, scripts and styles go."""
    text, note = _decoded(raw)
    return ConvertedText(markdown_of(text), (note,) if note else ())


def markdown_of(markup: str) -> str:
    """Return a page as Markdown, below its title if it has no heading of the first level. Raises UnreadableFileError if it is not HTML."""
    try:
        page = document_of_html("page", markup)
    except ValueError as error:
        raise UnreadableFileError(f"cannot be read as HTML ({error})") from None
    headed = any(line.startswith("# ") for line in page.text.split("\n"))
    return f"# {page.title}\n\n{page.text}" if page.title and page.text.strip() and not headed else page.text


def _decoded(raw: bytes) -> tuple[str, str]:
    declared = EncodingDetector.find_declared_encoding(raw, is_html=True)
    if declared and declared.lower() not in ("utf-8", "utf8"):
        try:
            return raw.decode(declared), ""
        except (LookupError, UnicodeDecodeError):
            pass
    return decode_text(raw)
