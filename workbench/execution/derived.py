"""What explains a configuration's results: delivered context, causes of misses, faults of its chunks. Computed once and kept in the store."""

from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import pandas as pd

from workbench.attribution.chunk_faults import chunk_faults
from workbench.attribution.embedded_extent import EmbeddedExtent, embedded_extent
from workbench.attribution.evidence_causes import context_cut, missed
from workbench.context.delivery import NO_CUT, Ordered, Slices, delivered, ordered, slices
from workbench.core.fingerprint import fingerprint
from workbench.execution.local import Outcome, Result
from workbench.metrics.case import Case, Cut
from workbench.metrics.coverage import Bools, Floats, Ints, meeting
from workbench.metrics.documents import judged
from workbench.metrics.evaluate import evaluate
from workbench.metrics.names import Metric
from workbench.metrics.unjudged import unjudged_values
from workbench.pipeline.chunk_table import EmbedderInputs
from workbench.pipeline.context import RunContext
from workbench.storage.result_store import Draft

VERSIONS = {"explanations": 1, "chunk_faults": 1}
# Slices of the context that are kept: the delivered ones, the next ones, and further ones with evidence.
_NEXT, _FURTHER = 2, 3
_MARGINS = ("margin", "margin_spread")


class Explanation(NamedTuple):
    """What explains one configuration, positions in place of ids.

    `context`: query, rank, doc, start, end, kept, score. `misses`: query, need, doc, cause, rank. `details` has a row for each query:
    judged, unjudged_low, unjudged_high, margin, margin_spread. `tokens` is the mean of what is delivered up to the primary's cut.
    """

    context: pd.DataFrame
    misses: pd.DataFrame
    details: pd.DataFrame
    tokens: float


def explanation_of(outcome: Outcome, result: Result) -> Explanation:
    """The explanation of a configuration by the primary metric, from the store where it is there."""
    context, metric = outcome.context, outcome.primary

    def compute(draft: Draft) -> None:
        case = Case(context.labels, result.retrieved, context.spans)
        k = result.configuration.retrieval.k
        cut = context_cut(metric, k)
        draft.table("context", context_rows(case, cut))
        draft.table("misses", missed(case, metric, _extent(context, result), k))
        draft.table("details", query_details(case, metric))
        draft.values("tokens", context_tokens(case, cut))

    inputs = (result.hits.folder.name, context.fingerprints["labels"], str(metric), metric.kind.version, context.spans)
    found = context.workspace.store.obtain("explanations", _key("explanations", *inputs), compute)
    return Explanation(found.table("context"), found.table("misses"), found.table("details"), float(found.values("tokens")))


def chunk_faults_of(context: RunContext, result: Result) -> pd.DataFrame:
    """fault, found, of, unit, definition, examples (a list) of a configuration's chunks, from the store where they are there."""

    def compute(draft: Draft) -> None:
        inputs = EmbedderInputs(context.chunks(result.entry("chunks")))
        faults = chunk_faults(context.labels, context.dataset, result.chunks_table, inputs, result.lengths, result.window)
        draft.values("faults", [asdict(fault) for fault in faults])

    vectors = result.entry("vectors").folder.name if result.embeds else None
    key = _key("chunk_faults", result.entry("chunks").folder.name, vectors, context.fingerprints["labels"])
    found = context.workspace.store.obtain("chunk_faults", key, compute)
    return pd.DataFrame(found.values("faults")).rename(columns={"name": "fault"})


def _extent(context: RunContext, result: Result) -> EmbeddedExtent:
    inputs, embedding = EmbedderInputs(context.chunks(result.entry("chunks"))), result.configuration.embedding
    vocabulary = embedding.vocabulary if embedding else None
    return embedded_extent(context.labels, result.chunks_table, result.truncated, inputs, vocabulary)


