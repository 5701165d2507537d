"""Rank the chunks of an indexed corpus for one question, with every stage that a sweep runs for it."""

from dataclasses import replace

import numpy as np
import pandas as pd

from workbench.context.neighbours import with_neighbours
from workbench.embedding.base import Embedder
from workbench.embedding.embed import MemoryVectorCache
from workbench.pipeline.configuration import PipelineConfiguration
from workbench.pipeline.searched_queries import SearchedQueries
from workbench.records import Query
from workbench.retrieval.base import Corpus, DocumentFilters, QueryBatch, SearchDepth
from workbench.retrieval.reranked import reranked
from workbench.rewriting.base import FeedbackRewriter, TextRewriter
from workbench.rewriting.feedback import expanded_queries
from workbench.storage.vector_cache import Vectors


def ranked_chunks(
    question: Query, configuration: PipelineConfiguration, corpus: Corpus, depth: SearchDepth, filters: DocumentFilters | None = None
) -> pd.DataFrame:
    """Return the table query, rank, chunk, score of a question, which is query 0."""
    retriever, reranker = configuration.retrieval, configuration.rerank
    original = QueryBatch([question.text], _vectors([question.text], configuration.embedding), filters)
    searched = _searched(question, original, configuration, corpus)
    pool = reranker.pool if reranker else 0
    ranking = searched.search(retriever, corpus, replace(depth, slices=max(depth.slices, pool)))
    if reranker:
        ranking = reranked(ranking, original, corpus, reranker, MemoryVectorCache(), retriever.k)
    return with_neighbours(ranking.hits, corpus.doc, retriever.neighbours)


def _searched(question: Query, original: QueryBatch, configuration: PipelineConfiguration, corpus: Corpus) -> SearchedQueries:
    """Return what is searched for a question: what its rewriter makes of it, or the question."""
    rewriter = configuration.rewrite
    if isinstance(rewriter, TextRewriter):
        (texts,) = rewriter.rewrite([question])
        vectors = [_vectors([each.text], configuration.embedding, document=each.role == "document") for each in texts]
        numbers = np.zeros(len(texts), dtype=np.int64)
        filters = replace(original.filters, numbers=original.filters.numbers[numbers]) if original.filters else None
        batch = QueryBatch([each.text for each in texts], np.concatenate(vectors), filters)
        return SearchedQueries(batch, numbers if len(texts) > 1 else None)
    if isinstance(rewriter, FeedbackRewriter):
        for member in expanded_queries(rewriter, original, configuration.retrieval, corpus):
            original = original.with_member(member.path, member.queries)
    return SearchedQueries(original)


def _vectors(texts: list[str], embedder: Embedder | None, document: bool = False) -> Vectors:
    return embedder.encode(texts, "document" if document else "query") if embedder else np.zeros((0, 0), dtype=np.float32)
