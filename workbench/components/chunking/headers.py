"""Read the headings of a Markdown text, and make the headers that go before its chunks when they are embedded."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from workbench.core.records import Document
from workbench.llm.models.tokenizers import count, special_tokens

# Inline markup never moves a line, and parsing it is most of the work.
_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
# Line ends as markdown-it defines them.
NEWLINE = re.compile(r"\r\n?|\n")
_END = r"(?:\r\n?|\n|\Z)"
# Settings before the text: YAML, whose first line is a comment or a key, or TOML. To Markdown, YAML is a rule and a heading.
_FRONT_MATTER = re.compile(
    rf"\ufeff?(?:---[ \t]*{_END}(?=[ \t]*(?:#|[\w\"'][^:\r\n]*:(?:\s|\Z)))(?:(?!(?:---|\.\.\.)[ \t]*{_END})[^\r\n]*(?:\r\n?|\n))*(?:---|\.\.\.)[ \t]*{_END}"
    rf"|\+\+\+[ \t]*{_END}(?:(?!\+\+\+[ \t]*{_END})[^\r\n]*(?:\r\n?|\n))*\+\+\+[ \t]*{_END})"
)
# What is beside the words of a heading: comments, and the id and classes of Pandoc and Kramdown.
_BESIDE_TITLE = re.compile(r"<!--.*?-->|\{:?\s*[#.][^{}]*\}\s*$")
# The characters that are parsed at once. A token takes more than a hundred times the memory of a short line.
_PART = 200_000
# Increased when the same text begins to have other blocks or headings.
VERSION = 2


class Heading(NamedTuple):
    """A heading: the start of its line (after indentation), its level 1-6 and its text."""

    start: int
    level: int
    title: str


def front_matter_end(text: str) -> int:
    """Return the end of the settings in YAML or TOML at the beginning of a text, 0 without any."""
    match = _FRONT_MATTER.match(text)
    return match.end() if match else 0


def markdown_parts(text: str) -> Iterator[tuple[list[Token], list[int]]]:
    """Yield markdown-it's block tokens in parts, each with the starts of its lines, followed by the end of the last. Front matter has none."""
    start, size = front_matter_end(text), _PART
    while start < len(text):
        newline = NEWLINE.search(text, start + size)
        end = newline.end() if newline else len(text)
        tokens = _MARKDOWN.parse(text[start:end])
        lines = [start, *(match.end() for match in NEWLINE.finditer(text, start, end)), end]
        if end == len(text):
            yield tokens, lines
            return
        # The last block may go on behind the part. Those before it are complete, and none depends on another.
        last = max((index for index, token in enumerate(tokens) if token.level == 0 and token.map), default=0)
        if last and (place := tokens[last].map):
            yield tokens[:last], lines
            start, size = lines[place[0]], _PART
        else:
            size *= 2


def is_heading(tokens: Sequence[Token], index: int) -> bool:
    """Return True if a token opens a heading of the document itself, not of a quotation or list item."""
    # A heading of several lines is a paragraph of plain text above a rule of dashes.
    token = tokens[index]
    return token.type == "heading_open" and token.level == 0 and "\n" not in tokens[index + 1].content


def outline(text: str) -> list[Heading]:
    """Return the headings of a text in order, except those without words."""
    headings = []
    for tokens, lines in markdown_parts(text):
        for index, token in enumerate(tokens):
            title = " ".join(_BESIDE_TITLE.sub("", tokens[index + 1].content).split()) if is_heading(tokens, index) else ""
            if title and token.map:
                line = lines[token.map[0]]
                indent = len(text[line : lines[token.map[0] + 1]]) - len(text[line : lines[token.map[0] + 1]].lstrip())
                headings.append(Heading(line + indent, int(token.tag[1:]), title))
    return headings


class Headers:
    """The header of a chunk by its start: the title at 0, or with `enrich` the title and heading path everywhere."""

    def __init__(self, document: Document, enrich: bool) -> None:
        self._title = document.title if document.title.strip() else ""
        self._enrich = enrich
        headings = outline(document.text) if enrich else []
        self._starts = [heading.start for heading in headings]
        # For a reader, a chunk that starts in the blanks before a heading begins with the heading.
        self._reaches = [_before_blank(document.text, heading.start) for heading in headings]
        self._above, self._under = _paths(self._title, headings)

    def at(self, position: int) -> str:
        """Return the header of a chunk that starts at a position. Headings at the start of the chunk are not repeated."""
        if not self._enrich:
            return self._title if position == 0 else ""
        last = bisect_right(self._reaches, position) - 1
        if last < 0:
            return self._title
        return self._above[last] if position <= self._starts[last] else self._under[last]

    def every(self) -> set[str]:
        """Return all headers that chunks of the document can have."""
        return {self._title, *self._above, *self._under}


class TokenBudget:
    """The number of content tokens that a chunk may have, by its start.

    Without `headers`, `size` counts only the content. With them, it counts the embedder's whole input in the model's `vocabulary`:
    special tokens + header + content; the content gets at least a quarter, however long the header.
    """

    def __init__(self, size: int, headers: Headers | None = None, vocabulary: str = "") -> None:
        self.most = size - (special_tokens(vocabulary) if headers else 0)
        self.least = size // 4 if headers else size
        self._headers = headers
        self._vocabulary = vocabulary
        self._lengths = {"": 0}

    def at(self, position: int) -> int:
        """Return the tokens available to a chunk that starts at a position."""
        if self._headers is None:
            return self.most
        return self._under(self._headers.at(position))

    def anywhere(self) -> int:
        """Return the tokens available to a chunk anywhere: the size minus the document's longest header."""
        return self.most if self._headers is None else min(self._under(header) for header in self._headers.every())

    def _under(self, header: str) -> int:
        if header not in self._lengths:
            self._lengths[header] = count(header, self._vocabulary)
        return max(self.most - self._lengths[header], self.least)


def _before_blank(text: str, position: int) -> int:
    while position and text[position - 1].isspace():
        position -= 1
    return position


def _paths(title: str, headings: Sequence[Heading]) -> tuple[list[str], list[str]]:
    """Return for each heading the header above it (its ancestors) and the header of the text below it."""
    above, under = [], []
    stack: list[Heading] = []
    for heading in headings:
        while stack and stack[-1].level >= heading.level:
            stack.pop()
        above.append(_joined(title, stack))
        stack.append(heading)
        under.append(_joined(title, stack))
    return above, under


def _joined(title: str, path: Sequence[Heading]) -> str:
    names = [heading.title for heading in path]
    if title and names[:1] != [title]:
        names.insert(0, title)
    return " > ".join(names)
