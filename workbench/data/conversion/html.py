"""HTML pages, as Markdown."""

import copy
import re
from collections import Counter
from collections.abc import Callable

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement

from workbench.core.text.formatting import share
from workbench.data.conversion.equations import linear_of_mathml, lowered, name_of_mathml, raised, struck
from workbench.data.conversion.text import ConvertedText, UnreadableFileError, decode_declared, decode_text, unread_note
from workbench.data.formats.markup import BLOCKS, parsed_html, text_of_html, title_of_html, unread_elements, walk

# Parts of a page around its content, as elements and as roles of ARIA.
_AROUND = frozenset(("nav", "footer"))
_AROUND_ROLES = frozenset(("navigation", "contentinfo", "search", "banner", "complementary", "dialog", "alertdialog", "menu", "menubar"))
# Not shown, or only by browsers without scripts.
_NOT_SHOWN = frozenset(("template", "noscript"))
_CONTENT = frozenset(("main", "article"))
_INVISIBLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)
# Links of headings to themselves.
_PERMALINKS = frozenset("¶#§🔗")
_REDIRECTS = re.compile(r"\s*\d*\s*[;,]\s*url\s*=", re.IGNORECASE)
# A page that redirects says little else. A main element with less of the page's text is not its content.
_STUB, _LEAST_SHARE = 400, 0.1

_DELETED = frozenset(("del", "s", "strike"))
_STRUCK = re.compile(r"(?:^|;)\s*text-decoration(?:-line)?\s*:[^;]*\bline-through\b", re.IGNORECASE)
_FRACTION_LINES = ("/", "⁄", "∕")
_CHOICES = ("checkbox", "radio")
# Fields whose value is not shown, or is the label of a button.
_NO_VALUE = ("hidden", "password", "submit", "button", "reset", "image", "file", "color")

# A main element beside more text than this may be one part of the content.
_MUCH_OUTSIDE = 0.5
# Tables with one of these keep their joined cells.
_NOT_IN_CELLS = ["table", "pre", "ul", "ol", "menu", "dir", *(f"h{level}" for level in range(1, 7))]
_CELLS = ["td", "th"]
# No person reads a table with more.
_MOST_COLUMNS, _MOST_CELLS = 200, 100_000
# HTML's limit for the rows of a cell.
_MOST_ROWS = 65_534


def content_of(soup: BeautifulSoup, unread: Counter[str]) -> Tag:
    """Return the element with the content of a page, from which the rest is removed. The hidden parts are counted in `unread`.

    Raises UnreadableFileError for a page that only redirects.
    """
    if _redirects(soup) and length(soup.body or soup) < _STUB:
        raise UnreadableFileError("only redirects to another page")
    everything = length(soup)
    around = [tag for tag in soup.find_all(True) if isinstance(tag, Tag) and (_is_hidden(tag) or _is_around(tag) or _is_permalink(tag))]
    for tag in around:
        if not tag.decomposed:
            unread["hidden part"] += _is_hidden(tag) and bool(tag.get_text(strip=True))
            tag.decompose()
    # The whole page is better than nothing. A caller with nothing left reads it again.
    main = _main(soup)
    return main if main is not None and length(main) >= _LEAST_SHARE * everything else soup


def _main(soup: BeautifulSoup) -> Tag | None:
    """Return the only main element, or the only article."""
    for found in (soup.find_all(_is_main), soup.find_all("article")):
        outer = [tag for tag in found if isinstance(tag, Tag)]
        if len(outer) == 1:
            return outer[0]
    return None


def _is_main(tag: Tag) -> bool:
    return tag.name == "main" or tag.get("role") == "main"


def _redirects(soup: BeautifulSoup) -> bool:
    metas = (tag for tag in soup.find_all("meta") if isinstance(tag, Tag) and str(tag.get("http-equiv", "")).lower() == "refresh")
    return any(_REDIRECTS.match(str(tag.get("content", ""))) for tag in metas)


def _is_hidden(tag: Tag) -> bool:
    hidden = tag.get("hidden")
    # A browser finds the text of "until-found", which opens when it is searched for.
    return (
        tag.name in _NOT_SHOWN
        or (hidden is not None and str(hidden).lower() != "until-found")
        or str(tag.get("aria-hidden", "")).lower() == "true"
        or bool(_INVISIBLE.search(str(tag.get("style", ""))))
    ) and tag.name not in ("html", "body")


