"""The causes of missed evidence: one for each piece that a metric needs and the context lacks.

A cause applies if repairing its layer alone would deliver the evidence. If several apply, the earliest layer counts. A need with
several alternatives is judged by its soundest alternative.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.measures.attribution.causes import EVIDENCE_CAUSES, NOT_RETURNED
from workbench.measures.attribution.evidence_state import EmbeddedExtent, evidence_state
from workbench.measures.metrics.case import NO_CUT, Case, Cut
from workbench.measures.metrics.coverage import Bools, Ints, meeting, sharing_half, totals
from workbench.measures.metrics.delivery import Delivered, Ordered, delivered, delivered_documents, ordered, packed_text, slices
from workbench.measures.metrics.documents import first_documents
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.spans import delivered_characters, met, met_by

_COLUMNS = ["query", "need", "doc", "cause", "rank"]


def context_cut(metric: Metric, delivery: Cut) -> Cut:
    """Cut at which the context ends for a metric: its own if it reads delivered text, else that of the delivered text."""
    reads_text = metric.family in ("spans", "chunks", "hits") and metric.cut != NO_CUT
    return metric.cut if reads_text else delivery


def missed(case: Case, metric: Metric, extent: EmbeddedExtent, cut: Cut) -> pd.DataFrame:
    """Tabulate every piece that a metric misses in the context up to `cut`, by query: `query, need, doc, cause, rank`.

    Span and chunk metrics miss needs (`doc` is -1). Others miss relevant documents (`need` is -1), as does a chunk metric for queries
    without evidence. `rank` is the best rank of a delivered slice with all of the evidence, else of one with a part, or the rank of the
    document, 0 if it is not listed. Hits are listed down to the deepest cut of any metric of the run, so no repeat or rank beyond that is
    known. A metric that counts faults misses nothing.
    """
    if not metric.higher_is_better:
        return pd.DataFrame(columns=_COLUMNS)
    labels, of_text = case.labels, metric.family in ("spans", "chunks")
    parts = [missed_needs(case, cut, extent)] if of_text and len(labels.need_query) else []
    without = metric.definition.applies(case) & labels.answerable & ~(of_text & labels.has_evidence)
    if without.any():
        retrieved = first_documents(case, metric.cut) if metric.family == "documents" else delivered_documents(case, cut)
        parts.append(missed_documents(case, retrieved, extent, without))
    table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_COLUMNS)
    return table.sort_values("query", kind="stable", ignore_index=True)


def missed_needs(case: Case, cut: Cut, extent: EmbeddedExtent) -> pd.DataFrame:
    """Find the needs that are not delivered whole up to the cut, each with its cause.

    A token budget packs the cut's k chunks or, without a k, the chunks of which it delivers a part.
    """
    labels = case.labels
    lost = ~case.shared(met, cut) & labels.answerable[labels.need_query]
    rows = np.flatnonzero(lost[labels.alternative_need])
    need, state = labels.alternative_need[rows], evidence_state(case, extent, rows)

    def by_need(flags: Bools) -> Bools:
        return totals(need, flags, len(lost))[lost] > 0

    whole = by_need(state.whole)
    mended = met_by(labels, delivered_without_repeats(case, cut, labels.need_query[lost]))
    in_part = delivered_characters(labels, case.shared(delivered, cut))[0][rows] > 0
    applies = {
        _absent(case): ~by_need(state.chunked),
        "boundary": ~whole & by_need(in_part),
        "window": case.retrieved.whole_index & ~np.where(whole, by_need(state.whole & state.embedded), by_need(state.embedded)),
        "duplicate": mended[lost],
        "rank": ~met_by(labels, case.shared(retrieved_text, cut))[lost],
        "budget": np.ones(int(lost.sum()), dtype=np.bool_),
    }
    columns = {"query": labels.need_query[lost], "need": np.flatnonzero(lost), "doc": -1, "cause": _earliest(applies)}
    return pd.DataFrame(columns | {"rank": _need_ranks(case, rows, len(lost))[lost]})


def retrieved_text(case: Case, cut: Cut) -> Delivered:
    """The text of the chunks that are retrieved for the context, without a token budget that cuts it off."""
    if cut.k is not None:
        return case.shared(delivered, Cut(k=cut.k))
    text = case.shared(delivered, cut)
    return text._replace(ends=case.shared(slices).ends[text.piece])


def _absent(case: Case) -> str:
    """Return the cause of evidence that is in no chunk."""
    return "not_indexed" if case.retrieved.whole_index else NOT_RETURNED


def _earliest(applies: Mapping[str, Bools]) -> NDArray[np.object_]:
    order = [cause.name for cause in EVIDENCE_CAUSES if cause.name in applies]
    return np.select([applies[name] for name in order], order, default="").astype(object)


def _need_ranks(case: Case, rows: Ints, needs: int) -> Ints:
    """The best rank of a listed slice with all of an alternative of `rows`, else of one with a part, else 0. Shape (needs,)."""
    labels, hits, table = case.labels, case.shared(ordered), case.shared(slices)
    query, need = labels.alternative_query[rows], labels.alternative_need[rows]
    listed = np.flatnonzero(np.isin(hits.query, query))
    origin, piece = hits.query[listed] * labels.width, hits.piece[listed]
    starts, ends = origin + labels.solid(table.starts)[piece], origin + labels.solid(table.ends)[piece]
    lows = query * labels.width + labels.solid(labels.alternative_start[rows])
    highs = query * labels.width + labels.solid(labels.alternative_end[rows])
    span, place = meeting(starts, ends, lows, highs)
    part = (starts[place] > lows[span]) | (ends[place] < highs[span])
    pairs = pd.DataFrame({"need": need[span], "part": part, "rank": hits.position[listed[place]]})
    best = pairs.sort_values(["part", "rank"]).drop_duplicates("need").set_index("need")["rank"]
    return best.reindex(range(needs), fill_value=0).to_numpy(np.int64)


def missed_documents(case: Case, retrieved: Ints, extent: EmbeddedExtent, queries: Bools) -> pd.DataFrame:
    """The relevant documents of the queries that are not among the keys `retrieved` (query * documents + document)."""
    labels, ranking, chunked = case.labels, case.retrieved.ranking, case.retrieved.chunks["doc"].to_numpy()
    pairs = labels.relevant_pairs[queries[labels.relevant_pairs // labels.documents]]
    pairs = pairs[~np.isin(pairs, retrieved)]
    doc = pairs % labels.documents
    every = np.ones(len(doc), dtype=np.bool_)
    cause = _earliest({_absent(case): ~np.isin(doc, chunked), "window": np.isin(doc, chunked[extent.cut]), "rank": every})
    listed = pd.Series(ranking["rank"].to_numpy(), index=ranking["query"].to_numpy() * labels.documents + ranking["doc"].to_numpy())
    columns = {"query": pairs // labels.documents, "need": -1, "doc": doc, "cause": cause}
    return pd.DataFrame(columns | {"rank": listed.reindex(pairs, fill_value=0).to_numpy(np.int64)})


def delivered_without_repeats(case: Case, cut: Cut, queries: Ints) -> Delivered:
    """The text delivered for some queries under the cut if no hit repeated an earlier one."""
    hits = case.shared(ordered)
    rows = np.flatnonzero(np.isin(hits.query, queries))
    rows = rows[~repeats(case, rows)]
    return packed_text(case, Ordered(hits.query[rows], hits.position[rows], hits.piece[rows]), cut)


def repeats(case: Case, rows: Ints) -> Bools:
    """Mask of these rows of `ordered` that repeat an earlier one. `rows` are ascending and cover whole queries. Shape (rows,).

    A slice is a repeat if its stripped text equals that of an earlier hit of the query, or if it shares at least half of
    the shorter of the two with an earlier hit that is not a repeat itself.
    """
    hits, table = case.shared(ordered), case.shared(slices)
    query, piece = hits.query[rows], hits.piece[rows]
    repeated: Bools = pd.DataFrame({"query": query, "text": _texts(case, piece)}).duplicated().to_numpy(np.bool_, copy=True)
    origin = query * case.labels.width
    starts, ends = origin + table.starts[piece], origin + table.ends[piece]
    earlier, later = sharing_half(starts, ends, starts, ends)
    # Rows are in order of rank.
    earlier, later = earlier[earlier < later], later[earlier < later]
    # Position by position over all queries: a hit's status must be known before it can make another hit a repeat.
    position = hits.position[rows][later]
    order = np.argsort(position, kind="stable")
    borders = np.flatnonzero(np.diff(position[order])) + 1
    for group in np.split(order, borders):
        repeated[later[group[~repeated[earlier[group]]]]] = True
    return repeated


def _texts(case: Case, piece: Ints) -> Ints:
    """Number the text of each slice, equal texts alike. Shape (pieces,)."""
    labels, table = case.labels, case.shared(slices)
    used, of_row = np.unique(piece, return_inverse=True)
    texts = [labels.texts[doc][start:end].strip() for doc, start, end in labels.places(table.starts[used], table.ends[used])]
    codes: Ints = pd.factorize(np.array(texts, dtype=object))[0].astype(np.int64)
    return codes[of_row]
