"""Find quoted evidence in the documents, cut it out of passages, and compare short answers."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from workbench.context.answer_words import content_words
from workbench.datasets.labels import TextSearch
from workbench.generation.passages import cosines
from workbench.perturb.values import WORDS as NUMBER_WORDS
from workbench.records import Chunk, Span
from workbench.storage.vector_cache import VectorCache

# The share of the expected answer's words that the other must have, or else their cosine. Numbers and negations must agree in any case.
WORDS, COSINE = 0.6, 0.8
_NEGATION = re.compile(r"\b(?:no|not|never|none|neither|nor|nobody|nothing|without|cannot|nein|nicht|nie|niemand|kein\w*|ohne)\b|n't\b")
_NUMBERS = {word: str(value) for word, value in NUMBER_WORDS.items()} | {"hundred": "100"}
# Words that two answers share whatever they say.
_COMMON = "at in on of to for by is are be was were it its and or with from as that this which there has have you your they"

# Characters of evidence. Shorter texts recur by chance.
SHORTEST, LONGEST = 20, 800
# A text in more places is a formula, which answers no question by itself.
MOST_PLACES = 20
# Remains that are too short to answer anything.
_REMAINS = 20


def answers_agree(answer: str, expected: str, cache: VectorCache) -> bool:
    """Return whether an answer says what the expected one says: its numbers, a negation or none, and most of its words or a similar meaning.

    Answers that say the same in very other words are not recognised, which costs a candidate.
    """
    given, wanted = _words(answer), _words(expected)
    if not given or not wanted:
        return False
    if {word for word in wanted if word[0].isdigit()} - given:
        return False
    if bool(_NEGATION.search(_plain(answer))) != bool(_NEGATION.search(_plain(expected))):
        return False
    if len(given & wanted) >= WORDS * len(wanted):
        return True
    return bool(cosines([answer], [expected], cache)[0, 0] >= COSINE)


def _words(text: str) -> set[str]:
    """Return the words of a text that say something, with numbers as digits."""
    words = {_NUMBERS.get(word, word) for word in content_words(text)}
    return words.difference(_COMMON.split()) or words


def _plain(text: str) -> str:
    return text.casefold().replace("’", "'")


def find_evidence(quote: str, passage: Chunk, search: TextSearch) -> tuple[Span, ...]:
    """Return the places of a quote, that in the passage first: verbatim or with other white space. None if the passage does not contain it.

    Verbatim recurrences of the same text, in any document, are the other places, as `workbench dataset import --recurrences` finds them.
    """
    text = quote.strip()
    if not text:
        return ()
    for places in (search.verbatim, search.loosely):
        inside = (span for span in places(text, [passage.doc_id]) if passage.start <= span.start and span.end <= passage.end)
        if span := next(inside, None):
            exact = passage.document.text[span.start : span.end]
            return tuple(dict.fromkeys([span, *islice(search.verbatim(exact), MOST_PLACES + 1)]))
    return ()


def fits(spans: Sequence[Span]) -> bool:
    """Return whether evidence is neither too short nor too long, and in few places."""
    return SHORTEST <= spans[0].end - spans[0].start <= LONGEST and len(spans) <= MOST_PLACES


def without_evidence(passages: Iterable[Chunk], spans: Iterable[Span]) -> list[Chunk]:
    """Cut evidence out of passages, and return each remaining part as a passage."""
    cuts: dict[str, list[tuple[int, int]]] = {}
    for span in spans:
        cuts.setdefault(span.doc_id, []).append((span.start, span.end))
    parts: dict[str, Chunk] = {}
    for passage in passages:
        start = passage.start
        for low, high in [*sorted(cuts.get(passage.doc_id, ())), (passage.end, passage.end)]:
            end = min(max(low, start), passage.end)
            part = Chunk(passage.document, start, end, passage.header)
            if len(part.text.strip()) >= _REMAINS:
                parts.setdefault(part.chunk_id, part)
            start = min(max(start, high), passage.end)
    return list(parts.values())
