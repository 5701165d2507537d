"""Order the best chunks of a ranking again."""

import numpy as np
import pandas as pd

from workbench.components.reranking.base import Candidates, Reranker
from workbench.components.retrieval.base import Corpus, QueryBatch, Ranking, ordered, spreads
from workbench.components.retrieval.rank import STEP, rounded
from workbench.core.storage.vector_cache import VectorCache


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
