"""The context of each query, with the slices that narrowly missed it, and per-query details that a mean hides."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from workbench.measures.metrics.case import NO_CUT, Case, Cut
from workbench.measures.metrics.coverage import Bools, Floats, Ints, meeting
from workbench.measures.metrics.delivery import Ordered, Slices, delivered, ordered, slices
from workbench.measures.metrics.documents import MARGIN_METRICS, judged
from workbench.measures.metrics.evaluate import unjudged_values, values_of
from workbench.measures.metrics.names import Metric

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
        bounds = unjudged_values(case, metric)
        columns = {"judged": judged(case, metric.cut).value, "unjudged_low": bounds.low, "unjudged_high": bounds.high}
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
