"""Convert HTML to text: headings as Markdown, paragraphs, list items and simple tables as pipe tables. Scripts and styles are dropped."""

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field

from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, Tag, XMLParsedAsHTMLWarning
from bs4.element import NavigableString, PageElement
from bs4.exceptions import ParserRejectedMarkup

from workbench.records import Document

# Not <head>: its end tag is optional, and html.parser then puts the body into it.
_DROPPED = ["script", "style", "template", "noscript", "iframe", "object", "svg", "title"]
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NAMES = """
    address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption figure footer form
    header hgroup hr html legend li main menu nav ol option p pre section select summary table tbody td textarea tfoot th thead tr ul
"""
_BLOCKS = frozenset(_NAMES.split()) | frozenset(_HEADINGS)
_LISTS = ("ul", "ol", "menu", "dir")


def document_of_html(doc_id: str, markup: str) -> Document:
    """Convert a page to a document with its <title>. The same page always gives the same text. Raises ValueError if it is not HTML."""
    with warnings.catch_warnings():
        for doubt in (MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning):
            warnings.simplefilter("ignore", doubt)
        try:
            soup = BeautifulSoup(markup, "html.parser")
        except ParserRejectedMarkup as error:
            raise ValueError(str(error).splitlines()[-1].strip()) from None
    titles = [tag for tag in soup.find_all("title") if tag.find_parent("svg") is None]
    title = " ".join(titles[0].get_text().split()) if titles else ""
    for tag in soup.find_all(_DROPPED):
        tag.extract()
    page = _Page()
    for event, element in _walk(soup):
        page.take(event, element)
    return Document(doc_id, page.text(), title)


def _walk(root: Tag) -> Iterator[tuple[str, PageElement]]:
    """Yield elements in page order, with "open" and "close" around a tag's content. Pages nest deeper than Python recurses."""
    waiting: list[tuple[str, PageElement]] = [("open", root)]
    while waiting:
        event, element = waiting.pop()
        yield event, element
        if event == "open" and isinstance(element, Tag) and not _is_whole(element):
            waiting.append(("close", element))
            waiting.extend(("open", child) for child in reversed(element.contents))


def _is_whole(tag: Tag) -> bool:
    """Return whether a tag becomes one block instead of one for each tag inside it."""
    return tag.name == "pre" or (tag.name == "table" and _is_simple(tag))


@dataclass
class _Page:
    """The text so far: blocks (text, whether it is a list item) and the words of the open block."""

    blocks: list[tuple[str, bool]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    prefix: str = ""
    lists: list[tuple[Tag, int]] = field(default_factory=list)

    def take(self, event: str, element: PageElement) -> None:
        if type(element) is NavigableString:
            self.words.append(re.sub(r"\s+", " ", element))
        elif isinstance(element, Tag) and element.name == "br":
            self.words.append("\n")
        elif isinstance(element, Tag) and element.name in _BLOCKS:
            self._end()
            if event == "close":
                self._close(element)
            elif _is_whole(element):
                self.blocks += [(text, False) for text in (_fenced(element) if element.name == "pre" else _table(element)) if text]
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
            self.lists.append((tag, 0))
        elif tag.name == "li":
            self.prefix = self._bullet()

    def _bullet(self) -> str:
        if not self.lists:
            return "- "
        tag, count = self.lists[-1]
        self.lists[-1] = (tag, count + 1)
        return "  " * (len(self.lists) - 1) + (f"{count + 1}. " if tag.name == "ol" else "- ")

    def _end(self) -> None:
        """Close the open block. A blank block leaves its prefix to the next one, such as the paragraph inside an item."""
        lines = [" ".join(line.split()) for line in "".join(self.words).split("\n")]
        self.words = []
        text = (" " if self.prefix else "\n").join(line for line in lines if line)
        if text:
            self.blocks.append((self.prefix + text, bool(self.prefix) and "#" not in self.prefix))
            self.prefix = ""


def _fenced(tag: Tag) -> list[str]:
    for line_break in tag.find_all("br"):
        line_break.replace_with("\n")
    text = tag.get_text().strip("\n")
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}\n{text}\n{fence}"] if text.strip() else []


def _rows(table: Tag) -> list[list[Tag]]:
    return [row.find_all(["td", "th"]) for row in table.find_all("tr")]


def _is_simple(table: Tag) -> bool:
    """Return whether a table has two or more rows and columns, no joined cells, and only text in its cells."""
    rows = _rows(table)
    within = ["table", "tr", "td", "th", "pre", *_LISTS, *_HEADINGS]
    joined = any(str(cell.get(span, "1")).strip() not in ("1", "") for row in rows for cell in row for span in ("rowspan", "colspan"))
    regular = len(rows) > 1 and len(rows[0]) > 1 and len({len(row) for row in rows}) == 1
    return regular and not joined and not any(cell.find(within) for row in rows for cell in row)


def _table(table: Tag) -> list[str]:
    """Return the caption and a pipe table with the first row as its head."""
    lines = [f"| {' | '.join(_words(cell).replace('|', chr(92) + '|') for cell in row)} |" for row in _rows(table)]
    lines.insert(1, f"|{' --- |' * len(_rows(table)[0])}")
    captions = [_words(caption) for caption in table.find_all("caption")]
    return [*captions, "\n".join(lines)]


def _words(tag: Tag) -> str:
    """Return the text of a tag on one line. Blocks and breaks separate words, other tags do not."""
    parts = []
    for event, element in _walk(tag):
        if isinstance(element, Tag):
            parts.append(" " if element.name == "br" or element.name in _BLOCKS else "")
        elif event == "open" and type(element) is NavigableString:
            parts.append(str(element))
    return " ".join("".join(parts).split())
