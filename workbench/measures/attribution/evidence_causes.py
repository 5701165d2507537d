"""The cause of everything that a metric misses, and the context that it was not delivered in."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.measures.attribution.causes import EVIDENCE_CAUSES, NOT_RETURNED
from workbench.measures.attribution.evidence_state import EmbeddedExtent, evidence_state
from workbench.measures.metrics.case import (
    NO_CUT,
    Case,
    Cut,
    Delivered,
    Ordered,
    Slices,
    delivered,
    delivered_documents,
    ordered,
    packed_text,
    slices,
)
from workbench.measures.metrics.coverage import Bools, Floats, Ints, meeting, sharing_half, totals
from workbench.measures.metrics.documents import MARGIN_METRICS, first_documents, judged
from workbench.measures.metrics.evaluate import unjudged_values, values_of
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


# The number of slices listed after the delivered ones: the next ones, and further ones with evidence.
_NEXT, _FURTHER = 2, 3


def context_rows(case: Case, cut: Cut) -> pd.DataFrame:
    """The slices of every query up to the cut, the two after them and three further ones with evidence, by query and rank.

    `kept` is the end of the delivered text of a slice, its `start` if none was delivered; positions are those of the document.
    """
    labels = case.labels
    hits, table, text = case.shared(ordered), case.shared(slices), case.shared(delivered, cut)
    delivered_ends, within = table.starts[hits.piece].copy(), np.zeros(len(hits.query), dtype=np.bool_)
    delivered_ends[text.row], within[text.row] = text.ends, True
    last = np.zeros(labels.queries, dtype=np.int64)
    np.maximum.at(last, text.query, hits.position[text.row])
    beyond = hits.position - last[hits.query]
    evident = _evident(case, hits, table) & ~within & (beyond > _NEXT)
    nth = pd.Series(evident).groupby(hits.query).cumsum().to_numpy()
    wanted = np.flatnonzero(within | (beyond <= _NEXT) | (evident & (nth <= _FURTHER)))
    piece = hits.piece[wanted]
    doc, offsets = table.doc[piece], labels.offsets[table.doc[piece]]
    keys = hits.query[wanted] * len(table.starts) + piece
    places = {"start": table.starts[piece] - offsets, "end": table.ends[piece] - offsets, "kept": delivered_ends[wanted] - offsets}
    ranked = {"query": hits.query[wanted], "rank": hits.position[wanted], "doc": doc}
    return pd.DataFrame(ranked | places | {"score": _scores(case, table, keys)})


def context_tokens(case: Case, cut: Cut, unknown: Sequence[int] = ()) -> float | None:
    """The mean number of tokens delivered for a query up to the cut, over all but the `unknown` ones. None if all are unknown.

    Text that is delivered twice counts twice.
    """
    text, known = case.shared(delivered, cut), np.ones(case.labels.queries, dtype=np.bool_)
    known[list(unknown)] = False
    tokens = case.labels.tokens_in(text.starts, text.ends)[known[text.query]].sum()
    return float(tokens) / int(known.sum()) if known.any() else None


def query_details(case: Case, metric: Metric) -> pd.DataFrame:
    """Tabulate for each query the judged share of the first k documents, the bounds of document metrics, and the margins."""
    unknown = np.full(case.labels.queries, np.nan)
    columns = dict.fromkeys(("judged", "unjudged_low", "unjudged_high"), unknown)
    if metric.family == "documents" and metric.k is not None:
        low, high = unjudged_values(case, metric)
        columns = {"judged": judged(case, metric.cut).value, "unjudged_low": low, "unjudged_high": high}
    return pd.DataFrame(columns | {each.name: values_of(case, each, NO_CUT)["value"].to_numpy(np.float64) for each in MARGIN_METRICS})


def _evident(case: Case, hits: Ordered, table: Slices) -> Bools:
    """Mask of the slices that share a character with evidence of their query. Shape (hits,)."""
    labels, width = case.labels, case.labels.width
    starts, ends = hits.query * width + table.starts[hits.piece], hits.query * width + table.ends[hits.piece]
    evident = np.zeros(len(hits.query), dtype=np.bool_)
    evident[meeting(*labels.evidence, starts, ends)[0]] = True
    return evident


def _scores(case: Case, table: Slices, keys: Ints) -> Floats:
    """The best score among the chunks that each slice (by key) is delivered for. Shape (n,)."""
    hits = case.retrieved.hits
    slice_keys = hits["query"].to_numpy(np.int64) * len(table.starts) + table.of_chunk[hits["chunk"].to_numpy(np.int64)]
    best: Floats = pd.Series(hits["score"].to_numpy(np.float64)).groupby(slice_keys).max().reindex(keys).to_numpy()
    return best
