"""PDFs, as Markdown: `lines` reads their lines, `order` finds headers and footers and orders the rest, and this module makes paragraphs of them."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any

from workbench.core.text.formatting import count, listed, plural, share
from workbench.data.conversion.pdf.lines import LINE_END_HYPHEN, LineEndHyphens, PrintedLine, PrintedPage, body_height, printed_page
from workbench.data.conversion.pdf.reading_order import doubt_of, in_reading_order, running_lines
from workbench.data.conversion.text import ConvertedText, UnreadableFileError, unread_note
from workbench.data.formats.markup import code_block

# A document in which more of the text is of one width was written with a typewriter, or is a terminal's.
_MOSTLY = 0.7
# The distance between lines of one listing, in heights of a line.
_APART = 3.5
# The usual distance of lines, in heights.
_SPACING = 1.15
# The difference of two left edges that are the same, and the deepest indentation that is kept.
_SAME_EDGE, _MOST_INDENTED = 1.5, 60

# A heading is this much higher than most lines, or bold.
_LARGER = 1.12
_LONGEST_HEADING = 120
_LEVELS = 4
# The distance of two lines of a paragraph, in heights of a line.
_WITHIN = 1.45
_ITEM = re.compile(r"(?:[•◦▪‣●○■·*–—-]|\d{1,3}[.)]|[a-z][.)])\s+\S")
_BULLET = re.compile(r"[•◦▪‣●○■·–—]\s+")
_ENDS = re.compile(r"[.!?:;,]$")
# A hyphen at the end of a line that PDFium has not joined, and dashes that join two words or numbers.
_HYPHEN_ENDS, _DASH_ENDS = re.compile(r"\w[-\u2010]$"), re.compile(r"\w[–—\u2011]$")
# A minus sign at the end of a line. Behind a number it is a dash.
_SIGN_ENDS = re.compile(r"(?:^|[^\s\d%°]\s+|[(\[])[-−]$")
# Dots between an entry of a table of contents and its page.
_LEADER = re.compile(r"\s*(?:[.·․‥…]\s?){5,}(\s*(?:\d+|[ivxlcdm]+))?$", re.IGNORECASE)
_PAGE = re.compile(r"\d+|[ivxlcdm]+", re.IGNORECASE)


def code_lines(lines: Sequence[PrintedLine]) -> frozenset[int]:
    """Return the numbers of the lines that are code. Code that fills a line inside of a paragraph is not."""
    fixed = sum(len(line.text) for line in lines if line.fixed)
    if fixed > _MOSTLY * sum(len(line.text) for line in lines):
        return frozenset()
    found = set[int]()
    for number, line in enumerate(lines):
        above = lines[number - 1] if number and number - 1 not in found else None
        if line.fixed and not (above and _inside(above, line)):
            found.add(number)
    return frozenset(found)


def _inside(above: PrintedLine, line: PrintedLine) -> bool:
    """Return True if a line continues the sentence of the line above it."""
    near = above.page == line.page and 0 < above.bottom - line.bottom <= _WITHIN * max(line.height, above.height)
    return near and abs(above.left - line.left) < _SAME_EDGE and not re.search(r"[.!?:]$", above.text)


def goes_on(last: PrintedLine, line: PrintedLine) -> bool:
    """Return True if a line of code belongs to the listing that ends with another one, on this page or the one before."""
    return last.page != line.page or abs(last.bottom - line.bottom) <= _APART * max(last.height, line.height)


def fenced(lines: Sequence[PrintedLine]) -> str:
    """Return lines of code as a block of Markdown."""
    edge = min(line.left for line in lines)
    widths = sorted((line.right - line.left) / len(line.text) for line in lines if line.text)
    width = max(widths[len(widths) // 2], 0.1)
    rows = [_indented(lines[0], edge, width)]
    for above, line in pairwise(lines):
        distance = above.bottom - line.bottom if above.page == line.page else 0.0
        if above.page == line.page and abs(distance) < 0.4 * line.height:
            # A part of the same line.
            rows[-1] += " " * max(1, min(_MOST_INDENTED, round((line.left - above.right) / width))) + _code(line)
        else:
            rows += [""] * max(0, round(distance / (_SPACING * line.height)) - 1)
            rows.append(_indented(line, edge, width))
    return code_block("\n".join(rows))


def _indented(line: PrintedLine, edge: float, width: float) -> str:
    return " " * min(_MOST_INDENTED, round((line.left - edge) / width)) + _code(line)


def _code(line: PrintedLine) -> str:
    return line.text.replace(LINE_END_HYPHEN, "-")


# An entry of a PDF's outline: its title, its level from 1, and its page from 0, or None.
Bookmark = tuple[str, int, int | None]


@dataclass
class _PrintedBlock:
    """Lines that belong together. `level` is 0 for a paragraph; `code` are the lines of a listing."""

    text: str
    last: PrintedLine
    level: int = 0
    code: list[PrintedLine] = field(default_factory=list)


def markdown_of_lines(lines: Sequence[PrintedLine], bookmarks: Sequence[Bookmark] = (), running: Collection[PrintedLine] = ()) -> str:
    """Return the text of lines as Markdown, without dot leaders and hyphens that divide words.

    Lines of `running` are headers and footers. They interrupt no paragraph and are no headings.
    """
    code = code_lines(lines)
    headings = _headings(lines, bookmarks, {*code, *(number for number, line in enumerate(lines) if line in running)})
    blocks: list[_PrintedBlock] = []
    # The block that a line can go on with: of the body, or of a header or footer.
    latest: dict[bool, _PrintedBlock] = {}
    for number, line in enumerate(lines):
        level, in_margin = headings.get(number, 0), line in running
        before = latest.get(in_margin)
        if number in code and not level:
            if not (before and before.code and goes_on(before.last, line)):
                before = _PrintedBlock("", line)
                blocks.append(before)
            before.code.append(line)
        elif before and _continues(before, line, level):
            before.text = _joined(before.text, line.text)
        else:
            before = _PrintedBlock(line.text, line, level)
            blocks.append(before)
        before.last = line
        latest[in_margin] = before
    hyphens = LineEndHyphens(block.text for block in blocks)
    return "\n\n".join(_markdown(block, hyphens) for block in blocks)


def _headings(lines: Sequence[PrintedLine], bookmarks: Sequence[Bookmark], code: Collection[int]) -> dict[int, int]:
    """Return the level of each line that is a heading, by its number. A line of `code` is one if it is larger, or a bookmark."""
    titles = {(_letters(title), page): level for title, level, page in bookmarks}
    body = body_height(lines)
    large = [number for number, line in enumerate(lines) if line.height >= _LARGER * body and _may_head(line)]
    sizes = sorted({lines[number].size for number in large}, reverse=True)
    levels = {number: min(sizes.index(lines[number].size) + 1, _LEVELS) for number in large}
    deepest = max(levels.values(), default=0)
    for number, line in enumerate(lines):
        marked = titles.get((_letters(line.text), line.page))
        if marked:
            levels[number] = min(marked, 6)
        elif number not in levels and number not in code and _bold_heading(lines, number, body):
            levels[number] = min(deepest + 1, _LEVELS)
    # A page in which most lines are large has no headings by size.
    return levels if len(levels) <= max(1, 0.5 * len(lines)) else {number: level for number, level in levels.items() if number == 0}


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _may_head(line: PrintedLine) -> bool:
    return len(line.text) <= _LONGEST_HEADING and any(map(str.isalpha, line.text)) and not re.search(r"[.,;]$", line.text)


def _bold_heading(lines: Sequence[PrintedLine], number: int, body: float) -> bool:
    """Return True if a bold line of usual height is alone above text that is not bold."""
    line = lines[number]
    if not line.bold or line.height < 0.95 * body or not _may_head(line) or not (line.text[0].isupper() or line.text[0].isdigit()):
        return False
    above = lines[number - 1] if number else None
    below = lines[number + 1] if number + 1 < len(lines) else None
    alone = above is None or above.page != line.page or not above.bold or above.bottom - line.bottom > _WITHIN * line.height
    return alone and below is not None and not below.bold and below.page == line.page


def _continues(block: _PrintedBlock, line: PrintedLine, level: int) -> bool:
    """Return True if a line goes on with the block before it."""
    if block.code:
        return False
    last, distance = block.last, block.last.bottom - line.bottom
    if level or block.level:
        # A heading of two lines.
        same = level == block.level and last.page == line.page and last.size == line.size
        return same and 0 < distance <= _WITHIN * line.height and len(block.text) + len(line.text) <= _LONGEST_HEADING
    if leader := _LEADER.search(last.text):
        # Its page may be a line for itself.
        return not leader[1] and bool(_PAGE.fullmatch(line.text)) and abs(distance) < 0.5 * line.height
    if _ITEM.match(line.text):
        return False
    if last.page == line.page and 0 < distance <= _WITHIN * max(line.height, last.height):
        return True
    # Another column or page: a sentence or a word goes on.
    divided = block.text.endswith(LINE_END_HYPHEN) or _HYPHEN_ENDS.search(block.text)
    return not _ENDS.search(block.text) and (line.text[:1].islower() or bool(divided and line.text[:1].isdigit()))


def _joined(text: str, following: str) -> str:
    if text.endswith(LINE_END_HYPHEN) or _DASH_ENDS.search(text) or (_SIGN_ENDS.search(text) and following[:1].isdigit()):
        return text + following
    if _HYPHEN_ENDS.search(text) and following[:1].isalnum():
        return text[:-1] + LINE_END_HYPHEN + following
    return f"{text} {following}"


def _markdown(block: _PrintedBlock, hyphens: LineEndHyphens) -> str:
    if block.code:
        return fenced(block.code)
    text = _LEADER.sub(lambda leader: f" {leader[1].strip()}" if leader[1] else "", " ".join(hyphens.resolved(block.text).split()))
    if block.level:
        return f"{'#' * block.level} {text}"
    return _BULLET.sub("- ", text, count=1) if _BULLET.match(text) else text


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
