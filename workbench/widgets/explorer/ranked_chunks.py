"""The ranked chunks of a question with their texts, the evidence in them, and what was cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.analysis.passages import Excerpt, Piece, Stretch, disjoint, marked, passage_of
from workbench.errors import InputError
from workbench.results.run_tables import RunTables
from workbench.widgets.explorer.gold_places import HitRow

Spans = Sequence[tuple[str, int, int]]


@dataclass(frozen=True)
class ExploredChunk:
    """A retrieved slice. `relevance` is that of its document, None without a judgement.

    Of a delivered slice [`start`, `kept`) is in the context; another one has its `cut_reason`. `pieces` is its text, empty if the run does not
    store it. `evident`: whether it contains evidence.
    """

    rank: int
    doc_id: str
    start: int
    end: int
    score: float
    relevance: int | None
    delivered: bool
    kept: int
    cut_reason: str
    evident: bool
    pieces: Sequence[Piece]


@dataclass(frozen=True)
class StoredTexts:
    """The texts that the run stores, and those of `documents` that were loaded beside it."""

    run: RunTables
    documents: Mapping[str, str]

    def find(self, doc_id: str, start: int, end: int) -> Excerpt | None:
        """The text around [start, end) of a document, or None."""
        try:
            return passage_of(self.run, doc_id, start, end)
        except InputError:
            text = self.documents.get(doc_id)
            return Excerpt(0, text) if text is not None and end <= len(text) else None


def ranked_chunk(hit: HitRow, evidence: Spans, grades: Mapping[str, int], texts: StoredTexts) -> ExploredChunk:
    """Mark the evidence of a hit as delivered or missed, and what was cut from its end."""
    doc_id, start, end = str(hit["doc_id"]), int(hit["start"]), int(hit["end"])
    delivered, kept = bool(hit["delivered"]), int(hit["kept"]) if hit["delivered"] else int(hit["start"])
    stretches = _stretches([(low, high) for doc, low, high in evidence if doc == doc_id and low < end and high > start], start, kept, end)
    text = texts.find(doc_id, start, end)
    cut = _cut(stretches, kept, end) if delivered else []
    pieces = marked(text, start, end, [*stretches, *cut]) if text is not None else []
    return ExploredChunk(
        int(hit["rank"]),
        doc_id,
        start,
        end,
        float(hit["score"]),
        grades.get(doc_id),
        delivered,
        kept,
        str(hit["cut_reason"]),
        bool(stretches),
        pieces,
    )


def _stretches(spans: Sequence[tuple[int, int]], start: int, kept: int, end: int) -> list[Stretch]:
    parts: list[Stretch] = []
    for low, high in spans:
        low, high = max(low, start), min(high, end)
        parts += [(low, min(high, kept), "delivered")] if low < kept else []
        parts += [(max(low, kept), high, "missed")] if high > kept else []
    return disjoint(parts)


def _cut(stretches: Sequence[Stretch], kept: int, end: int) -> list[Stretch]:
    """The parts beyond the budget that are no evidence."""
    parts: list[Stretch] = []
    position = kept
    for low, high, _ in [stretch for stretch in stretches if stretch[1] > kept]:
        parts += [(position, low, "cut")] if position < low else []
        position = max(position, high)
    return [*parts, (position, end, "cut")] if position < end else parts
