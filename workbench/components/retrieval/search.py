"""Search among the documents that a question's filter allows, and order the best chunks again."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from workbench.components.reranking.base import Candidates, Reranker
from workbench.components.retrieval.base import (
    Corpus,
    DocumentFilters,
    QueryBatch,
    Ranking,
    Retriever,
    SearchDepth,
    combined,
    joined,
    ordered,
    spreads,
)
from workbench.components.retrieval.rank import STEP, rounded
from workbench.core.storage.vector_cache import VectorCache
from workbench.llm.models.tokenizers import Ints


def search(retriever: Retriever, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
    """Rank the chunks and documents that each query may find, by the search that is evaluated."""
    if queries.filters is None:
        return retriever.retrieve(queries, corpus, depth)
    groups = _groups(queries, queries.filters, corpus)
    return _joined([(_renumbered(retriever.retrieve(some, part, depth), *places), places[0]) for some, part, places in groups])


def searches(retriever: Retriever, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> dict[str, Ranking]:
    """Rank the chunks and documents that each query may find, by every search that is measured."""
    if queries.filters is None:
        return retriever.searches(queries, corpus, depth)
    found = [
        {name: (_renumbered(ranking, *places), places[0]) for name, ranking in retriever.searches(some, part, depth).items()}
        for some, part, places in _groups(queries, queries.filters, corpus)
    ]
    return {name: _joined([rankings[name] for rankings in found]) for name in found[0]}


def _groups(queries: QueryBatch, filters: DocumentFilters, corpus: Corpus) -> Iterator[tuple[QueryBatch, Corpus, tuple[Ints, Ints]]]:
    """Yield the queries of each filter and the part of the corpus that they search, with the positions of both in the whole."""
    for number in np.unique(filters.numbers).tolist():
        members = np.flatnonzero(filters.numbers == number)
        rows = np.flatnonzero(filters.masks[number][corpus.doc]) if number >= 0 else np.arange(len(corpus.doc))
        yield replace(queries.some(members), filters=None), corpus.part(rows) if number >= 0 else corpus, (members, rows)


def _renumbered(ranking: Ranking, queries: Ints, chunks: Ints) -> Ranking:
    """Return a ranking of a part with the positions of queries and chunks in the whole."""

    def placed(table: pd.DataFrame) -> pd.DataFrame:
        columns = {"query": queries[table["query"].to_numpy(np.int64)]}
        if "chunk" in table:
            columns["chunk"] = chunks[table["chunk"].to_numpy(np.int64)]
        return table.assign(**columns)

    hits, documents, about, sources = (placed(table) for table in (ranking.hits, ranking.ranking, ranking.queries, ranking.sources))
    return Ranking(hits, documents, about, ranking.single, sources)


def _joined(groups: Sequence[tuple[Ranking, Ints]]) -> Ranking:
    """Join the rankings of several groups of queries, each with the positions of its queries."""
    indices = {query: (group, index) for group, (_, members) in enumerate(groups) for index, query in enumerate(members.tolist())}
    single = combined([ranking.single for ranking, _ in groups], lambda opened, query: opened[indices[query][0]](indices[query][1]))
    return replace(joined([ranking for ranking, _ in groups]), single=single)


def reranked(ranking: Ranking, queries: QueryBatch, corpus: Corpus, reranker: Reranker, cache: VectorCache, k: int) -> Ranking:
    """Return a ranking whose `pool` best chunks are in the order of the reranker's scores. What follows keeps its order.

    Documents are ranked by their best chunk in the pool, then as before. Scores below the pool are shifted, so that the best of them is one
    step below the pool's lowest. `queries` describes the pool, `tied` among the first k. `single` stays None.
    """
    hits = ranking.hits.sort_values(["query", "rank"], ignore_index=True)
    inside = hits["rank"].to_numpy() <= reranker.pool
    pool, tail = hits.loc[inside], hits.loc[~inside]
    scores = reranker.scores(list(candidates(pool, queries, corpus, reranker).values()), cache)
    pool = pool.assign(score=rounded(np.concatenate(scores)) if scores else pool["score"], doc=corpus.doc[pool["chunk"]])
    best = pool.groupby(["query", "doc"])["score"].max().reset_index()
    merged = ranking.ranking.merge(best[["query", "doc"]], how="left", indicator=True)
    others = merged.loc[merged["_merge"] == "left_only", ["query", "doc", "score"]]
    below = pd.concat([tail[["query", "score"]], others[["query", "score"]]])
    shift = pool.groupby("query")["score"].min() - STEP - below.groupby("query")["score"].max()
    return Ranking(
        ordered(pd.concat([pool, _shifted(tail, shift)]), "chunk", corpus.chunk_breakers),
        ordered(pd.concat([best, _shifted(others, shift)]), "doc", corpus.document_breakers),
        spreads(ordered(pool, "chunk", corpus.chunk_breakers), len(queries.texts), k),
    )


def candidates(pool: pd.DataFrame, queries: QueryBatch, corpus: Corpus, reranker: Reranker) -> dict[int, Candidates]:
    """Return the candidates of each query that has any, in the order of the queries. `pool` has query, chunk and score in order of rank."""
    found = {}
    for query, rows in pool.groupby("query", sort=True):
        chunks, number = rows["chunk"].to_numpy(np.int64), int(str(query))
        vectors = (queries.vectors[number], np.asarray(corpus.vectors[chunks])) if reranker.uses_vectors else ()
        found[number] = Candidates(
            queries.texts[number], [corpus.texts[chunk] for chunk in chunks.tolist()], rows["score"].to_numpy(np.float64), *vectors
        )
    return found


def _shifted(rows: pd.DataFrame, shift: "pd.Series[float]") -> pd.DataFrame:
    return rows.assign(score=rounded(rows["score"] + rows["query"].map(shift)))
