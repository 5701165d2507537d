"""The place of lines on a page: columns and the order in which a person reads them, and running headers, footers and page numbers, which come back on other pages.

The order of reading need not be the order in which a program has written the lines.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from textwrap import shorten

import numpy as np
from numpy.typing import NDArray

from workbench.core.text.formatting import listed, plural
from workbench.data.conversion.pdf.lines import PrintedLine, PrintedPage, body_height

# Lines are in one column if they share this part of the shorter one.
_SHARED = 0.2
# A line is above another if its middle is higher by this part of a height.
_HIGHER = 0.5
# A line of at most this many heights is mostly the end of a paragraph, whose width is that of the line before it.
_SHORT = 5
_SAME_EDGE = 1.5
# A page with more lines, as no person reads, keeps the order of its content: the time grows with their square.
_MOST = 5_000
# From this many lines and this share on, a page is doubtful. A table has some lines with gaps, a form some text over others.
_FEW_DOUBTFUL, _DOUBTFUL = 4, 0.15
Flags = NDArray[np.bool_]


def in_reading_order(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Order the lines of a page from top to bottom, column by column.

    The order of the content holds, as programs write one column or cell after the other, except where a line would come before another that is above
    it in the same column: browsers write boxes with a background, such as code, behind all other text. Turned lines come last.
    """
    upright = [line for line in lines if not line.turned]
    order = _Order(upright) if 1 < len(upright) <= _MOST else None
    return [*(order.lines() if order else upright), *(line for line in lines if line.turned)]


def doubt_of(lines: Sequence[PrintedLine]) -> str:
    """Return why the order of a page's lines is not certain, or an empty text."""
    if any(line.turned for line in lines):
        return "has turned text"
    if _many(sum(line.across for line in lines), len(lines)):
        return "may have columns that were read across"
    if 1 < len(lines) <= _MOST and _many(int(_Order(lines).covered().sum()), len(lines)):
        return "has text over other text"
    return ""


def _many(doubtful: int, lines: int) -> bool:
    return doubtful > max(_FEW_DOUBTFUL, _DOUBTFUL * lines)


class _Order:
    """The lines of a page with arrays of their edges, (lines,)."""

    def __init__(self, lines: Sequence[PrintedLine]) -> None:
        self._lines = lines
        self._middles = np.array([line.middle for line in lines])
        self._heights = np.array([line.height for line in lines])
        self._lefts = np.array([min(line.left, line.right) for line in lines])
        self._rights = np.array([max(line.left, line.right) for line in lines])
        widths = np.array([self._width(number) for number in range(len(lines))])
        self._wide_lefts, self._wide_rights = widths[:, 0], widths[:, 1]

    def _width(self, number: int) -> tuple[float, float]:
        """Return the edges of a line. A short one below another of its paragraph is nearly as wide as a usual line."""
        left, right = float(self._lefts[number]), float(self._rights[number])
        before, widest = number - 1, left + _SHORT * float(self._heights[number])
        if (
            before >= 0
            and right < widest
            and self._middles[before] > self._middles[number]
            and self._lines[before].bold == self._lines[number].bold
            and abs(float(self._lefts[before]) - left) < _SAME_EDGE
        ):
            return left, max(right, min(widest, float(self._rights[before])))
        return left, right

    def lines(self) -> list[PrintedLine]:
        """Return the lines in the order of the content, each after those that are above it."""
        placed = np.zeros(len(self._lines), dtype=bool)
        ordered: list[int] = []
        for number in range(len(self._lines)):
            if not placed[number]:
                self._place_left_over(number, placed, ordered)
                self._place(number, placed, ordered)
        return [self._lines[number] for number in ordered]

    def _place(self, number: int, placed: Flags, ordered: list[int]) -> None:
        """Place a line behind those above it. Pages have more lines than Python recurses."""
        waiting = [number]
        while waiting:
            line = waiting[-1]
            above = next(self._above(line, placed), None)
            if above is not None:
                waiting.append(above)
                continue
            waiting.pop()
            if not placed[line]:
                placed[line] = True
                ordered.append(line)

    def _above(self, number: int, placed: Flags) -> Iterator[int]:
        """Yield the lines that are not placed and above a line, in the order of the content."""
        higher = self._middles > self._middles[number] + _HIGHER * np.minimum(self._heights, self._heights[number])
        yield from (int(line) for line in np.flatnonzero(higher & ~placed & self._in_column(number)))

    def _in_column(self, number: int) -> Flags:
        shared = np.minimum(self._wide_rights, self._wide_rights[number]) - np.maximum(self._wide_lefts, self._wide_lefts[number])
        shorter = np.minimum(self._wide_rights - self._wide_lefts, self._wide_rights[number] - self._wide_lefts[number])
        return np.asarray(shared > np.maximum(_SHARED * shorter, 0.01))

    def _place_left_over(self, number: int, placed: Flags, ordered: list[int]) -> None:
        """Before the first line of a new column, place the rest of the column beside it: code at its end that was written later."""
        if not ordered or self._middles[number] <= self._middles[ordered[-1]]:
            return
        beside_it, last, lowest = self._in_column(ordered[-1]), number, None
        while (after := last + 1) < len(self._lines) and self._middles[after] < self._middles[last]:
            if beside_it[after]:
                # Below both columns, or the next row of a table.
                lowest = self._middles[after]
            if beside_it[after] or not self._in_column(last)[after]:
                break
            last = after
        run = slice(number, last + 1)
        free = (
            ~placed
            & beside_it
            & (self._middles < self._middles[ordered[-1]])
            & (self._rights <= self._lefts[run].min())
            & (self._middles > (self._middles[last] - _HIGHER * self._heights[last] if lowest is None else lowest))
        )
        for line in np.flatnonzero(free):
            if not placed[line]:
                self._place(int(line), placed, ordered)

    def covered(self) -> Flags:
        """Mark the lines that have another in the same place."""
        found = np.zeros(len(self._lines), dtype=bool)
        for number in range(len(self._lines)):
            near = np.abs(self._middles - self._middles[number]) < 0.4 * np.minimum(self._heights, self._heights[number])
            shared = np.minimum(self._rights, self._rights[number]) - np.maximum(self._lefts, self._lefts[number])
            near &= shared > 0.5 * np.minimum(self._rights - self._lefts, self._rights[number] - self._lefts[number])
            near[number] = False
            found[number] = near.any()
        return found


