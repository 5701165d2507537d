"""The hits of a question as distinct slices and documents, and the ranks of documents and of evidence among them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from workbench.core.records import Span

# A slice with its rank. Equal slices count once, at their best rank.
RankedSpan = tuple[int, Span]
Blank = Callable[[Span], bool]


class RankedSpans(NamedTuple):
    """The slices of a question by rank: all that are known (`listed`), and those that a metric reads (`reached`), to where they are delivered."""

    listed: Sequence[RankedSpan] = ()
    reached: Sequence[RankedSpan] = ()

    def document_ranks(self, doc_id: str, *, distinct: bool) -> tuple[int, int]:
        """Return the rank of a document among the documents (`distinct`) or slices that are reached, and among all that are listed. 0 if absent."""
        sides = [distinct_documents(slices) if distinct else slices for slices in (self.reached, self.listed)]
        reached, listed = (min((rank for rank, span in slices if span.doc_id == doc_id), default=0) for slices in sides)
        return reached, listed

    def evidence_ranks(self, evidence: Span, blank: Blank) -> tuple[int, int]:
        """Return the rank at which the reached slices contain all of a span, and the best rank of a listed slice with all, else a part, of it."""
        parts = [(rank, span) for rank, span in self.listed if _overlap(span, evidence)]
        whole = [(rank, span) for rank, span in parts if covering_rank([(rank, span)], evidence, blank)]
        return covering_rank(self.reached, evidence, blank), min((rank for rank, _ in whole or parts), default=0)


def ranked_spans(hits: pd.DataFrame, *, documents: int | None, slices: int | None) -> Mapping[str, RankedSpans]:
    """Rank the slices of every question from `query_id`, `rank`, `doc_id`, `start`, `end` and `kept`.

    A metric reads the first `documents`, the first `slices`, or without both the delivered slices.
    """
    ordered = hits.sort_values("rank", kind="stable").drop_duplicates(["query_id", "doc_id", "start", "end"])
    rows: dict[str, list[tuple[Span, int]]] = {}
    for query_id, doc_id, start, end, kept in ordered[["query_id", "doc_id", "start", "end", "kept"]].itertuples(index=False):
        rows.setdefault(query_id, []).append((Span(doc_id, int(start), int(end)), int(kept)))
    return {query_id: _ranked(own, documents, slices) for query_id, own in rows.items()}


def _ranked(rows: Sequence[tuple[Span, int]], documents: int | None, slices: int | None) -> RankedSpans:
    listed = [(rank, span) for rank, (span, _) in enumerate(rows, 1)]
    if documents is not None:
        first = {span.doc_id for _, span in distinct_documents(listed)[:documents]}
        return RankedSpans(listed, [(rank, span) for rank, span in listed if span.doc_id in first])
    if slices is not None:
        return RankedSpans(listed, listed[:slices])
    return RankedSpans(
        listed, [(rank, Span(span.doc_id, span.start, kept)) for rank, (span, kept) in enumerate(rows, 1) if kept > span.start]
    )


def distinct_documents(slices: Iterable[RankedSpan]) -> list[RankedSpan]:
    """Return the best slice of each document, ranked among the documents."""
    best: dict[str, Span] = {}
    for _, span in slices:
        best.setdefault(span.doc_id, span)
    return list(enumerate(best.values(), 1))


def covered(slices: Iterable[RankedSpan], wanted: Span) -> int:
    """Return the number of characters of a span that the slices contain together."""
    cuts = sorted((max(wanted.start, span.start), min(wanted.end, span.end)) for _, span in slices if span.doc_id == wanted.doc_id)
    reached, total = wanted.start, 0
    for low, high in cuts:
        total += max(0, high - max(low, reached))
        reached = max(reached, high)
    return total


def covering_rank(slices: Sequence[RankedSpan], wanted: Span, blank: Blank) -> int:
    """Return the rank down to which the slices together contain a span, apart from blanks. 0 if they do not."""
    gaps = [(wanted.start, wanted.end)]
    for rank, span in slices:
        if not _overlap(span, wanted):
            continue
        gaps = [part for low, high in gaps for part in ((low, min(high, span.start)), (max(low, span.end), high))]
        gaps = [(low, high) for low, high in gaps if low < high and not blank(Span(wanted.doc_id, low, high))]
        if not gaps:
            return rank
    return 0


def _overlap(first: Span, second: Span) -> bool:
    return first.doc_id == second.doc_id and first.start < second.end and first.end > second.start
