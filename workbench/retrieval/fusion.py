"""Fuse the rankings of several retrievers, or of several texts that are searched for one question, into one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd

from workbench.models.tokenizers import Ints
from workbench.retrieval.base import Corpus, Ranking, SearchDepth, best_first, combined

Fusion = Literal["rrf", "weighted"]
# For texts of one question: the number added to every rank, and the fewest best chunks of each text that are fused.
CONSTANT, POOL = 60, 100


def reciprocal_ranks(hits: Mapping[str, pd.DataFrame], weights: Mapping[str, float], constant: int) -> pd.DataFrame:
    """Return query, chunk and the sum of w (constant + 1) / (constant + rank) over the rankings that have the chunk.

    This is the sum of Cormack et al. (2009) in units of a first rank, so that six decimals distinguish low ranks.
    """
    return _summed({name: rows.assign(score=weights[name] * (constant + 1) / (constant + rows["rank"])) for name, rows in hits.items()})


def weighted_scores(hits: Mapping[str, pd.DataFrame], weights: Mapping[str, float]) -> pd.DataFrame:
    """Return query, chunk and the sum of w times the score, scaled to [0, 1] over each query's ranking; 0 for a ranking without the chunk."""
    return _summed({name: rows.assign(score=weights[name] * _scaled(rows)) for name, rows in hits.items()})


def _scaled(hits: pd.DataFrame) -> "pd.Series[float]":
    """Scale each query's scores to [0, 1] by their least and greatest. Equal scores are all 1."""
    by_query = hits.groupby("query")["score"]
    least, greatest = by_query.transform("min"), by_query.transform("max")
    width = greatest - least
    return ((hits["score"] - least) / width.where(width > 0, 1.0)).where(width > 0, 1.0)


def _summed(scored: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    rows = pd.concat([table[["query", "chunk", "score"]] for table in scored.values()])
    return rows.groupby(["query", "chunk"])["score"].sum().reset_index()


def pooled(depth: SearchDepth, k: int) -> SearchDepth:
    """Return the depth to which each text is searched. What is fused depends on k alone, and on no metric."""
    return replace(depth, slices=max(depth.slices, _pool(k)))


def fused_by_question(ranking: Ranking, question: Ints, corpus: Corpus, k: int) -> Ranking:
    """Fuse the rankings of texts by reciprocal ranks. `question` (int64, texts) is each text's question, in ascending order."""
    number = np.arange(len(question)) - np.searchsorted(question, question)
    hits = ranking.hits[ranking.hits["rank"] <= _pool(k)]
    texts = hits["query"].to_numpy(np.int64)
    by_number: dict[str, pd.DataFrame] = {
        str(each): rows for each, rows in hits.assign(query=question[texts]).groupby(number[texts], sort=True)
    }
    fused = reciprocal_ranks(by_number, dict.fromkeys(by_number, 1.0), CONSTANT) if by_number else hits[["query", "chunk", "score"]]
    single = combined([ranking.single], lambda texts, index: [texts[0](text) for text in np.flatnonzero(question == index).tolist()])
    fused_ranking = best_first(fused, corpus, int(question.max(initial=-1)) + 1, k, single)
    of = ranking.sources["query"].to_numpy(np.int64)
    names = [f"{name}, text {each}" for name, each in zip(ranking.sources["retriever"], number[of].tolist(), strict=True)]
    return replace(fused_ranking, sources=ranking.sources.assign(query=question[of], retriever=pd.array(names, dtype="str")))


def _pool(k: int) -> int:
    return max(POOL, k)
