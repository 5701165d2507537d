"""Deliver the neighbours of hits: the chunks before and after them in their documents."""

import numpy as np
import pandas as pd

from workbench.models.tokenizers import Ints


def with_neighbours(hits: pd.DataFrame, doc: Ints, neighbours: int) -> pd.DataFrame:
    """Return query, rank, chunk, score with each hit followed by its neighbours, the nearest first and of these the preceding one.

    `doc` (int64, chunks) is each chunk's document; its chunks are consecutive. A neighbour has the score of its hit. A chunk that is already
    in the query's ranking is not repeated.
    """
    hits = hits.sort_values(["query", "rank"], kind="stable", ignore_index=True)
    offsets = np.array([0, *(side * distance for distance in range(1, neighbours + 1) for side in (-1, 1))])
    own = hits["chunk"].to_numpy(np.int64)[:, None]
    chunks = own + offsets
    inside = (chunks >= 0) & (chunks < len(doc))
    inside &= doc[np.where(inside, chunks, own)] == doc[own]
    rows = hits.iloc[np.nonzero(inside)[0]].assign(chunk=chunks[inside])
    rows = rows.drop_duplicates(["query", "chunk"], ignore_index=True)
    return rows.assign(rank=rows.groupby("query").cumcount() + 1)[["query", "rank", "chunk", "score"]]
