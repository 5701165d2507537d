"""Where the labelled documents and each piece of evidence stand in a ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.report.topics.run.worst import ShownNeed

# A row of `hits`.
HitRow = Mapping[str, Any]


@dataclass(frozen=True)
class GoldDocument:
    """A relevant document. `place` is its rank among the documents and `rank` that of its first chunk, 0 if it was not retrieved.

    `cut_reason` is why that chunk was not delivered, empty if it was. `delivered`: whether any of its chunks was.
    """

    doc_id: str
    relevance: int
    place: int
    rank: int
    delivered: bool
    cut_reason: str


@dataclass(frozen=True)
class EvidencePlace:
    """A piece of evidence. `rank` is that of the first chunk that contains some of it, `whole` of the first with all of it, 0 for none."""

    need: ShownNeed
    rank: int
    whole: int


def gold_documents(grades: Mapping[str, int], hits: Sequence[HitRow]) -> list[GoldDocument]:
    """Locate the relevant documents, the best ranked first, those that were not retrieved last."""
    place = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(hit["doc_id"] for hit in hits), 1)}
    gold = [_document(doc_id, grade, place.get(doc_id, 0), hits) for doc_id, grade in grades.items() if grade > 0]
    return sorted(gold, key=lambda document: document.place or len(place) + 1)


def _document(doc_id: str, relevance: int, place: int, hits: Sequence[HitRow]) -> GoldDocument:
    own = [hit for hit in hits if hit["doc_id"] == doc_id]
    first: HitRow = own[0] if own else {"rank": 0, "cut_reason": ""}
    return GoldDocument(doc_id, relevance, place, int(first["rank"]), any(hit["delivered"] for hit in own), str(first["cut_reason"]))


def evidence_place(need: ShownNeed, alternatives: Sequence[tuple[str, int, int]], hits: Sequence[HitRow]) -> EvidencePlace:
    """Locate a piece of evidence by any of its alternatives."""
    some = [hit["rank"] for hit in hits if any(_meet(hit, span) for span in alternatives)]
    whole = [hit["rank"] for hit in hits if any(_contains(hit, span) for span in alternatives)]
    return EvidencePlace(need, int(min(some, default=0)), int(min(whole, default=0)))


def _meet(hit: HitRow, span: tuple[str, int, int]) -> bool:
    doc_id, start, end = span
    return bool(hit["doc_id"] == doc_id and hit["start"] < end and hit["end"] > start)


def _contains(hit: HitRow, span: tuple[str, int, int]) -> bool:
    doc_id, start, end = span
    return bool(hit["doc_id"] == doc_id and hit["start"] <= start and hit["end"] >= end)
