"""Make paragraphs, headings and code of the printed lines of a PDF."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from workbench.conversion.pdf.hyphens import LINE_END_HYPHEN, LineEndHyphens
from workbench.conversion.pdf.lines import PrintedLine, body_height
from workbench.datasets.formats.markup import code_block

# A document in which more of the text is of one width was written with a typewriter, or is a terminal's.
_MOSTLY = 0.7
# The distance between lines of one listing, in heights of a line.
_APART = 3.5
# The usual distance of lines, in heights.
_SPACING = 1.15
# The difference of two left edges that are the same, and the deepest indentation that is kept.
_SAME_EDGE, _DEEPEST = 1.5, 60

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
    """Return whether a line continues the sentence of the line above it."""
    near = above.page == line.page and 0 < above.bottom - line.bottom <= _WITHIN * max(line.height, above.height)
    return near and abs(above.left - line.left) < _SAME_EDGE and not re.search(r"[.!?:]$", above.text)


def goes_on(last: PrintedLine, line: PrintedLine) -> bool:
    """Return whether a line of code belongs to the listing that ends with another one, on this page or the one before."""
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
            rows[-1] += " " * max(1, min(_DEEPEST, round((line.left - above.right) / width))) + _code(line)
        else:
            rows += [""] * max(0, round(distance / (_SPACING * line.height)) - 1)
            rows.append(_indented(line, edge, width))
    return code_block("\n".join(rows))


def _indented(line: PrintedLine, edge: float, width: float) -> str:
    return " " * min(_DEEPEST, round((line.left - edge) / width)) + _code(line)


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
    """Return whether a bold line of usual height is alone above text that is not bold."""
    line = lines[number]
    if not line.bold or line.height < 0.95 * body or not _may_head(line) or not (line.text[0].isupper() or line.text[0].isdigit()):
        return False
    above = lines[number - 1] if number else None
    below = lines[number + 1] if number + 1 < len(lines) else None
    alone = above is None or above.page != line.page or not above.bold or above.bottom - line.bottom > _WITHIN * line.height
    return alone and below is not None and not below.bold and below.page == line.page


def _continues(block: _PrintedBlock, line: PrintedLine, level: int) -> bool:
    """Return whether a line goes on with the block before it."""
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
