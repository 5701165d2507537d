"""Find quoted evidence in the documents, and cut it out of passages."""

from collections.abc import Iterable, Sequence
from itertools import islice

from workbench.datasets.labels import TextSearch
from workbench.records import Chunk, Span

# Characters of evidence. Shorter texts recur by chance.
SHORTEST, LONGEST = 20, 800
# A text in more places is a formula, which answers no question by itself.
MOST_PLACES = 20
# Remains that are too short to answer anything.
_REMAINS = 20


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
    """Return what remains of passages if the evidence is cut out of them, each remaining part as a passage."""
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
