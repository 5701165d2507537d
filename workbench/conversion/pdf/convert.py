"""PDFs, as Markdown: `lines` reads their lines, `running` finds headers and footers, `order` orders the rest.

`layout` makes paragraphs, headings and code of the lines, and `unread` finds what is on the pages beside their text.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from workbench.conversion.pdf.layout import markdown_of_lines
from workbench.conversion.pdf.lines import PrintedPage, printed_page
from workbench.conversion.pdf.order import doubt_of, in_reading_order
from workbench.conversion.pdf.running import running_lines
from workbench.conversion.text import ConvertedText, UnreadableFileError, unread_note
from workbench.core.formatting import count, listed, plural, share

# A scan fills most of its page, and an image of less of it is a rule, a bullet or a strip of another image.
_SCAN, _LEAST = 0.5, 0.002
# Where forms and groups are nested deeper, images are not looked for.
_DEEPEST = 8

_BOOKMARKS = 10_000
# With more characters without text, the rest is mostly numbers and punctuation.
_MOST_UNREAD = 0.5
# Fewer are bullets or symbols.
_FEW_UNREAD = 0.01
# A page with an image as large as the page and fewer characters has a stamp or a page number.
_SCAN_CHARACTERS = 100
_PROBLEMS = {
    "password": "is encrypted; remove its password",
    "data format": "is no complete PDF",
    "security": "is encrypted in a way that is not supported; remove its password",
}


@dataclass(frozen=True)
class UnreadParts:
    """The numbers of a page's images, form fields and other annotations, and whether an image is as large as a scan of the page."""

    images: int
    fields: int
    annotations: int
    is_scan: bool


def unread_parts(page: Any) -> UnreadParts:
    """Count the parts of a page that are not read. Links are not counted."""
    from pypdfium2 import raw

    width, height = page.get_size()
    shares = [_area(*image.get_bounds()) / max(width * height, 1.0) for image in page.get_objects((raw.FPDF_PAGEOBJ_IMAGE,), _DEEPEST)]
    kinds = [_kind(page, number) for number in range(raw.FPDFPage_GetAnnotCount(page))]
    # A pop-up window belongs to another annotation.
    beside = (raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP)
    return UnreadParts(
        images=sum(share >= _LEAST for share in shares),
        fields=kinds.count(raw.FPDF_ANNOT_WIDGET),
        annotations=sum(kind not in beside for kind in kinds),
        is_scan=any(share >= _SCAN for share in shares),
    )


def _kind(page: Any, number: int) -> int:
    from pypdfium2 import raw

    annotation = raw.FPDFPage_GetAnnot(page, number)
    kind = int(raw.FPDFAnnot_GetSubtype(annotation))
    raw.FPDFPage_CloseAnnot(annotation)
    return kind


def _area(left: float, bottom: float, right: float, top: float) -> float:
    return max(right - left, 0.0) * max(top - bottom, 0.0)


def convert_pdf(raw: bytes) -> ConvertedText:
    """Convert a PDF with text. Headings are bookmarks, and lines in larger or bolder type than the rest."""
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(raw)
        if pdf.get_formtype() == pypdfium2.raw.FORMTYPE_XFA_FULL:
            raise UnreadableFileError("is a form whose pages only Adobe Reader makes (XFA); print it there as a PDF")
        pages, beside, broken = _read_pages(pdf)
        entries = [(item, item.get_dest()) for item in islice(pdf.get_toc(), _BOOKMARKS)]
        bookmarks = [(item.get_title(), item.level + 1, target.get_index() if target else None) for item, target in entries]
        attached = pdf.count_attachments()
    except pypdfium2.PdfiumError as error:
        reason = next((text for word, text in _PROBLEMS.items() if word in str(error).lower()), f"cannot be read as PDF ({error})")
        raise UnreadableFileError(reason) from None
    damaged = [f"is damaged: {_named(broken)} cannot be read"] if broken else []
    notes_beside = [*damaged, *_notes_beside(pages, beside, attached)]
    _require_text(pages, notes_beside)
    running = running_lines(pages)
    lines = [line for page in pages for line in in_reading_order(page.lines) if line not in running.removed]
    return ConvertedText(markdown_of_lines(lines, bookmarks, running.once), (*_notes(pages, broken), *running.notes, *notes_beside))


