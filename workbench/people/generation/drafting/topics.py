"""The phrase that distinguishes a statement from others."""

import re
from collections.abc import Callable, Sequence

from workbench.core.text.words import words
from workbench.people.generation.drafting.phrasing import Language, function_words
from workbench.people.generation.drafting.statements import Statement

_WORD = re.compile(r"[^\W\d_][\w'’-]+")
_LONGEST = 3
# A single word of this length is mostly a noun.
_LONG = 9


def topic_of(statement: Statement, language: Language, times: Callable[[str], int]) -> str:
    """Return up to three neighbouring words that are in few other statements, besides those of the heading, or an empty text.

    `times` counts the statements with a word.
    """

    def rarity(word: str) -> float:
        return 1 / max(1, min(map(times, words(word)), default=0))

    above = {word.casefold() for word in _WORD.findall(" ".join(statement.headings[-1:]))}
    runs: list[list[str]] = [[]]
    last = 0
    for match in _WORD.finditer(statement.plain):
        word = match[0].casefold()
        if statement.plain[last : match.start()].strip() or len(runs[-1]) == _LONGEST:
            runs.append([])
        last = match.end()
        if word in function_words(language) or word in above or len(word) < 4:
            runs.append([])
        else:
            runs[-1].append(match[0])
    best = max((run for run in runs if _is_topic(run)), key=lambda run: sum(map(rarity, run)), default=[])
    return " ".join(best)


def _is_topic(run: Sequence[str]) -> bool:
    """Return True if words are probably about something: several, a long one or one with a capital, which a verb seldom is."""
    return len(run) > 1 or (bool(run) and (len(run[0]) >= _LONG or run[0][0].isupper()))
