"""Expand queries by the best chunks of a first search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.retrieval.base import Corpus, QueryBatch, Retriever, SearchDepth, added_seconds, timed
from workbench.retrieval.filtered import search
from workbench.retrieval.rank import Floats
from workbench.rewriting.base import FeedbackRewriter, members_of


@dataclass(frozen=True)
class ExpandedQueries:
    """The expanded queries of one member of a retriever, the names that lead to it, and a text for each query.

    `seconds` (float64, passes × queries) are those of the first search and the expansion.
    """

    path: tuple[str, ...]
    queries: QueryBatch
    texts: Sequence[str]
    seconds: Floats


def expanded_queries(rewriter: FeedbackRewriter, queries: QueryBatch, retriever: Retriever, corpus: Corpus) -> Iterator[ExpandedQueries]:
    """Yield the expanded queries of each member of a retriever that searches them, by a first search of this member alone."""
    for path, member in members_of(retriever):
        if rewriter.fits(member):
            yield _expanded(rewriter, queries, path, member, corpus)


def _expanded(rewriter: FeedbackRewriter, queries: QueryBatch, path: tuple[str, ...], member: Retriever, corpus: Corpus) -> ExpandedQueries:
    ranking = search(member, queries, corpus, SearchDepth(rewriter.documents, 0, 1))
    hits = ranking.hits[ranking.hits["rank"] <= rewriter.documents]
    expanded = rewriter.expand(queries, hits, member, corpus)
    seconds = timed(lambda one: rewriter.expand(*one, member, corpus), _one_by_one(queries, hits))
    return ExpandedQueries(path, expanded, rewriter.describe(expanded, hits, corpus), added_seconds([ranking.seconds, seconds]))


def _one_by_one(queries: QueryBatch, hits: pd.DataFrame) -> Iterator[tuple[QueryBatch, pd.DataFrame]]:
    """Yield each query in a batch of its own, with its hits."""
    by_query = hits.groupby("query").indices
    for number in range(len(queries.texts)):
        rows = hits.iloc[by_query.get(number, np.zeros(0, dtype=np.int64))]
        yield queries.some(np.array([number])), rows.assign(query=0)
