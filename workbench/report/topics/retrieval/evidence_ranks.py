"""Find the ranks of each piece of evidence, or of each relevant document, in the ranking of a configuration."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from workbench.core.memo import memoised
from workbench.report.analysis.causes import missed_evidence
from workbench.report.analysis.passages import text_of
from workbench.report.results.run_tables import RunTables

Span = tuple[str, int, int]
# The metrics that count documents, whose evidence says nothing about a miss.
OF_DOCUMENTS = ("documents", "hits")


@dataclass(frozen=True)
class NeededEvidence:
    """A piece of evidence with its alternatives, any of which is enough, or a relevant document without a span. `need` is -1 for a document."""

    need: int
    doc_id: str
    alternatives: tuple[Span, ...] = ()


class EvidenceRank(NamedTuple):
    """The fate of a piece of evidence or of a relevant document in one ranking.

    If it was delivered, `cause` is empty and `ranks` are those of the fewest first chunks that hold it together. If it was missed, `ranks` has the
    best rank of a chunk that holds it or a part of it, none if none is listed, or if `in_part` those of the delivered chunks with a part. Neither is
    known of a call that failed: both are empty.
    """

    cause: str
    ranks: tuple[int, ...]
    in_part: bool = False

    @property
    def delivered(self) -> bool:
        """True if all of it was delivered."""
        return not self.cause and bool(self.ranks)


def by_query(table: pd.DataFrame, *columns: str) -> dict[str, list[list[Any]]]:
    """Map each `query_id` of a table to its rows, as lists of the values of some columns."""
    rows: dict[str, list[list[Any]]] = {}
    for query_id, *row in zip(*(table[name].tolist() for name in ("query_id", *columns)), strict=True):
        rows.setdefault(query_id, []).append(row)
    return rows


@memoised(1)
def needed_evidence(run: RunTables) -> Mapping[str, Sequence[NeededEvidence]]:
    """Map each answerable question to its evidence, or to its relevant documents if it has none or the primary metric counts documents."""
    answerable = set(run.questions.loc[run.questions["answerable"], "query_id"])
    needs: dict[str, dict[int, list[Span]]] = {}
    if run.primary.family not in OF_DOCUMENTS:
        table = run.evidence
        columns = (table[name].tolist() for name in ("query_id", "need", "doc_id", "start", "end"))
        for query_id, need, *span in zip(*columns, strict=True):
            if query_id in answerable:
                needs.setdefault(query_id, {}).setdefault(need, []).append((span[0], span[1], span[2]))
    pieces = {query_id: [NeededEvidence(need, spans[0][0], tuple(spans)) for need, spans in own.items()] for query_id, own in needs.items()}
    judgements = run.table("judgements")
    relevant = judgements[judgements["relevance"] > 0].drop_duplicates(["query_id", "doc_id"])
    for query_id, doc_id in zip(relevant["query_id"].tolist(), relevant["doc_id"].tolist(), strict=True):
        if query_id in answerable and query_id not in needs:
            pieces.setdefault(query_id, []).append(NeededEvidence(-1, doc_id))
    return pieces


@memoised(64)
def evidence_ranks(run: RunTables, configuration: str) -> Mapping[str, Sequence[EvidenceRank]]:
    """Map each question to the ranks of what `needed_evidence` lists, in its order."""
    misses = missed_evidence(run, configuration)
    columns = (misses[name].tolist() for name in ("query_id", "need", "doc_id", "cause", "rank"))
    missed = {
        (query_id, need, doc_id if need < 0 else ""): (cause, rank) for query_id, need, doc_id, cause, rank in zip(*columns, strict=True)
    }
    context = run.of("context", configuration)
    columns = (context[name].tolist() for name in ("query_id", "rank", "doc_id", "start", "kept"))
    delivered: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for query_id, rank, doc_id, start, kept in zip(*columns, strict=True):
        if kept > start:
            delivered.setdefault((query_id, doc_id), []).append((rank, start, kept))
    documents = _document_ranks(run, configuration)

    def rank_of(query_id: str, piece: NeededEvidence) -> EvidenceRank:
        miss = missed.get((query_id, piece.need, piece.doc_id if piece.need < 0 else ""))
        if piece.need < 0:
            rank = miss[1] if miss else documents.get((query_id, piece.doc_id), 0)
            return EvidenceRank(miss[0] if miss else "", (rank,) if rank else ())
        found = [_holding(run, span, delivered.get((query_id, span[0]), ())) for span in piece.alternatives]
        ranks = min(filter(None, found), key=lambda ranks: (len(ranks), ranks), default=())
        if not miss:
            return EvidenceRank("", ranks)
        return EvidenceRank(miss[0], ranks or ((miss[1],) if miss[1] else ()), bool(ranks))

    return {query_id: [rank_of(query_id, piece) for piece in pieces] for query_id, pieces in needed_evidence(run).items()}


def _document_ranks(run: RunTables, configuration: str) -> Mapping[tuple[str, str], int]:
    """The rank of each listed document of a question, each by its first chunk."""
    if not any(piece.need < 0 for pieces in needed_evidence(run).values() for piece in pieces):
        return {}
    hits = run.of("hits", configuration).sort_values("rank", kind="stable").drop_duplicates(["query_id", "doc_id"])
    ranks = hits.groupby("query_id").cumcount() + 1
    return dict(zip(zip(hits["query_id"].tolist(), hits["doc_id"].tolist(), strict=True), ranks.tolist(), strict=True))


def _holding(run: RunTables, span: Span, delivered: Iterable[tuple[int, int, int]]) -> tuple[int, ...]:
    """The ranks of the first delivered slices that hold a span together, one alone if it does. Empty if they hold none of it."""
    doc_id, start, end = span
    text = text_of(run, doc_id, start, end)
    low, high = start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())
    ordered = sorted(delivered)
    for rank, first, last in ordered:
        if first <= low and last >= high:
            return (rank,)
    ranks, covered = [], list[tuple[int, int]]()
    for rank, first, last in ordered:
        first, last = max(first, low), min(last, high)
        if first < last and not any(left <= first and last <= right for left, right in covered):
            ranks.append(rank)
            covered.append((first, last))
    return tuple(ranks)
