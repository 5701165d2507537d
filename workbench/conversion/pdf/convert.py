"""PDFs, as Markdown: `lines` reads their lines, `order` orders them, and `layout` makes paragraphs, headings and code of them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from workbench.conversion.converted import ConvertedText, UnreadableFileError
from workbench.conversion.pdf.layout import Bookmark, markdown_of_lines
from workbench.conversion.pdf.lines import PrintedLine, printed_lines
from workbench.conversion.pdf.order import doubt_of, in_reading_order
from workbench.core.formatting import listed, plural

_BOOKMARKS = 10_000
_PROBLEMS = {
    "password": "is encrypted; remove its password",
    "data format": "is no complete PDF",
    "security": "is encrypted in a way that is not supported; remove its password",
}


def convert_pdf(raw: bytes) -> ConvertedText:
    """Convert a PDF with text. Headings are bookmarks, and lines in larger or bolder type than the rest."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(raw)
        pages = [list(printed_lines(pdf[number], number)) for number in range(len(pdf))]
        bookmarks = list(_bookmarks(pdf))
    except pypdfium2.PdfiumError as error:
        reason = next((text for word, text in _PROBLEMS.items() if word in str(error).lower()), f"cannot be read as PDF ({error})")
        raise UnreadableFileError(reason) from None
    if not any(pages):
        raise UnreadableFileError(f"has no text on its {plural(len(pages), 'page')}, as scanned images; recognise the text first (OCR)")
    return ConvertedText(markdown_of_lines([in_reading_order(lines) for lines in pages], bookmarks), tuple(_notes(pages)))


def _notes(pages: Sequence[Sequence[PrintedLine]]) -> Iterator[str]:
    """Say which pages have no text, and on which the order of the text is doubtful."""
    if blank := [number for number, lines in enumerate(pages, 1) if not lines]:
        yield f"has no text on {_named(blank)}"
    doubts = defaultdict[str, list[int]](list)
    for number, lines in enumerate(pages, 1):
        if doubt := doubt_of(lines):
            doubts[doubt].append(number)
    for doubt, numbers in doubts.items():
        yield f"{doubt} on {_named(numbers)}; check the order of its text"


def _named(numbers: Sequence[int]) -> str:
    return f"page {numbers[0]}" if len(numbers) == 1 else f"the pages {listed([str(number) for number in numbers])}"


def _bookmarks(pdf: Any) -> Iterator[Bookmark]:
    for item in islice(pdf.get_toc(), _BOOKMARKS):
        target = item.get_dest()
        yield Bookmark(item.get_title(), item.level + 1, target.get_index() if target else None)