# The upper and the lower margin are looked for in this share of a page's height, and running texts in less of it than page numbers.
_MARGIN, _TEXT_MARGIN = 0.2, 0.15
# A margin is this much further from the body than the lines of the body are from each other, which are at least `_CLOSEST` heights apart.
_APART, _CLOSEST = 1.25, 1.15
# Parts of one row, and lines at the same height of their pages, differ by at most this part of a height.
_SAME_ROW, _SAME_HEIGHT = 0.4, 0.5
# A text runs if it is on this share of the pages: pages on the left have others than those on the right. On two pages, it can be for another reason.
_SHARE, _FEWEST, _FEWEST_NUMBERS = 0.4, 3, 2
# A text above the body that is this much higher than it is a heading.
_LARGER = 1.3
_LONGEST_NOTE = 60
# Numbers that can be a page's. Four digits like these are a year.
_NUMBER = re.compile(r"(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{1,6}(?!\d)|(?<!\w)[ivxlcdm]+(?!\w)", re.IGNORECASE)
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_WORDS = "pages?|seiten?|páginas?|pagina|strona|sidan?|side|sivu|strana|oldal|страница|стр|第|页|頁|ページ|쪽"
_END = r"(?![^\W\d_])"
_WORD = rf"(?:{_WORDS}|pp?|pg|pág|pag|str|s|с){_END}"
_OF = r"(?:of|von|de|sur|di|van|av|af|z|ze|из|共|/)"
_SIGN = r"[\s_.,:;|·•*~/<>()\[\]{}–—-]"
# A page number without another text: "- 3 -", "Page 3 of 9", "A-3".
_BARE_BEFORE = re.compile(rf"{_SIGN}*(?:{_WORD}{_SIGN}*)?(?:(?:[A-Z]|\d{{1,2}})[-–])?", re.IGNORECASE)
_BARE_AFTER = re.compile(rf"{_SIGN}*(?:{_OF}{_SIGN}*\d+{_SIGN}*)?(?:{_WORD}{_SIGN}*)?", re.IGNORECASE)
# What says in a line with another text that its number is a page's: a word that is no citation's, or a sign that divides it from the text.
_NAMED = re.compile(rf"(?<![^\W\d_])(?:{_WORDS}){_END}[.:]?\s*$", re.IGNORECASE)
_DIVIDED_BEFORE, _DIVIDED_AFTER = re.compile(r"[|·•–—-]\s*$"), re.compile(r"\s*[|·•–—-]")


@dataclass(frozen=True)
class _MarginMark:
    """The text of a line, with the difference of its page number and its page's place in the file, if it has one.

    `bare` says that it has no other text, and `named` that a word says that the number is a page's.
    """

    before: str
    after: str = ""
    shift: int | None = None
    bare: bool = False
    named: bool = False


@dataclass(frozen=True)
class RunningLines:
    """The lines of margins that a document repeats: `once` are first occurrences, which its text keeps, and `removed` the others."""

    once: frozenset[PrintedLine]
    removed: frozenset[PrintedLine]
    notes: tuple[str, ...]


