"""Rank chunks for retrievers that score every chunk."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from workbench.components.retrieval.base import Corpus, Ranking, SearchDepth, enough, joined, long_table
from workbench.components.retrieval.rank import NO_KEY, Bools, Floats, order_keys, rounded, top
from workbench.core import batching
from workbench.core.errors import RunError
from workbench.core.text.formatting import plural
from workbench.llm.models.tokenizers import Ints

# Bytes per score in a block: float64 scores, their keys and copies of both.
_BYTES_A_SCORE = 32
# Scores of the queries [first, last) for all chunks, float64 (last - first, chunks), with -inf for a chunk that does not match.
ScoreBlock = Callable[[int, int], Floats]


def rank_all(score: ScoreBlock, queries: int, corpus: Corpus, depth: SearchDepth, k: int) -> Ranking:
    """Rank every matching chunk for each query, in blocks of queries. `single` stays None."""
    parts = batching.blocks(queries, batching.rows(_BYTES_A_SCORE * len(corpus.doc)))
    scored = ((part, _checked(score(part.start, part.stop), (part.stop - part.start, len(corpus.doc)))) for part in parts)
    return joined([_block(part.start, scores, corpus, depth, k) for part, scores in scored])


def _checked(scores: Floats, shape: tuple[int, int]) -> Floats:
    """Return the scores. Raises RunError for an array of another shape, and for NaN and +inf, which would count as chunks that do not match."""
    if not isinstance(scores, np.ndarray) or scores.shape != shape or not np.issubdtype(scores.dtype, np.number):
        found = f"{scores.dtype} of the shape {scores.shape}" if isinstance(scores, np.ndarray) else f"a {type(scores).__name__}"
        what = f"the retriever's scores of {plural(shape[0], 'query', 'queries')} for {plural(shape[1], 'chunk')} are {found}"
        raise RunError(what, f"return numbers of the shape {shape}")
    if np.isnan(scores).any() or (scores == np.inf).any():
        what = f"the retriever gave a chunk the score {'NaN' if np.isnan(scores).any() else 'inf'}"
        raise RunError(what, "return a number, or -inf for a chunk that does not match")
    return scores


def _block(first: int, scored: Floats, corpus: Corpus, depth: SearchDepth, k: int) -> Ranking:
    matched = np.isfinite(scored)
    scores = rounded(np.where(matched, scored, 0.0))
    keys = np.where(matched, order_keys(scores, corpus.chunk_breakers), NO_KEY)
    matches = matched.sum(axis=1)
    width = depth.slices
    while True:
        width = min(max(2 * width, 64), scores.shape[1])
        positions = top(keys, width)
        widths = np.minimum(enough(positions, corpus, depth), matches)
        if (widths <= width).all():
            break
    best = np.take_along_axis(scores, positions, axis=1)
    queries = np.arange(len(best)) + first
    hits = long_table(queries, {"chunk": positions, "score": best}, widths)
    tied = (np.diff(best[:, :k], axis=1) == 0) & (np.arange(1, best[:, :k].shape[1]) < matches[:, None])
    columns = {"query": queries, "spread": scores.std(axis=1), "top": best[:, 0], "tied": tied.any(axis=1)}
    return Ranking(hits, _documents(queries, scores, matched, corpus, max(depth.documents, depth.listed)), pd.DataFrame(columns))


def _documents(queries: Ints, scores: Floats, matched: Bools, corpus: Corpus, wanted: int) -> pd.DataFrame:
    """Rank distinct documents by their best chunk. Chunks are in order of their documents, so a document is one run of columns."""
    starts = np.flatnonzero(np.diff(corpus.doc, prepend=-1))
    docs = corpus.doc[starts]
    lowest = scores.min(initial=0.0)
    best = np.maximum.reduceat(np.where(matched, scores, lowest), starts, axis=1)
    any_match = np.logical_or.reduceat(matched, starts, axis=1)
    order = top(np.where(any_match, order_keys(best, corpus.document_breakers[docs]), NO_KEY), wanted)
    columns = {"doc": docs[order], "score": np.take_along_axis(best, order, axis=1)}
    return long_table(queries, columns, np.minimum(any_match.sum(axis=1), order.shape[1]))
