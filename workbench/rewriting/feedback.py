"""Expand queries by the best chunks of a first search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from workbench.retrieval.base import Corpus, QueryBatch, Retriever, SearchDepth
from workbench.retrieval.filtered import search
from workbench.rewriting.base import FeedbackRewriter, members_of


@dataclass(frozen=True)
class ExpandedQueries:
    """The expanded queries of one member of a retriever, the names that lead to it, and a text for each query."""

    path: tuple[str, ...]
    queries: QueryBatch
    texts: Sequence[str]


def expanded_queries(rewriter: FeedbackRewriter, queries: QueryBatch, retriever: Retriever, corpus: Corpus) -> Iterator[ExpandedQueries]:
    """Yield the expanded queries of each member of a retriever that searches them, by a first search of this member alone."""
    for path, member in members_of(retriever):
        if rewriter.fits(member):
            yield _expanded(rewriter, queries, path, member, corpus)


def _expanded(rewriter: FeedbackRewriter, queries: QueryBatch, path: tuple[str, ...], member: Retriever, corpus: Corpus) -> ExpandedQueries:
    ranking = search(member, queries, corpus, SearchDepth(rewriter.documents, 0, 1))
    hits = ranking.hits[ranking.hits["rank"] <= rewriter.documents]
    expanded = rewriter.expand(queries, hits, member, corpus)
    return ExpandedQueries(path, expanded, rewriter.describe(expanded, hits, corpus))
