"""Fuse the rankings of several retrievers into one."""

from collections.abc import Mapping
from typing import Literal

import pandas as pd

Fusion = Literal["rrf", "weighted"]


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
