"""Find the quotes of a judge in passages."""

import re
from collections.abc import Sequence

_MARKS = "\"'“”‘’„«» \t\r\n"
_WORD = re.compile(r"\w")


def quote_in(quote: str, text: str) -> tuple[int, int] | None:
    """Return the place [start, end) of a quote in a text, or None. Any blanks match any others; nothing else may differ.

    Quotation marks around the quote are no part of it, and a quote without a word is nowhere.

    Examples
    --------
    >>> quote_in('"opens in  May"', "The office opens\\nin May.")
    (11, 23)
    """
    for words in (quote.split(), quote.strip(_MARKS).split()):
        if _WORD.search("".join(words)) and (found := re.search(r"\s+".join(map(re.escape, words)), text)):
            return found.span()
    return None


def quoted_passage(quote: str, number: int, texts: Sequence[str]) -> tuple[int, int, int] | None:
    """Return passage, start and end of a quote: in the passage with this number if it is there, else in the first that has it."""
    order = sorted(range(len(texts)), key=lambda place: place != number)
    return next(((place, *span) for place in order if (span := quote_in(quote, texts[place]))), None)
