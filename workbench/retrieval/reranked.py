"""Order the best chunks of a ranking again."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from workbench.embedding.embed import MemoryVectorCache
from workbench.reranking.base import Candidates, Reranker
from workbench.retrieval.base import Corpus, QueryBatch, Ranking, ordered, spreads, timed
from workbench.retrieval.rank import STEP, Floats, rounded
from workbench.storage.vector_cache import VectorCache


def reranked(ranking: Ranking, queries: QueryBatch, corpus: Corpus, reranker: Reranker, cache: VectorCache, k: int) -> Ranking:
    """Return a ranking whose `pool` best chunks are in the order of the reranker's scores. What follows keeps its order.

    Documents are ranked by their best chunk in the pool, then as before. Scores below the pool are shifted, so that the best of them is one
    step below the pool's lowest. `queries` describes the pool, `tied` among the first k. `seconds` stays empty: see `rerank_seconds`.
    """
    hits = ranking.hits.sort_values(["query", "rank"], ignore_index=True)
    inside = hits["rank"].to_numpy() <= reranker.pool
    pool, tail = hits.loc[inside], hits.loc[~inside]
    scores = reranker.scores(list(_pools(pool, queries, corpus, reranker)), cache)
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


def rerank_seconds(ranking: Ranking, queries: QueryBatch, corpus: Corpus, reranker: Reranker) -> Floats:
    """Time the reranking of single queries without a cache, in seconds: float64 (passes, queries)."""
    pool = ranking.hits[ranking.hits["rank"] <= reranker.pool].sort_values(["query", "rank"])
    return timed(lambda candidates: reranker.scores([candidates], MemoryVectorCache()), _pools(pool, queries, corpus, reranker))


def _pools(pool: pd.DataFrame, queries: QueryBatch, corpus: Corpus, reranker: Reranker) -> Iterator[Candidates]:
    """Yield the candidates of each query that has any, in the order of the queries."""
    for query, rows in pool.groupby("query", sort=True):
        chunks, number = rows["chunk"].to_numpy(np.int64), int(str(query))
        vectors = (queries.vectors[number], np.asarray(corpus.vectors[chunks])) if reranker.uses_vectors else ()
        yield Candidates(
            queries.texts[number], [corpus.texts[chunk] for chunk in chunks.tolist()], rows["score"].to_numpy(np.float64), *vectors
        )


def _shifted(rows: pd.DataFrame, shift: "pd.Series[float]") -> pd.DataFrame:
    return rows.assign(score=rounded(rows["score"] + rows["query"].map(shift)))
