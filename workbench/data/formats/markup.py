"""Convert HTML to text: headings as Markdown, paragraphs, list items and simple tables as pipe tables. Scripts and styles are dropped."""

import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import Any

from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, Tag, XMLParsedAsHTMLWarning
from bs4.element import CData, NavigableString, PageElement
from bs4.exceptions import ParserRejectedMarkup

from workbench.core.records import Document
from workbench.core.text.formatting import count

_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"}
_MOST_ROMAN, _LETTERS = 3_999, 26
# Office repeats a letter, so that a list cannot become longer than a few times its items.
_MOST_REPEATED = 30

# Not <head>: its end tag is optional, and html.parser then puts the body into it.
_DROPPED = frozenset(("script", "style", "template", "noscript", "iframe", "object", "svg", "title"))
# Elements whose content is not read, as a person calls them.
_UNREAD = {
    "img": "image",
    "svg": "drawing",
    "iframe": "embedded page",
    "frame": "embedded page",
    "object": "embedded object",
    "embed": "embedded object",
    "video": "media file",
    "audio": "media file",
}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NAMES = """
    address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption figure footer form
    header hgroup hr html legend li main menu nav ol option p pre section select summary table tbody td textarea tfoot th thead tr ul
"""
BLOCKS = frozenset(_NAMES.split()) | frozenset(_HEADINGS)
_LISTS = ("ul", "ol", "menu", "dir")
# The label of an item that a converter has computed, such as `(a)`.
LABEL = "data-workbench-label"
_NUMBER_FORMS = {"lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A", "lower-roman": "i", "upper-roman": "I"}
_LIST_STYLE = re.compile(r"(?:^|;)\s*list-style(?:-type)?\s*:[^;]*?([a-z]+-(?:alpha|latin|roman))", re.IGNORECASE)
_INTEGER = re.compile(r"\s*([+-]?\d{1,9})(?!\d)")
# The open tags that a tag ends, since HTML lets authors leave end tags out, and the tags beyond which it ends none. Python's parser nests them.
_CELLS = ("td", "th")
_ENDS = {
    **dict.fromkeys(_CELLS, frozenset(_CELLS)),
    "tr": frozenset((*_CELLS, "tr")),
    **dict.fromkeys(("thead", "tbody", "tfoot"), frozenset((*_CELLS, "tr", "thead", "tbody", "tfoot"))),
    "li": frozenset(("li",)),
    "option": frozenset(("option",)),
    "optgroup": frozenset(("option", "optgroup")),
}
_ENDS_WITHIN = {**dict.fromkeys(_ENDS, frozenset(("table",))), "li": frozenset((*_LISTS, "table", *_CELLS))}
# A table with one of these in a cell is not simple.
_NOT_IN_CELLS = frozenset(("table", "tr", "td", "th", "pre", *_LISTS, *_HEADINGS))
# Items of lists nested deeper are not indented further, so that a page cannot become longer than a few times its markup.
_DEEPEST = 40
# An element, mostly of two tags, takes one to two kilobytes of memory.
_MOST_TAGS = 2_000_000
# Beautiful Soup climbs up all open tags for each closed one. Tags without an end, such as paragraphs, are open to the end of the page.
_MOST_OPEN = 10_000
# So does whatever looks for the surroundings of an element: the sum of the tags that are open at each tag.
_MOST_STEPS = 100_000_000
# Python's parser reads on to the end of the page for each of these that is never closed.
_UNCLOSED = ((re.compile("<[a-zA-Z/!?]"), ">", "tag"), (re.compile("<!--"), "-->", "comment"), (re.compile(r"<!\["), "]>", "section"))
_MOST_UNCLOSED = 100
_DECLARATIONS = re.compile(r"<!doctype[^\[<>]*\[", re.IGNORECASE)
_END_OF_DECLARATIONS = re.compile(r"\]\s*>")


