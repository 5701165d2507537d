"""Why a run lost a document or a piece of evidence: the cause of the miss, and what happened to the corpus."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.attribution.causes import CAUSES
from workbench.core.formatting import listed
from workbench.gate.inputs import Differences
from workbench.gate.losses.hit_lists import HitList
from workbench.gate.losses.lost_pieces import LostPiece
from workbench.results.run_tables import RETRIEVED, RunTables

_BECAUSE = {cause.name: cause.because for cause in CAUSES}
# A miss for which other documents that rank ahead of it are the reason.
_BY_RANK = ("rank", "duplicate", "budget")


class LossCause(NamedTuple):
    """The cause of a loss, a sentence about it, and the new or changed documents that rank ahead."""

    name: str
    explanation: str
    displaced_by: Sequence[str] = ()


class LossCauses:
    """The causes of the misses of a configuration, and what happened to each document since the baseline."""

    def __init__(self, run: RunTables, configuration: str, changes: Differences) -> None:
        rows = run.of("causes", configuration)
        rows = rows[(rows["subject"] == "evidence") & (rows["condition"] == RETRIEVED)]
        self._causes: Mapping[tuple[str, int, str], str] = {
            (query_id, int(need), doc_id if need < 0 else ""): cause
            for query_id, need, doc_id, cause in zip(rows["query_id"], rows["need"], rows["doc_id"], rows["cause"], strict=True)
        }
        self._added, self._removed, self._changed = map(frozenset, (changes.added, changes.removed, changes.changed))

    def of(self, piece: LostPiece, before: HitList, after: HitList, *, distinct: bool) -> LossCause:
        """Explain a loss. `distinct`: ranks are those of documents."""
        doc_id = piece.place[0]
        if doc_id in self._removed:
            return LossCause("removed", f"{doc_id} was removed from the corpus")
        label = piece.label
        miss = self._causes.get((label.query_id, label.need, doc_id if label.need < 0 else "")) or _seen_cause(piece, after)
        moved = _moved(piece)
        if doc_id in self._changed:
            return LossCause("changed", f"the text of {doc_id} changed, and {moved}")
        ahead = _ahead(after, piece, piece.rank_after, distinct)
        # Those that were ahead before displaced nothing.
        earlier = set(_ahead(before, piece, piece.rank_before, distinct))
        new = [name for name in ahead if name in self._added | self._changed and name not in earlier]
        if new and miss in _BY_RANK:
            return LossCause("displaced", f"{self._displaced(ahead, new)}; {moved}", tuple(new))
        return LossCause(miss, moved if miss == "rank" else f"{_BECAUSE[miss]}; {moved}", tuple(new))

    def _displaced(self, ahead: Sequence[str], new: Sequence[str]) -> str:
        kind = (
            "new"
            if all(name in self._added for name in new)
            else "changed"
            if all(name in self._changed for name in new)
            else "new or changed"
        )
        how_many, of = len(new), len(ahead)
        which = "the document" if of == 1 else f"all {of} documents" if how_many == of else f"{how_many} of the {of} documents"
        return f"{which} ahead of it {'is' if how_many == 1 else 'are'} {kind}: {listed(new)}"


def _seen_cause(piece: LostPiece, after: HitList) -> str:
    """What the hits show of evidence that the run does not attribute, because its primary metric does not read it."""
    doc_id, start, end = piece.place
    if piece.label.need < 0 or any(hit.doc_id == doc_id and hit.start <= start and hit.end >= end for hit in after.listed):
        return "rank"
    return "boundary" if any(hit.doc_id == doc_id and hit.start < end and hit.end > start for hit in after.reached) else "rank"


def _ahead(hits: HitList, piece: LostPiece, rank: int, distinct: bool) -> list[str]:
    """The documents ahead of what is missing, by rank: all that are reached if it is not listed."""
    doc_id = piece.place[0]
    if distinct:
        documents = list(dict.fromkeys(hit.doc_id for hit in hits.listed))
        return documents[: documents.index(doc_id)] if doc_id in documents else documents
    slices = [hit for hit in hits.listed if hit.rank < rank] if rank else hits.reached
    return [name for name in dict.fromkeys(hit.doc_id for hit in slices) if name != doc_id]


def _moved(piece: LostPiece) -> str:
    """Say how the rank changed. A baseline keeps only its first hits."""
    if not piece.rank_before:
        now = f"it is at rank {piece.rank_after}" if piece.rank_after else "it is not among the hits"
        return f"{now}, and the hits that the baseline keeps do not show where it was"
    if not piece.rank_after:
        return f"it fell from rank {piece.rank_before} out of the hits"
    if piece.rank_after > piece.rank_before:
        return f"it fell from rank {piece.rank_before} to {piece.rank_after}"
    return f"it was at rank {piece.rank_before}"
