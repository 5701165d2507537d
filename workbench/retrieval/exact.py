"""Exact search: the cosine with every vector, as deep as the metrics look."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workbench.models.tokenizers import Ints
from workbench.retrieval.base import Corpus, Ranking, SearchDepth, enough, long_table, timed
from workbench.retrieval.nearest import longest, nearest, query_blocks
from workbench.retrieval.rank import Floats
from workbench.storage.vector_cache import Vectors


def exact(queries: Vectors, searched: Corpus, depth: SearchDepth, k: int) -> Ranking:
    """Rank by the cosine with every vector."""
    mapped = np.asarray(searched.vectors)
    search = _Search(np.asarray(queries), replace(searched, vectors=mapped), depth, k, longest(mapped))
    n, width = len(searched.doc), search.width
    documents = min(max(depth.documents, depth.listed), int(np.count_nonzero(np.diff(searched.doc, prepend=-1))))
    looks = [search.look(np.arange(len(queries)), width, documents)]
    # Those that have not enough look deeper; all else about them is known.
    while len(looks[-1].short):
        width = min(n, 4 * width)
        looks.append(search.look(looks[-1].short, width, 0))
    hits = pd.concat([look.hits for look in looks]).sort_values(["query", "rank"], ignore_index=True)
    seconds = timed(lambda query: nearest(query[None, :], search.searched, (min(k, n), 0), search.longest), search.queries)
    return Ranking(hits, looks[0].ranking, looks[0].about, seconds)


def about(queries: Ints, spread: Floats, found: Floats, k: int) -> pd.DataFrame:
    """What `Ranking.queries` tells of some queries, from their best scores, float64 (queries, k or more)."""
    tied = (np.diff(found[:, :k], axis=1) == 0).any(axis=1)
    return pd.DataFrame({"query": queries, "spread": spread, "top": found[:, 0], "tied": tied})


@dataclass(frozen=True)
class _Look:
    """What some queries find, and those of them that have not enough."""

    hits: pd.DataFrame
    ranking: pd.DataFrame
    about: pd.DataFrame
    short: Ints


@dataclass(frozen=True)
class _Search:
    queries: Vectors
    searched: Corpus
    depth: SearchDepth
    k: int
    longest: float

    @property
    def width(self) -> int:
        """How many chunks reach the depth of most queries, so that few look twice."""
        tokens = 2 * self.depth.tokens / max(1.0, float(self.searched.tokens.mean()))
        return min(len(self.searched.doc), max(64, self.k, 2 * self.depth.slices, int(tokens)))

    def look(self, asked: Ints, width: int, documents: int) -> _Look:
        """The best chunks of these queries, at most `width`, and their best documents."""
        parts = [self._part(asked[part], width, documents) for part in query_blocks(len(asked), width + documents)]
        hits, ranking, told = (pd.concat([getattr(part, name) for part in parts]) for name in ("hits", "ranking", "about"))
        return _Look(hits, ranking.reset_index(drop=True), told.reset_index(drop=True), np.concatenate([part.short for part in parts]))

    def _part(self, asked: Ints, width: int, documents: int) -> _Look:
        found = nearest(self.queries[asked], self.searched, (width, documents), self.longest)
        positions, scores = found.chunks.items, found.chunks.scores
        widths = np.minimum(enough(positions, self.searched, self.depth), len(self.searched.doc))
        done = widths <= width
        hits = long_table(asked[done], {"chunk": positions[done], "score": scores[done]}, widths[done])
        there = (found.documents.items >= 0).sum(axis=1)
        ranking = long_table(asked, {"doc": found.documents.items, "score": found.documents.scores}, there)
        return _Look(hits, ranking, about(asked, found.spread, scores, self.k), asked[~done])