def list_number(number: int, form: str, repeated: bool = False) -> str:
    """Return a number in a form of HTML's lists: `1`, `a`, `A`, `i` or `I`. In another form, and if a form has no such number, it has digits.

    After z come aa and ab, or aa and bb if letters are `repeated`, as in Word and PowerPoint.
    """
    text = str(number)
    if form in ("a", "A") and number > 0 and not (repeated and number > _MOST_REPEATED * _LETTERS):
        text = _repeated(number) if repeated else _counted(number)
    elif form in ("i", "I") and 0 < number <= _MOST_ROMAN:
        text = _roman(number)
    return text.upper() if form in ("A", "I") else text


def _repeated(number: int) -> str:
    times, letter = divmod(number - 1, _LETTERS)
    return chr(ord("a") + letter) * (times + 1)


def _counted(number: int) -> str:
    letters = ""
    while number:
        number, letter = divmod(number - 1, _LETTERS)
        letters = chr(ord("a") + letter) + letters
    return letters


def _roman(number: int) -> str:
    text = ""
    for value, letters in _ROMAN.items():
        times, number = divmod(number, value)
        text += letters * times
    return text


def document_of_html(doc_id: str, markup: str) -> Document:
    """Convert a page to a document with its <title>. The same page always gives the same text. Raises ValueError if it is not HTML."""
    return document_of_soup(doc_id, parsed_html(markup))


def document_of_soup(doc_id: str, soup: BeautifulSoup) -> Document:
    """Return the document of a parsed page."""
    return Document(doc_id, text_of_html(soup), title_of_html(soup))


def parsed_html(markup: str) -> BeautifulSoup:
    """Parse a page. Raises ValueError if it is not HTML, or so large that it would take too much memory or time."""
    # Raise ValueError for a page that would take more memory or time than is proportional to its length.
    if (tags := markup.count("<")) > _MOST_TAGS:
        raise ValueError(f"it has {count(tags)} tags, more than {count(_MOST_TAGS)}; split the page")
    for opening, closing, what in _UNCLOSED:
        found = opening.finditer(markup, markup.rfind(closing) + 1)
        if sum(1 for _ in islice(found, _MOST_UNCLOSED + 1)) > _MOST_UNCLOSED:
            raise ValueError(f"more than {_MOST_UNCLOSED} {what}s are never closed")
    with warnings.catch_warnings():
        for doubt in (MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning):
            warnings.simplefilter("ignore", doubt)
        try:
            return _Soup(_without_declarations(markup), "html.parser")
        except ParserRejectedMarkup as error:
            raise ValueError(str(error).splitlines()[-1].strip()) from None


def unread_elements(root: Tag) -> Counter[str]:
    """Count the elements whose content is not read. An image with a blank alternative text is decoration, and so is a drawing without text."""
    unread = Counter[str]()
    for tag in root.find_all(list(_UNREAD)):
        if isinstance(tag, Tag) and not (tag.name == "img" and str(tag.get("alt", "-")).strip() == ""):
            unread[_UNREAD[tag.name]] += tag.name != "svg" or tag.find("text") is not None
    return unread


def text_of_html(root: Tag) -> str:
    """Return the text of a page, or of an element."""
    tables = _simple_tables(root)
    page = _Page(tables)
    for event, element in walk(root, _DROPPED, tables):
        page.take(event, element)
    return page.text()


def title_of_html(soup: BeautifulSoup) -> str:
    """Return the <title> of a page, or an empty text."""
    titles = (
        element for event, element in walk(soup, ("svg",)) if event == "open" and isinstance(element, Tag) and element.name == "title"
    )
    return next((" ".join(tag.get_text().split()) for tag in titles), "")


def _without_declarations(markup: str) -> str:
    """Remove a document type with declarations in brackets, which Python's parser would end at the first `>` inside them."""
    begin = _DECLARATIONS.search(markup)
    end = begin and _END_OF_DECLARATIONS.search(markup, begin.end())
    return f"{markup[: begin.start()]}{markup[end.end() :]}" if begin and end else markup


