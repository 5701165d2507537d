"""The Markdown structure of a text, in code points, from markdown-it's line ranges."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

# Inline markup moves no line, and reading it is most of the work.
_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
# The ends of lines by markdown-it.
NEWLINE = re.compile(r"\r\n?|\n")


class Heading(NamedTuple):
    """A heading: the start of its line (past indentation), its level 1-6 and its text."""

    start: int
    level: int
    title: str


def markdown_tokens(text: str) -> tuple[list[Token], list[int]]:
    """markdown-it's block tokens, and the start of each line; the last entry is the end of the text."""
    return _MARKDOWN.parse(text), [0, *(match.end() for match in NEWLINE.finditer(text)), len(text)]


def is_heading(tokens: Sequence[Token], index: int) -> bool:
    """Whether a token opens a heading of the document itself.

    One inside a quotation or list item belongs to that. One of several lines is a plain text's paragraph above a rule of dashes.
    """
    token = tokens[index]
    return token.type == "heading_open" and token.level == 0 and "\n" not in tokens[index + 1].content


def outline(text: str) -> list[Heading]:
    """The headings of a text in their order; those without words are left out."""
    tokens, lines = markdown_tokens(text)
    headings = []
    for index, token in enumerate(tokens):
        title = " ".join(tokens[index + 1].content.split()) if is_heading(tokens, index) else ""
        if title and token.map:
            line = lines[token.map[0]]
            indent = len(text[line : lines[token.map[0] + 1]]) - len(text[line : lines[token.map[0] + 1]].lstrip())
            headings.append(Heading(line + indent, int(token.tag[1:]), title))
    return headings
