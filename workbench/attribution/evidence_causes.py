"""Why evidence did not reach the context: one cause for each piece that a metric looked for and did not find delivered.

Of several causes that apply the earliest stage's is named: the splitter's before the embedder's, theirs before the ranking's. A need
with several alternatives is held against its soundest one.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.attribution.embedded_extent import EmbeddedExtent, seen_of
from workbench.attribution.evidence_ranks import condition, reach_of
from workbench.context.delivery import NO_CUT, delivered, slices
from workbench.execution.local import Result
from workbench.metrics.case import Case, Cut
from workbench.metrics.coverage import Bools, Ints, totals
from workbench.metrics.names import Metric
from workbench.metrics.spans import met
from workbench.pipeline.context import RunContext
from workbench.pipeline.stages import retrieved_of

# In the order of the stages; the first that applies is named.
CAUSES = {
    "dropped": "the splitter left text of the evidence out of every chunk",
    "window": "text of the evidence lies beyond the embedder's window in every chunk that holds it: it was never embedded",
    "boundary": "no chunk, as it is delivered, holds the evidence whole, and a chunk with a part of it was delivered",
    "duplicate": "a chunk holds the evidence whole and would be delivered if none of the hits before it repeated another's text",
    "budget": "a chunk that holds the evidence whole is among the k hits, but the tokens were spent before the end of the evidence",
    "rank": "the evidence was embedded, and the chunks that hold it rank too low",
}
# Where relevant documents are all that is known; other causes cannot be told without evidence.
DOCUMENT_CAUSES = {
    "window": "a chunk of the relevant document is longer than the embedder's window: part of its text was never embedded",
    "rank": "the relevant document ranks too low",
}
_OF_TEXT = ("spans", "chunks")
_COLUMNS = ["query", "need", "doc", "cause", "rank"]


def looked_at(metric: Metric, result: Result) -> Cut:
    """Up to where a metric looks; where it does not look at delivered text, all chunks that retrieval delivers."""
    looks = metric.family in ("spans", "chunks", "hits") and metric.cut != NO_CUT
    return metric.cut if looks else Cut(k=result.configuration.retrieval.k)


def misses_of(bench: RunContext, result: Result, metric: Metric) -> pd.DataFrame:
    """A row for each missed piece: `query, need, doc, cause, rank`, by query.

    Span and chunk metrics miss needs (`doc` is -1), the others relevant documents (`need` is -1), as does a chunk metric for queries
    without evidence. `rank` is the best one of a delivered slice with all of the evidence, else of one with a part, or that of the
    document; 0 where it is not among those listed. Hits are listed as deep as the deepest cut of any metric asked for: a repeat or a rank
    beyond that is not seen. A metric that counts faults misses nothing.
    """
    labels = bench.labels
    case = Case(labels, retrieved_of(result.chunks, result.hits, result.search), bench.spans)
    of_text, applies = metric.family in _OF_TEXT, metric.kind.requires.met(labels) & labels.answerable
    if not metric.higher_is_better:
        return pd.DataFrame(columns=_COLUMNS)
    seen, cut = seen_of(bench, result), looked_at(metric, result)
    parts = []
    if of_text and len(labels.need_query):
        parts.append(missed_needs(case, cut, seen, result.configuration.retrieval.k))
    without = applies & ~labels.has_evidence if of_text else applies
    if without.any():
        parts.append(missed_documents(case, _found(case, metric, cut), seen, without))
    found = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=_COLUMNS)
    return found.sort_values("query", kind="stable", ignore_index=True)


def causes_by_query(misses: pd.DataFrame, queries: int) -> NDArray[np.object_]:
    """(queries) the earliest cause of each query's misses; empty where it misses nothing."""
    names = np.array([*CAUSES, ""], dtype=object)
    codes = np.full(queries, len(CAUSES), dtype=np.int64)
    own = misses["cause"].map({name: place for place, name in enumerate(CAUSES)}).to_numpy(np.int64)
    np.minimum.at(codes, misses["query"].to_numpy(np.int64), own)
    return names[codes]


def missed_needs(case: Case, cut: Cut, seen: EmbeddedExtent, k: int) -> pd.DataFrame:
    """The needs that are not delivered whole up to the cut, each with its cause; `k` hits count as retrieved under a token budget."""
    labels = case.labels
    missed = ~case.shared(met, cut) & labels.answerable[labels.need_query]
    rows = np.flatnonzero(missed[labels.alternative_need])
    chunked, embedded, sound = condition(case, seen, rows)
    reach = reach_of(case, cut, rows, sound, k)
    need = labels.alternative_need[rows]

    def some(flags: Bools) -> Bools:
        return totals(need, flags, len(missed))[missed] > 0

    applies = [~some(chunked), ~some(embedded), ~some(sound) & some(reach.touched), some(reach.spared), some(reach.retrieved)]
    ranks = np.full((2, len(missed)), np.inf)
    np.minimum.at(ranks[0], need, reach.whole)
    np.minimum.at(ranks[1], need, reach.part)
    rank = np.where(np.isfinite(ranks[0]), ranks[0], ranks[1])[missed]
    columns = {"query": labels.need_query[missed], "need": np.flatnonzero(missed), "doc": -1}
    cause = np.select(applies, list(CAUSES)[:-1], default="rank").astype(object)
    return pd.DataFrame(columns | {"cause": cause, "rank": np.where(np.isfinite(rank), rank, 0).astype(np.int64)})


def missed_documents(case: Case, found: Ints, seen: EmbeddedExtent, asked: Bools) -> pd.DataFrame:
    """The relevant documents of the queries `asked` that are not among the keys `found` (query * documents + document)."""
    labels, ranking = case.labels, case.retrieved.ranking
    pairs = labels.relevant_pairs[asked[labels.relevant_pairs // labels.documents]]
    pairs = pairs[~np.isin(pairs, found)]
    doc = pairs % labels.documents
    cut = np.isin(doc, case.retrieved.chunks["doc"].to_numpy()[seen.cut])
    listed = pd.Series(ranking["rank"].to_numpy(), index=ranking["query"].to_numpy() * labels.documents + ranking["doc"].to_numpy())
    columns = {"query": pairs // labels.documents, "need": -1, "doc": doc, "cause": np.where(cut, "window", "rank").astype(object)}
    return pd.DataFrame(columns | {"rank": listed.reindex(pairs, fill_value=0).to_numpy(np.int64)})


def _found(case: Case, metric: Metric, cut: Cut) -> Ints:
    """The documents that a metric finds, as keys query * documents + document."""
    documents = case.labels.documents
    if metric.family == "documents":
        top = case.retrieved.ranking[case.retrieved.ranking["rank"] <= metric.cut.depth]
        keys: Ints = top["query"].to_numpy(np.int64) * documents + top["doc"].to_numpy(np.int64)
        return keys
    text = case.shared(delivered, cut)
    return text.query * documents + case.shared(slices, NO_CUT).doc[text.piece]