class _Soup(BeautifulSoup):
    _steps = 0

    def pushTag(self, tag: Tag) -> None:  # noqa: N802  Beautiful Soup's name
        self._steps += len(self.tagStack)
        if len(self.tagStack) > _MOST_OPEN:
            raise ParserRejectedMarkup(f"more than {count(_MOST_OPEN)} tags are open at once; close them, such as </p>")
        if self._steps > _MOST_STEPS:
            raise ParserRejectedMarkup(
                f"a page of so many tags may not have {count(len(self.tagStack))} open at once; close them, such as </p>"
            )
        super().pushTag(tag)

    def handle_starttag(self, name: str, *arguments: Any, **options: Any) -> Tag | None:
        ended, within = _ENDS.get(name, frozenset()), _ENDS_WITHIN.get(name, frozenset())
        in_table = name in _CELLS and bool(self.open_tag_counter.get("table"))
        if in_table or any(self.open_tag_counter.get(ending) for ending in ended):
            self.endData()
            above = [tag.name for tag in takewhile(lambda tag: tag.name not in within, reversed(self.tagStack))]
            for _ in range(max((index + 1 for index, open_tag in enumerate(above) if open_tag in ended), default=0)):
                self.popTag()
            if in_table and "tr" not in above:
                super().handle_starttag("tr", None, None, {})
        return super().handle_starttag(name, *arguments, **options)


# The rows of each table that becomes a pipe table, by the id of its tag.
Tables = Mapping[int, list[list[Tag]]]


def walk(root: Tag, dropped: Collection[str] = (), tables: Tables | None = None) -> Iterator[tuple[str, PageElement]]:
    """Yield elements in page order, with "open" and "close" around a tag's content. Pages nest deeper than Python recurses.

    `dropped` tags are left out. With `tables`, a tag that becomes one block is yielded without its content.
    """
    waiting: list[tuple[str, PageElement]] = [("open", root)]
    while waiting:
        event, element = waiting.pop()
        if isinstance(element, Tag) and element.name in dropped:
            continue
        yield event, element
        if event == "open" and isinstance(element, Tag) and not (tables is not None and _is_whole(element, tables)):
            waiting.append(("close", element))
            waiting.extend(("open", child) for child in reversed(element.contents))


def _is_whole(tag: Tag, tables: Tables) -> bool:
    """Return True if a tag becomes one block instead of one for each tag inside it."""
    return tag.name == "pre" or id(tag) in tables


def _simple_tables(soup: Tag) -> Tables:
    """Find all simple tables in one pass, so that nested tables take no longer than others."""
    simple: dict[int, list[list[Tag]]] = {}
    opened: list[_TableScan] = []
    for event, element in walk(soup, _DROPPED):
        if not isinstance(element, Tag):
            continue
        if opened:
            opened[-1].take(event, element)
        if element.name == "table" and event == "open":
            opened.append(_TableScan())
        elif element.name == "table":
            scan = opened.pop()
            if scan.is_simple():
                simple[id(element)] = scan.rows
    return simple


@dataclass
class _TableScan:
    """The rows of cells of a table that is being read, and whether anything in it is not simple."""

    rows: list[list[Tag]] = field(default_factory=list)
    plain: bool = True
    row: Tag | None = None
    cell: Tag | None = None

    def is_simple(self) -> bool:
        """Return True if the table has two or more rows and columns, no joined cells, and only text in its cells."""
        return self.plain and len(self.rows) > 1 and len(self.rows[0]) > 1 and len({len(row) for row in self.rows}) == 1

    def take(self, event: str, tag: Tag) -> None:
        if event == "close":
            self.row, self.cell = (None if tag is ended else ended for ended in (self.row, self.cell))
        elif tag.name == "table" or (self.cell is not None and tag.name in _NOT_IN_CELLS):
            self.plain = False
        elif tag.name == "tr":
            self.plain = self.plain and self.row is None
            self.row = tag
            self.rows.append([])
        elif tag.name in ("td", "th"):
            self.plain = (
                self.plain and self.row is not None and all(str(tag.get(span, "1")).strip() in ("1", "") for span in ("rowspan", "colspan"))
            )
            self.cell = tag
            if self.row is not None:
                self.rows[-1].append(tag)


