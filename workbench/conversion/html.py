"""HTML pages, as Markdown."""

import copy
from collections import Counter
from collections.abc import Callable

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector

from workbench.conversion.converted import ConvertedText, UnreadableFileError, unread_note
from workbench.conversion.encoding import decode_declared, decode_text
from workbench.conversion.equations.mathml import linear_of_mathml, name_of_mathml
from workbench.conversion.page_content import content_of, length
from workbench.conversion.shown_state import write_shown_state
from workbench.core.formatting import share
from workbench.datasets.formats.markup import parsed_html, text_of_html, title_of_html, unread_elements

# A main element beside more text than this may be one part of the content.
_MUCH_OUTSIDE = 0.5
# Tables with one of these keep their joined cells.
_NOT_IN_CELLS = ["table", "pre", "ul", "ol", "menu", "dir", *(f"h{level}" for level in range(1, 7))]
_CELLS = ["td", "th"]
# No person reads a table with more.
_MOST_COLUMNS, _MOST_CELLS = 200, 100_000
# HTML's limit for the rows of a cell.
_MOST_ROWS = 65_534


def convert_html(raw: bytes) -> ConvertedText:
    """Convert the content of a page: headings, lists, tables and code stay; scripts, styles, navigation and hidden parts go.

    Raises UnreadableFileError if it is not HTML, or only redirects.
    """
    markup, note = _decoded(raw)
    converted = convert_markup(markup)
    return ConvertedText(converted.text, (*((note,) if note else ()), *converted.notes))


def convert_markup(markup: str) -> ConvertedText:
    """Convert a page whose encoding is known, as `convert_html` does."""
    soup, unread = _parsed(markup), Counter[str]()
    title = title_of_html(soup)
    content = content_of(soup, unread)
    unread += unread_elements(content)
    outside = 1 - length(content) / max(length(soup), 1)
    notes = [f"has {share(outside, 1)} of its text outside of its main element, which is not read"] if outside > _MUCH_OUTSIDE else []
    text = _text(content, unread)
    if not text.strip():
        # All of it is in parts that mostly are not content.
        soup, notes, unread["hidden part"] = _parsed(markup), [], 0
        text = _text(soup, unread)
    return ConvertedText(_titled(title, text), (*notes, *unread_note(unread)))


def _text(content: Tag, unread: Counter[str]) -> str:
    divide_joined_cells(content)
    for element in content.find_all(["rt", "rp"]):
        unread["ruby text"] += element.name == "rt"
        element.decompose()
    for element in content.find_all(lambda tag: name_of_mathml(tag) == "math"):
        element.string = linear_of_mathml(element)
    write_shown_state(content)
    return text_of_html(content)


def markdown_of(markup: str, change: Callable[[BeautifulSoup], None]) -> str:
    """Return HTML that a converter wrote as Markdown, after a `change` to its elements. Raises UnreadableFileError if it is not HTML."""
    soup = _parsed(markup)
    change(soup)
    divide_joined_cells(soup)
    write_shown_state(soup)
    return _titled(title_of_html(soup), text_of_html(soup))


def divide_joined_cells(content: Tag) -> None:
    """Divide the cells of tables that are joined, so that rows stay lines. A cell of several rows is repeated in each of them.

    Tables with lists, headings or other tables in them stay as they are, except for a small table in a cell, which becomes a line.
    """
    _write_inner_tables(content)
    for table in content.find_all("table"):
        if isinstance(table, Tag) and not table.find(_NOT_IN_CELLS):
            rows = [row for row in table.find_all("tr") if isinstance(row, Tag)]
            places = _places([[cell for cell in row.find_all(_CELLS) if isinstance(cell, Tag)] for row in rows])
            columns = min(max((column + 1 for _, column in places), default=0), _MOST_COLUMNS)
            if places and any(len(row.find_all(_CELLS)) != columns for row in rows) and len(rows) * columns <= _MOST_CELLS:
                for number, row in enumerate(rows):
                    row.clear()
                    row.extend(places.get((number, column)) or Tag(name="td") for column in range(columns))


def _write_inner_tables(content: Tag) -> None:
    """Write a table inside of a cell as a line, so that the outer table keeps its rows. Tables that only lay out a page stay."""
    for table in reversed(content.find_all("table")):
        first = table.find("table")
        if first is None or first.find("table"):
            continue
        inner = table.find_all("table")
        rows = [row.find_all(_CELLS, recursive=False) for row in table.find_all("tr") if row.find_parent("table") is table]
        laid_out = 2 * sum(map(length, inner)) > length(table) or any(each.find(_NOT_IN_CELLS) for each in inner)
        if not laid_out and len(rows) > 1 and max(map(len, rows)) > 1:
            for each in inner:
                lines = (", ".join(filter(None, map(_line, row.find_all(_CELLS)))) for row in each.find_all("tr"))
                each.replace_with(f" {'; '.join(filter(None, lines))} ")


def _line(tag: Tag) -> str:
    return " ".join(tag.get_text(" ").split())


def _places(rows: list[list[Tag]]) -> dict[tuple[int, int], Tag]:
    """Return the cell at each row and column, counted from 0, or nothing for more cells than a person reads."""
    places: dict[tuple[int, int], Tag] = {}
    for number, cells in enumerate(rows):
        column = 0
        for cell in cells:
            while (number, column) in places:
                column += 1
            # A cell of 0 rows goes to the end.
            wide, high = (
                _span(cell, "colspan", _MOST_COLUMNS) or 1,
                min(_span(cell, "rowspan", _MOST_ROWS) or len(rows), len(rows) - number),
            )
            if len(places) + wide * high > _MOST_CELLS:
                return {}
            for below in range(high):
                places[number + below, column] = copy.copy(cell) if below else cell
                places.update({(number + below, column + beside): Tag(name="td") for beside in range(1, wide)})
            column += wide
    return places


def _span(cell: Tag, name: str, most: int) -> int:
    value = str(cell.get(name, "1")).strip()
    del cell[name]
    if not value.isdecimal():
        return 1
    return min(int(value), most) if len(value) <= len(str(most)) else most


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
    return decode_declared(raw, declared) if declared else decode_text(raw)