def running_lines(pages: Sequence[PrintedPage]) -> RunningLines:
    """Find the lines that most pages repeat at the same height of a margin, apart from the body, and the page numbers there.

    A line with other numbers on each page is content, unless they rise with the pages as page numbers do. So is a line in larger type than the body.
    """
    # By the mark, and whether it is in the upper half of its page. Heights are those above the nearer edge.
    marks = defaultdict[tuple[_MarginMark, bool], list[tuple[float, PrintedLine]]](list)
    body = body_height([line for page in pages for line in page.lines])
    for page, margins in zip(pages, _margins(pages, body), strict=True):
        for line in margins:
            upper = line.middle > (page.top + page.bottom) / 2
            height = line.middle - (page.top if upper else page.bottom)
            near = line.turned or abs(height) < _TEXT_MARGIN * (page.top - page.bottom)
            for mark in _marks(line):
                if mark.bare or (near and not (upper and line.height >= _LARGER * body and not mark.named)):
                    marks[mark, upper].append((height, line))
    once, removed, notes = set[PrintedLine](), set[PrintedLine](), list[str]()
    # A line with a page number is not counted again for its text.
    for (mark, _), places in sorted(marks.items(), key=lambda item: (not item[0][0].bare, item[0][0].shift is None)):
        lines = [line for line in _at_same_height(places) if line not in removed and line not in once]
        on = len({line.page for line in lines})
        if mark.bare and on >= min(max(_FEWEST_NUMBERS, _SHARE * len(pages)), _FEWEST):
            removed.update(lines)
        elif not mark.bare and on >= max(_FEWEST, _SHARE * len(pages)):
            first = min(lines, key=lambda line: line.page)
            once.add(first)
            removed.update(line for line in lines if line != first)
            notes.append(f"{shorten(first.text, _LONGEST_NOTE, placeholder='…')!r} on {plural(on, 'page')}")
    note = f"repeats {plural(len(notes), 'line')} in the margins of its pages, kept once: {listed(notes)}"
    return RunningLines(frozenset(once), frozenset(removed), (note,) if notes else ())


def _margins(pages: Sequence[PrintedPage], body: float) -> Iterator[list[PrintedLine]]:
    """Yield the lines of each page that are above and below its body, or turned beside it."""
    every = [_rows(page) for page in pages]
    distances = [[above[0].middle - below[0].middle for above, below in pairwise(rows)] for rows in every]
    usual = median([distance for gaps in distances for distance in gaps] or [0.0])
    for page, rows, gaps in zip(pages, every, distances, strict=True):
        apart = _APART * max(median(gaps) if len(gaps) > _FEWEST else usual, _CLOSEST * body)
        margin = _MARGIN * (page.top - page.bottom)
        upper = _margin([row for row in rows if row[0].middle > page.top - margin], rows, apart)
        lower = _margin([row for row in reversed(rows) if row[0].middle < page.bottom + margin], rows[::-1], apart)
        turned = [line for line in page.lines if line.turned]
        yield [*upper, *lower, *(turned if 2 * len(turned) < len(page.lines) else ())]


def _rows(page: PrintedPage) -> list[list[PrintedLine]]:
    """Return the upright lines of a page from top to bottom, with those at the same height together."""
    rows: list[list[PrintedLine]] = []
    for line in sorted((line for line in page.lines if not line.turned), key=lambda line: -line.middle):
        if rows and rows[-1][0].middle - line.middle <= _SAME_ROW * max(line.height, rows[-1][0].height):
            rows[-1].append(line)
        else:
            rows.append([line])
    return rows


def _margin(outer: Sequence[list[PrintedLine]], rows: Sequence[list[PrintedLine]], apart: float) -> Iterator[PrintedLine]:
    """Yield the lines from the edge of a page to the first gap. Behind a page number, another gap follows."""
    part: list[PrintedLine] = []
    for number, row in enumerate(outer):
        part.extend(row)
        if number + 1 < len(rows) and abs(row[0].middle - rows[number + 1][0].middle) > apart:
            yield from part
            if not all(any(mark.bare or mark.named for mark in _marks(line)) for line in part):
                return
            part = []


def _marks(line: PrintedLine) -> Iterator[_MarginMark]:
    """Yield the marks by which a line recurs on other pages: its whole text, or the text around a page number."""
    yield _MarginMark(line.text)
    for found in _NUMBER.finditer(line.text):
        before, after = line.text[: found.start()], line.text[found.end() :]
        bare = bool(_BARE_BEFORE.fullmatch(before) and _BARE_AFTER.fullmatch(after))
        named, inside = bool(_NAMED.search(before)), bool(before.strip() and after.strip())
        # A wide gap is before the last word, or behind the first.
        signs = _DIVIDED_BEFORE.search(before), _DIVIDED_AFTER.match(after)
        divided = all(signs) if inside else any(signs) or line.numbered
        if bare or (found[0].isdecimal() and (named or divided)):
            yield _MarginMark(before, after, _value(found[0]) - line.page, bare, named)


def _value(text: str) -> int:
    if text.isdecimal():
        return int(text)
    values = [_ROMAN[letter] for letter in text.lower()]
    return sum(-value if value < following else value for value, following in pairwise((*values, 0)))


def _at_same_height(places: Sequence[tuple[float, PrintedLine]]) -> list[PrintedLine]:
    usual = sorted(height for height, _ in places)[len(places) // 2]
    return [line for height, line in places if abs(height - usual) <= _SAME_HEIGHT * line.height]