def _is_around(tag: Tag) -> bool:
    role = str(tag.get("role", "")).lower()
    if tag.name == "aside":
        # Inside of the content it is a remark.
        return not any(_is_main(parent) or parent.name in _CONTENT for parent in tag.parents)
    return (tag.name in _AROUND and tag.find_parent("blockquote") is None) or (role in _AROUND_ROLES and tag.find("h1") is None)


def _is_permalink(tag: Tag) -> bool:
    return tag.name == "a" and str(tag.get("href", "")).startswith("#") and tag.get_text().strip() in _PERMALINKS


def length(tag: Tag) -> int:
    """Return how many characters the text of an element has, without blanks."""
    return len("".join(tag.get_text().split()))


def write_shown_state(content: Tag) -> None:
    """Write the state of forms, deleted text (~~100~~) and raised text (10⁻³) as text."""
    _write_forms(content)
    _write_deleted(content)
    for element in content.find_all(["sup", "sub"]):
        text, before = element.get_text(), _text_before(element)
        if element.name == "sub":
            written = lowered(text, before)
        elif _is_numerator(element):
            written = f" {text}" if before[-1:].isdecimal() else text
        else:
            written = raised(text, before)
        # A letter that is a link refers to a note.
        if written != text and (element.find("a") is None or not any(letter.isalpha() for letter in text)):
            # Replacing the element itself would search all elements beside it.
            element.string = written


def _is_numerator(element: Tag) -> bool:
    line = element.next_sibling
    below = line.next_sibling if isinstance(line, NavigableString) and line.strip() in _FRACTION_LINES else None
    return isinstance(below, Tag) and below.name == "sub"


def _text_before(element: PageElement) -> str:
    """Return the end of the text before an element in its block."""
    while element.previous_sibling is None and element.parent is not None and element.parent.name not in BLOCKS:
        element = element.parent
    before = element.previous_sibling
    return "" if before is None or (isinstance(before, Tag) and (before.name in BLOCKS or before.name == "br")) else before.get_text()


def _write_deleted(content: Tag) -> None:
    depth, texts = 0, list[NavigableString]()
    for event, element in list(walk(content)):
        if isinstance(element, Tag):
            if element.name in BLOCKS or element.name == "br":
                _strike(texts)
                texts = []
            deleted = element.name in _DELETED or _STRUCK.search(str(element.get("style", "")))
            depth += (1 if event == "open" else -1) if deleted else 0
        elif event == "open" and type(element) is NavigableString:
            if depth and element.strip():
                texts.append(element)
            elif not depth:
                _strike(texts)
                texts = []
    _strike(texts)


def _strike(texts: list[NavigableString]) -> None:
    for text, marked in zip(texts, struck(texts), strict=True):
        text.replace_with(marked)


def _write_forms(content: Tag) -> None:
    for field in content.find_all("input"):
        kind = str(field.get("type", "text")).lower()
        if kind in _CHOICES:
            # One without any text beside it opens a menu.
            text = _choice(field.has_attr("checked")) if _has_text_beside(field) else ""
        else:
            text = "" if kind in _NO_VALUE else f" {field.get('value', '')} "
        field.name, field.string = "span", text
    for select in content.find_all("select"):
        options = select.find_all("option")
        chosen = [option for option in options if option.has_attr("selected")]
        if select.has_attr("multiple"):
            for option in options:
                option.insert(0, _choice(option.has_attr("selected")))
        else:
            for option in options:
                if option is not (chosen[-1] if chosen else options[0]):
                    option.decompose()


def _has_text_beside(field: Tag) -> bool:
    row = field.find_parent([*(BLOCKS - {"td", "th"})])
    return row is None or any(text.strip() for text in row.strings)


def _choice(chosen: bool) -> str:
    return " ☒ " if chosen else " ☐ "


def convert_html(raw: bytes) -> ConvertedText:
    """Convert the content of a page: headings, lists, tables and code stay; scripts, styles, navigation and hidden parts go.

    Raises UnreadableFileError if it is not HTML, or only redirects.
    """
    declared = EncodingDetector.find_declared_encoding(raw, is_html=True)
    markup, note = decode_declared(raw, declared) if declared else decode_text(raw)
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
        laid_out = 2 * sum(map(length, inner)) > length(table) or any(inner_table.find(_NOT_IN_CELLS) for inner_table in inner)
        if not laid_out and len(rows) > 1 and max(map(len, rows)) > 1:
            for inner_table in inner:
                lines = (", ".join(filter(None, map(_line, row.find_all(_CELLS)))) for row in inner_table.find_all("tr"))
                inner_table.replace_with(f" {'; '.join(filter(None, lines))} ")


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