@dataclass
class _Page:
    """The text so far: blocks (text, whether it is a list item), the words of the open block, and the open lists with the next number of each."""

    tables: Tables
    blocks: list[tuple[str, bool]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    prefix: str = ""
    lists: list[tuple[Tag, int]] = field(default_factory=list)

    def take(self, event: str, element: PageElement) -> None:
        if type(element) is NavigableString:
            self.words.append(re.sub(r"\s+", " ", element))
        elif isinstance(element, Tag) and element.name == "br":
            self.words.append("\n")
        elif isinstance(element, Tag) and element.name in BLOCKS:
            self._end()
            if event == "close":
                self._close(element)
            elif _is_whole(element, self.tables):
                texts = _fenced(element) if element.name == "pre" else _table(element, self.tables[id(element)])
                self.blocks += [(text, False) for text in texts if text]
            else:
                self._open(element)

    def text(self) -> str:
        self._end()
        parts = []
        for number, (text, item) in enumerate(self.blocks):
            between = "\n" if item and number and self.blocks[number - 1][1] else "\n\n"
            parts += [between if number else "", text]
        return "".join(parts)

    def _close(self, tag: Tag) -> None:
        if tag.name == "li" or tag.name in _HEADINGS:
            self.prefix = ""
        elif tag.name in _LISTS:
            self.lists.pop()

    def _open(self, tag: Tag) -> None:
        if tag.name in _HEADINGS:
            self.prefix = "#" * _HEADINGS[tag.name] + " "
        elif tag.name in _LISTS:
            self.lists.append((tag, _first_number(tag)))
        elif tag.name == "li":
            indent = "  " * min(max(len(self.lists) - 1, 0), _DEEPEST)
            self.prefix = f"{indent}{tag.get(LABEL) or self._bullet(tag)} "

    def _bullet(self, item: Tag) -> str:
        if not self.lists or self.lists[-1][0].name != "ol":
            return "-"
        tag, number = self.lists[-1]
        number = _integer(item, "value", number)
        self.lists[-1] = (tag, number + (-1 if tag.has_attr("reversed") else 1))
        return f"{list_number(number, _number_form(item) or _number_form(tag))}."

    def _end(self) -> None:
        """Close the open block. A blank block leaves its prefix to the next one, such as the paragraph inside an item."""
        lines = [" ".join(line.split()) for line in "".join(self.words).split("\n")]
        self.words = []
        text = (" " if self.prefix else "\n").join(line for line in lines if line)
        if text:
            self.blocks.append((self.prefix + text, bool(self.prefix) and "#" not in self.prefix))
            self.prefix = ""


def _first_number(tag: Tag) -> int:
    items = len(tag.find_all("li", recursive=False)) if tag.has_attr("reversed") else 1
    return _integer(tag, "start", items)


def _integer(tag: Tag, name: str, otherwise: int) -> int:
    found = _INTEGER.match(str(tag.get(name, "")))
    return int(found[1]) if found else otherwise


def _number_form(tag: Tag) -> str:
    style = _LIST_STYLE.search(str(tag.get("style", "")))
    return _NUMBER_FORMS.get(style[1].lower(), "") if style else str(tag.get("type", ""))


def _fenced(tag: Tag) -> list[str]:
    lines = (
        "\n" if isinstance(element, Tag) and element.name == "br" else _literal(element)
        for event, element in walk(tag, _DROPPED)
        if event == "open"
    )
    text = "".join(lines).strip("\n")
    return [code_block(text)] if text.strip() else []


def code_block(text: str, language: str = "") -> str:
    """Return a text as a block of code in Markdown, between fences that are longer than any in the text."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}{language}\n{text}\n{fence}"


def _literal(element: PageElement) -> str:
    return str(element) if type(element) in (NavigableString, CData) else ""


def _table(table: Tag, rows: list[list[Tag]]) -> list[str]:
    """Return the caption and a pipe table with the first row as its head."""
    return [*map(_words, table.find_all("caption")), pipe_table([list(map(_words, row)) for row in rows])]


def pipe_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of cells as a table in Markdown, the first as its head."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


def _words(tag: Tag) -> str:
    """Return the text of a tag on one line. Blocks and breaks separate words, other tags do not."""
    parts = []
    for event, element in walk(tag, _DROPPED):
        if isinstance(element, Tag):
            parts.append(" " if element.name == "br" or element.name in BLOCKS else "")
        elif event == "open" and type(element) is NavigableString:
            parts.append(str(element))
    return " ".join("".join(parts).split())
