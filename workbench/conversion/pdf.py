"""PDFs, as Markdown: lines of text with their sizes, which `pdf_layout` makes paragraphs and headings of."""

import ctypes
from collections.abc import Iterator
from itertools import islice
from typing import Any

from workbench.conversion.converted import ConvertedText, UnreadableFileError
from workbench.conversion.pdf_layout import SOFT_HYPHEN, Bookmark, PrintedLine, markdown_of_lines
from workbench.core.formatting import listed, plural

_BOOKMARKS = 10_000
# Characters of a line whose size and weight are read.
_SAMPLED = 8
# What PDFium returns for a hyphen at the end of a line.
_HYPHENS = (0x02, 0xAD, 0xFFFE)
_BOLD = 600
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
        pages = [list(_lines(pdf[number], number)) for number in range(len(pdf))]
        bookmarks = list(_bookmarks(pdf))
    except pypdfium2.PdfiumError as error:
        reason = next((text for word, text in _PROBLEMS.items() if word in str(error).lower()), f"cannot be read as PDF ({error})")
        raise UnreadableFileError(reason) from None
    blank = [str(number) for number, lines in enumerate(pages, 1) if not lines]
    if len(blank) == len(pages):
        raise UnreadableFileError(f"has no text on its {plural(len(pages), 'page')}, as scanned images; recognise the text first (OCR)")
    notes = (
        (f"has no text on page {listed(blank)}",) if len(blank) == 1 else (f"has no text on the pages {listed(blank)}",) if blank else ()
    )
    return ConvertedText(markdown_of_lines(pages, bookmarks), notes)


def _bookmarks(pdf: Any) -> Iterator[Bookmark]:
    for item in islice(pdf.get_toc(), _BOOKMARKS):
        target = item.get_dest()
        yield Bookmark(item.get_title(), item.level + 1, target.get_index() if target else None)


def _lines(page: Any, number: int) -> Iterator[PrintedLine]:
    """Yield the lines of a page that are not blank, in the order of its content."""
    from pypdfium2 import raw

    text = page.get_textpage()
    codes = [raw.FPDFText_GetUnicode(text.raw, index) for index in range(text.count_chars())]
    start = 0
    for index in (*(index for index, code in enumerate(codes) if code in (10, 13)), len(codes)):
        inked = [place for place in range(start, index) if codes[place] > 32]
        if inked:
            sample = inked[:: max(1, len(inked) // _SAMPLED)][:_SAMPLED]
            boxes = [_box(text, place) for place in sample]
            heights = sorted(top - bottom for bottom, top in boxes)
            bold = all(raw.FPDFText_GetFontWeight(text.raw, place) >= _BOLD for place in sample)
            yield PrintedLine(_text(codes[start:index]), number, heights[len(heights) // 2], boxes[0][0], bold)
        start = index + 1


def _box(text: Any, index: int) -> tuple[float, float]:
    """Return the bottom and the top of a character's box, which is as high as its font."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(text.raw, index, ctypes.byref(box))
    return box.bottom, box.top


def _text(codes: list[int]) -> str:
    letters = "".join(SOFT_HYPHEN if code in _HYPHENS else chr(code) for code in codes if code)
    # Characters beyond the first plane come in two halves.
    return letters.encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()
