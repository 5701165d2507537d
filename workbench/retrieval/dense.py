"""Nearest vectors by cosine: exactly, or as Chroma's approximate index answers."""

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from workbench.embedding.cache import Vectors
from workbench.errors import RunError
from workbench.index import open_collection
from workbench.retrieval.base import Asked, Depth, Ranked, Retriever, Searchable, enough, long_table, timed
from workbench.retrieval.exhaustive import rank_all
from workbench.retrieval.rank import Floats, first_seen, order_keys, rounded, top
from workbench.tokens import Ints


class DenseRetriever(Retriever):
    """Cosine between query and chunk vectors.

    `exact` compares with every vector, so that an index's noise is not taken for a chunking's merit; `ann` is what the Chroma
    collection answers.
    """

    uses_vectors: ClassVar[bool] = True

    kind: Literal["dense"] = "dense"
    search: Literal["exact", "ann"] = "exact"

    @property
    def evaluated(self) -> str:
        """The way to search that was asked for."""
        return self.search

    def retrieve(self, asked: Asked, searched: Searchable, depth: Depth) -> Ranked:
        """Rank the chunks and documents for each query."""
        return self.searches(asked, searched, depth)[self.search]

    def searches(self, asked: Asked, searched: Searchable, depth: Depth) -> dict[str, Ranked]:
        """The exact ranking and, where there is an index, Chroma's, so that the gap between them is always known."""
        vectors = asked.vectors
        nearly = {"ann": approximate(vectors, searched, depth, self.k)} if searched.index or self.search == "ann" else {}
        return {"exact": exact(vectors, searched, depth, self.k)} | nearly


def exact(queries: Vectors, searched: Searchable, depth: Depth, k: int) -> Ranked:
    """Rank by the cosine with every vector."""
    # In float64: a float32 product differs with the place of a row by more than half a step of the rounding, so equal texts would not tie.
    vectors, asked = searched.vectors.astype(np.float64), queries.astype(np.float64)
    ranked = rank_all(lambda first, last: asked[first:last] @ vectors.T, len(asked), searched, depth, k)
    seconds = timed(lambda query: top(order_keys(rounded(vectors @ query)[None, :], searched.chunk_breakers), k), asked)
    return replace(ranked, seconds=seconds)


def _about(first: int, spread: Floats, found: Floats, k: int) -> pd.DataFrame:
    tied = (np.diff(found[:, :k], axis=1) == 0).any(axis=1)
    columns = {"query": np.arange(len(found)) + first, "spread": spread, "top": found[:, 0], "tied": tied}
    return pd.DataFrame(columns)


def approximate(queries: Vectors, searched: Searchable, depth: Depth, k: int) -> Ranked:
    """Rank what the Chroma collection answers, asking for more until the depth is reached or there is no more."""
    if searched.index is None:
        raise RunError("search: ann needs an index, and none was built", "run the sweep again")
    with open_collection(searched.index) as collection:
        nearest = _ask(collection, queries, min(k, len(searched.doc)), searched)
        deeper = _until_enough(collection, queries, searched, depth)
        answers = [_continued(*pair, searched) for pair in zip(nearest, deeper, strict=True)]
        seconds = timed(
            lambda query: collection.query(query_embeddings=query[None, :], n_results=k, include=["distances"]), np.asarray(queries)
        )
    tables = [_answer_tables(query, positions, scores, searched, depth) for query, (positions, scores) in enumerate(answers)]
    hits, ranking = (pd.concat(parts, ignore_index=True) for parts in zip(*tables, strict=True))
    about = [_about(query, np.array([scores.std()]), scores[None, :], k) for query, (_, scores) in enumerate(answers)]
    return Ranked(hits, ranking, pd.concat(about, ignore_index=True), seconds)


def _continued(nearest: tuple[Ints, Floats], deeper: tuple[Ints, Floats], searched: Searchable) -> tuple[Ints, Floats]:
    """The answer for k chunks, then what a deeper one ranks below it.

    Asking Chroma for more makes it search harder: what it misses when it is asked for k must stay missed.
    """
    last = order_keys(nearest[1], searched.chunk_breakers[nearest[0]]).min(initial=np.iinfo(np.int64).max)
    below = order_keys(deeper[1], searched.chunk_breakers[deeper[0]]) < last
    return np.concatenate([nearest[0], deeper[0][below]]), np.concatenate([nearest[1], deeper[1][below]])


def _until_enough(collection: Any, queries: Vectors, searched: Searchable, depth: Depth) -> list[tuple[Ints, Floats]]:
    n = len(searched.doc)
    documents = min(depth.documents, len(np.unique(searched.doc)))
    answers: list[tuple[Ints, Floats]] = [(np.zeros(0, np.int64), np.zeros(0))] * len(queries)
    waiting = np.arange(len(queries))
    width = min(n, max(64, 2 * depth.slices))
    while len(waiting):
        found = _ask(collection, queries[waiting], width, searched)
        for place, answer in zip(waiting, found, strict=True):
            answers[place] = answer
        short = [
            bool(enough(positions[None, :], searched, depth)[0] > len(positions)) or len(np.unique(searched.doc[positions])) < documents
            for positions, _ in found
        ]
        if width == n:
            break
        waiting, width = waiting[short], min(n, 4 * width)
    return answers


def _ask(collection: Any, queries: Vectors, width: int, searched: Searchable) -> list[tuple[Ints, Floats]]:
    """Chroma's nearest for each query, as positions and cosines, in our strict order."""
    answers = []
    places = {chunk_id: place for place, chunk_id in enumerate(searched.ids)}
    step = max(1, 2_000_000 // width)
    for first in range(0, len(queries), step):
        got = collection.query(query_embeddings=np.asarray(queries[first : first + step]), n_results=width, include=["distances"])
        for ids, distances in zip(got["ids"], got["distances"], strict=True):
            positions = np.array([places[chunk_id] for chunk_id in ids], dtype=np.int64)
            scores = rounded(1.0 - np.array(distances, dtype=np.float64))
            order = np.argsort(-order_keys(scores, searched.chunk_breakers[positions]))
            answers.append((positions[order], scores[order]))
    return answers


def _answer_tables(query: int, positions: Ints, scores: Floats, searched: Searchable, depth: Depth) -> tuple[pd.DataFrame, pd.DataFrame]:
    width = min(int(enough(positions[None, :], searched, depth)[0]), len(positions))
    hits = long_table(query, {"chunk": positions[None, :], "score": scores[None, :]}, np.array([width]))
    best = first_seen(searched.doc[positions][None, :])[0]
    docs, values = searched.doc[positions][best], scores[best]
    order = np.argsort(-order_keys(values, searched.document_breakers[docs]))[: max(depth.documents, depth.listed)]
    ranking = long_table(query, {"doc": docs[order][None, :], "score": values[order][None, :]}, np.array([len(order)]))
    return hits, ranking
