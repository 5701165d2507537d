"""Read the citations in an answer: [1], [1, 2], [1][3], [1-3], [Source 2], [^1], 【1†source】."""

import re
from typing import NamedTuple

# Part of the key of answers whose citations are read. Raise it when equal texts begin to get other citations.
VERSION = 2

_NAME = r"(?:[\^#]|(?:passages?|sources?|citations?|cite|documents?|docs?|references?|refs?|quellen?|contexts?|chunks?)\s*[:#.]?)"
_NUMBER = rf"(?:{_NAME}\s*)?\d{{1,4}}"
_AND = r"(?:and|und|&)"
_LIST = re.compile(
    rf"[\[【［]\s*({_NUMBER}(?:\s*(?:[,;，、](?:\s*{_AND})?|[–—-]|{_AND})\s*{_NUMBER})*)\s*(?:†[^\]】］\n]{{0,80}})?[\]】］]", re.IGNORECASE
)
_RANGE = re.compile(r"(\d+)(?:\s*[–—-]\s*(\d+))?")


class Citations(NamedTuple):
    """The numbers of the cited passages, from 0, in the order of the text, and how many cited numbers are those of no passage."""

    passages: tuple[int, ...]
    unknown: int


def citations_in(text: str, passages: int) -> Citations:
    """Parse the citations of an answer to a context with this many passages. Each passage counts once, each wrong number once."""
    cited = [number for group in _LIST.finditer(text) for match in _RANGE.finditer(group[1]) for number in _numbers(match, passages)]
    distinct = dict.fromkeys(cited)
    known = tuple(number - 1 for number in distinct if 1 <= number <= passages)
    return Citations(known, len(distinct) - len(known))


def _numbers(match: re.Match[str], passages: int) -> range:
    """Return the numbers of `1` or `1-3`. All numbers of a range beyond the passages count as one, so that [1914-1918] is one wrong number."""
    first, last = int(match[1]), int(match[2] or match[1])
    return range(first, max(first, min(last, passages + 1)) + 1)