def context_rows(case: Case, cut: Cut) -> pd.DataFrame:
    """The slices of every query up to the cut, the two after them and three further ones with evidence, by query and rank.

    `kept` is where the delivered text of a slice ends, `start` where none of it was delivered; positions are those of the document.
    """
    labels = case.labels
    hits, table, text = case.shared(ordered, NO_CUT), case.shared(slices, NO_CUT), case.shared(delivered, cut)
    key = hits.query * len(table.starts) + hits.piece
    order = np.argsort(key)
    rows = order[np.searchsorted(key[order], text.query * len(table.starts) + text.piece)]
    kept, within = table.starts[hits.piece].copy(), np.zeros(len(hits.query), dtype=np.bool_)
    kept[rows], within[rows] = text.ends, True
    last = np.zeros(labels.queries, dtype=np.int64)
    np.maximum.at(last, hits.query[rows], hits.position[rows])
    beyond = hits.position - last[hits.query]
    evident = _evident(case, hits, table) & ~within & (beyond > _NEXT)
    wanted = np.flatnonzero(within | (beyond <= _NEXT) | (evident & (_nth(hits.query, evident) <= _FURTHER)))
    piece = hits.piece[wanted]
    doc, offsets = table.doc[piece], labels.offsets[table.doc[piece]]
    places = {"start": table.starts[piece] - offsets, "end": table.ends[piece] - offsets, "kept": kept[wanted] - offsets}
    ranked = {"query": hits.query[wanted], "rank": hits.position[wanted], "doc": doc}
    return pd.DataFrame(ranked | places | {"score": _scores(case, table, key[wanted])})


def context_tokens(case: Case, cut: Cut) -> float:
    """The mean number of tokens delivered to a query up to the cut; text that is delivered twice counts twice."""
    text, starts = case.shared(delivered, cut), case.labels.token_starts
    tokens = np.searchsorted(starts, text.ends) - np.searchsorted(starts, text.starts)
    return float(tokens.sum()) / case.labels.queries


def query_details(case: Case, metric: Metric) -> pd.DataFrame:
    """A row for each query: the share of the first k that is judged and the metric's bounds, over documents, and the margins."""
    unknown = np.full(case.labels.queries, np.nan)
    found = {"judged": unknown, "unjudged_low": unknown, "unjudged_high": unknown}
    if metric.family == "documents" and metric.k is not None:
        bounds = unjudged_values(case.labels, case.retrieved, metric)
        found = {"judged": judged(case, metric.cut).value, "unjudged_low": bounds.low, "unjudged_high": bounds.high}
    margins = evaluate(case.labels, case.retrieved, [Metric.parse(name) for name in _MARGINS])
    return pd.DataFrame(found | {name: values_of(margins, name, case.labels.queries) for name in _MARGINS})


def values_of(scores: pd.DataFrame, metric: str, queries: int, column: str = "value") -> Floats:
    """(queries) a column of a table of scores for one metric, NaN where it has no number."""
    chosen = scores[scores["metric"] == metric].set_index("query")[column]
    found: Floats = chosen.reindex(range(queries)).to_numpy(np.float64)
    return found


def _key(kind: str, *inputs: str | int | None) -> str:
    return fingerprint(kind, VERSIONS[kind], inputs)


def _evident(case: Case, hits: Ordered, table: Slices) -> Bools:
    """(hits) which slices share a character with evidence of their query."""
    labels, width = case.labels, case.labels.width
    lows = labels.alternative_query * width + labels.alternative_start
    highs = labels.alternative_query * width + labels.alternative_end
    order = np.argsort(lows, kind="stable")
    starts, ends = hits.query * width + table.starts[hits.piece], hits.query * width + table.ends[hits.piece]
    found = np.zeros(len(hits.query), dtype=np.bool_)
    found[meeting(lows[order], highs[order], starts, ends)[0]] = True
    return found


def _nth(query: Ints, flags: Bools) -> Ints:
    """(n) how many flagged rows of its query there are up to each row."""
    counted = np.cumsum(flags)
    before = np.concatenate([np.zeros(1, dtype=np.int64), counted])[np.searchsorted(query, query)]
    nth: Ints = (counted - before).astype(np.int64)
    return nth


def _scores(case: Case, table: Slices, keys: Ints) -> Floats:
    """(n) the best score among the chunks that a slice, by its key, is delivered for."""
    hits = case.retrieved.hits
    own = hits["query"].to_numpy(np.int64) * len(table.starts) + table.of_chunk[hits["chunk"].to_numpy(np.int64)]
    best: Floats = pd.Series(hits["score"].to_numpy(np.float64)).groupby(own).max().reindex(keys).to_numpy()
    return best
