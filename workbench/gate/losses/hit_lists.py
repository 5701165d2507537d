"""The hits of a question as distinct slices and documents, and the rank at which they contain a piece of evidence."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

Blank = Callable[[str, int, int], bool]


class HitSlice(NamedTuple):
    """A retrieved slice of a document. `end` is where its delivered part ends. Equal slices count once, at their best rank."""

    rank: int
    doc_id: str
    start: int
    end: int


@dataclass(frozen=True)
class HitList:
    """The slices of a question by rank. `listed` are all that are known, `reached` those that a metric reads."""

    listed: Sequence[HitSlice] = ()
    reached: Sequence[HitSlice] = ()

    def document_rank(self, doc_id: str, *, distinct: bool) -> tuple[int, int]:
        """The rank of a document among the documents (`distinct`) or slices that are reached, and among all that are listed. 0 if absent."""
        reached, listed = (list(dict.fromkeys(piece.doc_id for piece in slices)) for slices in (self.reached, self.listed))
        if distinct:
            return _place(reached, doc_id), _place(listed, doc_id)
        return _first_rank(self.reached, doc_id), _first_rank(self.listed, doc_id)

    def evidence_rank(self, doc_id: str, start: int, end: int, blank: Blank) -> tuple[int, int]:
        """The rank at which the reached slices contain all of a span, and the best rank of a listed slice with all, else a part, of it."""
        return covering_rank(self.reached, doc_id, start, end, blank), _best_rank(self.listed, doc_id, start, end, blank)


def hit_lists(hits: pd.DataFrame, *, documents: int | None, slices: int | None) -> Mapping[str, HitList]:
    """Make the hit list of every question from `query_id`, `rank`, `doc_id`, `start`, `end` and `kept`.

    A metric reads the first `documents`, the first `slices`, or without both the delivered slices.
    """
    ordered = hits.sort_values("rank", kind="stable").drop_duplicates(["query_id", "doc_id", "start", "end"])
    kept = ordered["kept"]
    delivered = (kept > ordered["start"]).tolist()
    rows: dict[str, list[tuple[HitSlice, bool, int]]] = {}
    columns = [ordered[name] for name in ("query_id", "doc_id", "start", "end")]
    for query_id, doc_id, start, end, given, last in zip(*columns, delivered, kept, strict=True):
        own = rows.setdefault(query_id, [])
        own.append((HitSlice(len(own) + 1, doc_id, int(start), int(end)), bool(given), int(last)))
    return {query_id: _hit_list(own, documents, slices) for query_id, own in rows.items()}


def covered(slices: Iterable[HitSlice], doc_id: str, start: int, end: int) -> int:
    """The number of characters of [start, end) in a document that the slices contain together."""
    cuts = sorted((max(start, piece.start), min(end, piece.end)) for piece in slices if piece.doc_id == doc_id)
    reached, total = start, 0
    for low, high in cuts:
        total += max(0, high - max(low, reached))
        reached = max(reached, high)
    return total


def first_documents(slices: Iterable[HitSlice]) -> list[HitSlice]:
    """The best slice of each document, ranked among the documents."""
    best: dict[str, HitSlice] = {}
    for piece in slices:
        best.setdefault(piece.doc_id, piece)
    return [piece._replace(rank=rank) for rank, piece in enumerate(best.values(), 1)]


def covering_rank(slices: Sequence[HitSlice], doc_id: str, start: int, end: int, blank: Blank) -> int:
    """The rank down to which the slices together contain [start, end) of a document, apart from blanks. 0 if they do not."""
    open_parts = [(start, end)]
    for piece in slices:
        if piece.doc_id != doc_id or piece.end <= start or piece.start >= end:
            continue
        open_parts = [part for low, high in open_parts for part in ((low, min(high, piece.start)), (max(low, piece.end), high))]
        open_parts = [(low, high) for low, high in open_parts if low < high and not blank(doc_id, low, high)]
        if not open_parts:
            return piece.rank
    return 0


def _hit_list(rows: Sequence[tuple[HitSlice, bool, int]], documents: int | None, slices: int | None) -> HitList:
    listed = [piece for piece, _, _ in rows]
    if documents is not None:
        first = set(list(dict.fromkeys(piece.doc_id for piece in listed))[:documents])
        return HitList(listed, [piece for piece in listed if piece.doc_id in first])
    if slices is not None:
        return HitList(listed, listed[:slices])
    return HitList(listed, [piece._replace(end=last) for piece, given, last in rows if given])


def _best_rank(slices: Sequence[HitSlice], doc_id: str, start: int, end: int, blank: Blank) -> int:
    parts = [piece for piece in slices if piece.doc_id == doc_id and piece.start < end and piece.end > start]
    whole = [piece for piece in parts if covering_rank([piece], doc_id, start, end, blank)]
    return min((piece.rank for piece in whole or parts), default=0)


def _place(doc_ids: list[str], doc_id: str) -> int:
    return doc_ids.index(doc_id) + 1 if doc_id in doc_ids else 0


def _first_rank(slices: Sequence[HitSlice], doc_id: str) -> int:
    return min((piece.rank for piece in slices if piece.doc_id == doc_id), default=0)