def _read_pages(pdf: Any) -> tuple[list[PrintedPage], list[UnreadParts], list[int]]:
    """Return the text of the pages, their unread parts, and the numbers of damaged pages. Raises PdfiumError if all are damaged."""
    import pypdfium2

    pages, beside, broken = list[PrintedPage](), list[UnreadParts](), list[int]()
    for number in range(len(pdf)):
        try:
            page = pdf[number]
            pages.append(printed_page(page, number))
            beside.append(unread_parts(page))
        except pypdfium2.PdfiumError:
            broken.append(number + 1)
            if len(broken) == len(pdf):
                raise
            pages[number:], beside[number:] = [PrintedPage((), 0.0, 0.0, 0)], [UnreadParts(0, 0, 0, False)]
    return pages, beside, broken


def _require_text(pages: Sequence[PrintedPage], notes: Sequence[str]) -> None:
    unread, characters = sum(page.unread for page in pages), sum(page.characters for page in pages)
    if unread > _MOST_UNREAD * characters:
        raise UnreadableFileError(
            f"has no text for {count(unread)} of its {count(characters)} characters ({share(unread, characters)}), "
            "as their fonts have no Unicode map; recognise the text first (OCR)"
        )
    if not any(page.lines for page in pages):
        reason = f"has no text on its {plural(len(pages), 'page')}, as scanned images; recognise the text first (OCR)"
        raise UnreadableFileError("; it ".join((reason, *notes)))


def _notes(pages: Sequence[PrintedPage], broken: Collection[int]) -> Iterator[str]:
    """Yield notes on pages without text, with characters without text, or with a doubtful order of the text."""
    if blank := [number for number, page in enumerate(pages, 1) if not page.lines and not page.unread and number not in broken]:
        yield f"has no text on {_named(blank)}"
    if unread := [number for number, page in enumerate(pages, 1) if page.unread]:
        missing, characters = sum(page.unread for page in pages), sum(page.characters for page in pages)
        fix = "; recognise the text first (OCR)" if missing > _FEW_UNREAD * characters else ""
        what = f"{plural(missing, 'character')} ({share(missing, characters)})"
        yield f"has {what} without a text on {_named(unread)}, in fonts without a Unicode map{fix}"
    if unsure := [number for number, page in enumerate(pages, 1) if page.unsure]:
        yield f"has a font without a Unicode map on {_named(unsure)}; check its text"
    doubts = defaultdict[str, list[int]](list)
    for number, page in enumerate(pages, 1):
        if doubt := doubt_of(page.lines):
            doubts[doubt].append(number)
    for doubt, numbers in doubts.items():
        yield f"{doubt} on {_named(numbers)}; check the order of its text"


def _notes_beside(pages: Sequence[PrintedPage], beside: Sequence[UnreadParts], attached: int) -> Iterator[str]:
    """Yield notes on the parts of a PDF that are not read: images, fields of forms, annotations and attached files."""
    scans = [
        number
        for number, (page, parts) in enumerate(zip(pages, beside, strict=True), 1)
        if parts.is_scan and 0 < page.characters < _SCAN_CHARACTERS
    ]
    if scans:
        yield f"has a scanned image and little text on {_named(scans)}; recognise the text first (OCR)"
    # The image below recognised text is its scan.
    if images := [number for number, parts in enumerate(beside, 1) if parts.images and not parts.is_scan]:
        yield f"has images on {_named(images)} that are not read"
    counted = {
        "form field": sum(parts.fields for parts in beside),
        "annotation": sum(parts.annotations for parts in beside),
        "attached file": attached,
    }
    yield from unread_note(counted)


def _named(numbers: Sequence[int]) -> str:
    return f"page {numbers[0]}" if len(numbers) == 1 else f"the pages {listed([str(number) for number in numbers])}"
