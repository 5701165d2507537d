"""Tests of statements and questions that must be understood without the sentences and the layout around them."""

import re

# Words that point to another sentence, in English and German.
_POINTING = re.compile(
    r"\b(?:this|these|those|the (?:former|latter|above|following)|above-mentioned|dies(?:e[rsnm]?)?|jene[rsnm]?|(?:see|described|shown|listed|given) "
    r"(?:above|below)|as follows|siehe (?:oben|unten)|wie folgt)\b",
    re.IGNORECASE,
)
# Tags of HTML, and what is left of a sentence whose inline code was lost.
_REMAINS = re.compile(
    r"</?(?:a|b|br|code|div|em|font|h\d|hr|i|img|kbd|li|ol|p|pre|span|strong|sub|sup|t[adhr]|table|tt|u|ul)\b[^>]*>|\s\.$|\s;\s",
    re.IGNORECASE,
)
# A term and its definition in columns, as manual pages print them. Justified lines have at most three blanks in a row.
_COLUMNS = re.compile(r"\S {4,}\S")
_CAPITALS = re.compile(r"[A-Z0-9][A-Z0-9 ,/-]*[A-Z]")
# A sentence that begins within a sentence: a heading or a term was before it.
_BEGINS = re.compile(r"[^.!?:;,\s] (?:This|These|The|If|It|When|You|We|They|There|Use|Dies|Diese|Die|Der|Das|Wenn)\b")
# Letters of code, which nobody asks with.
_SYMBOLS = re.compile(r"[<>{}|\\^~]|https?:|\s[.,;:]")
# An answer that puts the question off.
_DEFERRED = re.compile(r"\b(?:this|that) (?:question|is (?:a )?(?:tricky|trickier|difficult|hard))|\bit depends\b", re.IGNORECASE)


def sentence_start(text: str, start: int, end: int) -> int:
    """Return where a sentence begins: behind a line in capitals, the heading of a manual page, that has no blank line below it."""
    first, line_end, _ = text[start:end].partition("\n")
    return start + len(first) + 1 if line_end and _CAPITALS.fullmatch(first.strip()) else start


def is_prose(text: str) -> bool:
    """Return True if a slice of a document is running text: no columns and no tags of HTML."""
    return not _COLUMNS.search(text) and not _REMAINS.search(text)


def stands_alone(plain: str) -> bool:
    """Return True if a sentence says by itself what it is about."""
    return not _POINTING.search(plain) and not _BEGINS.search(plain)


def can_be_asked(question: str) -> bool:
    """Return True if a question is one sentence of words that names what it is about."""
    return not _POINTING.search(question) and not _SYMBOLS.search(question)


def answers(plain: str) -> bool:
    """Return True if the first sentence of a section does not put off the question in its heading."""
    return not _DEFERRED.search(plain)
