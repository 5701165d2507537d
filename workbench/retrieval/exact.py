"""Exact search: the cosine with every vector, as deep as the metrics look."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from workbench.models.tokenizers import Ints
from workbench.retrieval.base import Corpus, Ranking, SearchDepth, about, enough, joined, long_table, timed
from workbench.retrieval.nearest import longest, nearest, query_blocks
from workbench.storage.vector_cache import Vectors


def exact(queries: Vectors, searched: Corpus, depth: SearchDepth, k: int) -> Ranking:
    """Rank by the cosine with every vector."""
    mapped = np.asarray(searched.vectors)
    search = _Search(np.asarray(queries), replace(searched, vectors=mapped), depth, k, longest(mapped))
    n, width = len(searched.doc), search.width
    documents = min(max(depth.documents, depth.listed), int(np.count_nonzero(np.diff(searched.doc, prepend=-1))))
    ranked, short = search.look(np.arange(len(queries)), width, documents)
    hits = [ranked.hits]
    # Queries that have not found enough look deeper; the rest of their ranking is known.
    while len(short):
        width = min(n, 4 * width)
        deeper, short = search.look(short, width, 0)
        hits.append(deeper.hits)
    seconds = timed(lambda query: nearest(query[None, :], search.searched, (min(k, n), 0), search.longest), search.queries)
    return replace(ranked, hits=pd.concat(hits).sort_values("query", kind="stable", ignore_index=True), seconds=seconds)


@dataclass(frozen=True)
class _Search:
    queries: Vectors
    searched: Corpus
    depth: SearchDepth
    k: int
    longest: float

    @property
    def width(self) -> int:
        """A number of chunks that reaches the depth for most queries, so that few look twice."""
        tokens = 2 * self.depth.tokens / max(1.0, float(self.searched.tokens.mean()))
        return min(len(self.searched.doc), max(64, self.k, 2 * self.depth.slices, int(tokens)))

    def look(self, queries: Ints, width: int, documents: int) -> tuple[Ranking, Ints]:
        """The best chunks of these queries, at most `width`, and their best documents; with the queries that need more chunks."""
        parts = [self._part(queries[part], width, documents) for part in query_blocks(len(queries), width + documents)]
        return joined([ranking for ranking, _ in parts]), np.concatenate([short for _, short in parts])

    def _part(self, queries: Ints, width: int, documents: int) -> tuple[Ranking, Ints]:
        best = nearest(self.queries[queries], self.searched, (width, documents), self.longest)
        positions, scores = best.chunks.items, best.chunks.scores
        widths = np.minimum(enough(positions, self.searched, self.depth), len(self.searched.doc))
        done = widths <= width
        hits = long_table(queries[done], {"chunk": positions[done], "score": scores[done]}, widths[done])
        listed = (best.documents.items >= 0).sum(axis=1)
        ranking = long_table(queries, {"doc": best.documents.items, "score": best.documents.scores}, listed)
        return Ranking(hits, ranking, about(queries, best.spread, scores, self.k)), queries[~done]
