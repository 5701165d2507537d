"""Rank chunks by the cosine of vectors, exactly or with Chroma's approximate index.

The exact search compares all vectors, in blocks. Float32 products by BLAS select candidates, and float64 products rank them. A float32 product of x
and y errs by at most g |x| |y|, g = d u / (1 - d u), u = 2^-24, d dimensions, in whatever order BLAS adds (Higham, Accuracy and Stability of
Numerical Algorithms, 2002, section 3.1): 2.3e-5 for unit vectors of 384. Rounding to six decimals moves a score by half a step more. A product
further below the last of the best cannot be one of them. All others are scored again in float64, a row at a time and always in one order, so that
no score depends on a block.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from workbench.components.retrieval.base import (
    Corpus,
    QueryBatch,
    Ranking,
    Retriever,
    SearchDepth,
    about,
    enough,
    joined,
    long_table,
    singly,
)
from workbench.components.retrieval.chroma_index import open_collection
from workbench.components.retrieval.rank import NO_KEY, Floats, Spread, TopK, first_seen, order_keys, rounded, top
from workbench.core import batching
from workbench.core.environment import requested_threads, usable_cores
from workbench.core.errors import RunError
from workbench.core.storage.vector_cache import Vectors
from workbench.llm.models.tokenizers import Ints

# Queries whose products with a block of vectors are computed together. More queries make BLAS no faster.
_QUERIES = 512
# Pairs scored again at once, few enough for the processor's cache.
_PAIRS = 256


@dataclass(frozen=True)
class Nearest:
    """The best chunks and documents of q queries, and the spread of all their scores (float64, q)."""

    chunks: TopK
    documents: TopK
    spread: Floats


def longest(vectors: Vectors) -> float:
    """Return an upper bound on the length of the vectors, slightly above the longest."""
    at_once = batching.rows(4 * vectors.shape[1])
    return 1.001 * max(
        (float(np.sqrt(np.square(vectors[part]).sum(axis=1).max())) for part in batching.blocks(len(vectors), at_once)), default=0
    )


def nearest(queries: Vectors, corpus: Corpus, depth: tuple[int, int], length: float) -> Nearest:
    """Return the best chunks and documents of each query, as many as `depth` says. `length` bounds the vectors' lengths."""
    chunks, documents, spread = TopK(len(queries), depth[0]), TopK(len(queries), depth[1]), Spread(len(queries))
    # The error of a float32 product of each query with a vector of at most this length, float64 (q).
    rounding = queries.shape[1] * 2.0**-24
    error = np.asarray(rounding / (1 - rounding) * length * np.linalg.norm(queries.astype(np.float64), axis=1))
    # Lists of pairs take more memory than products, so process a few queries at a time.
    pairs = batching.rows(32)
    for part in batching.blocks(len(corpus.doc), min(pairs, batching.rows(4 * len(queries)))):
        products = queries @ corpus.vectors[part].T
        block = _Block(corpus, part)
        for rows in batching.blocks(len(queries), max(1, pairs // products.shape[1])):
            spread.add(rows, products[rows])
            _add_candidates(chunks, documents, rows, (queries, products, error), block)
        spread.count(products.shape[1])
    return Nearest(chunks, documents, spread.values)


class _Block:
    """A part of the corpus. Chunks are in order of their documents, so a document is one run of them."""

    def __init__(self, corpus: Corpus, part: slice) -> None:
        self.corpus, self.first = corpus, part.start
        doc = corpus.doc[part]
        self.starts = np.flatnonzero(np.diff(doc, prepend=-1))
        self.run = np.cumsum(np.diff(doc, prepend=-1) != 0) - 1
        self.docs = doc[self.starts]


def _add_candidates(chunks: TopK, documents: TopK, rows: slice, scored: tuple[Vectors, Vectors, Floats], block: _Block) -> None:
    """Add a block's candidates for some queries: chunks that may be among the best, and possible best chunks of such documents."""
    queries, products, error = scored[0][rows], scored[1][rows], scored[2][rows]
    floor = chunks.floor(rows, error, lambda: products)
    document_floor = documents.floor(rows, error, lambda: np.maximum.reduceat(products, block.starts, axis=1))
    # The floor, rounded down to float32.
    low = np.nextafter(np.minimum(floor, document_floor).astype(np.float32), np.float32(-np.inf))
    query, place = np.divmod(np.flatnonzero(products >= low[:, None]), products.shape[1])
    product = products[query, place]
    groups = np.flatnonzero(np.diff(query * len(block.docs) + block.run[place], prepend=-1))
    best_of_run = np.repeat(np.maximum.reduceat(product, groups), np.diff(groups, append=len(product))) if len(groups) else product
    candidates = (product >= floor[query]) | (product >= best_of_run - 2 * error[query])
    query, place = query[candidates], place[candidates]
    score = rounded(_exact_products(queries, block.corpus.vectors, query, place + block.first))
    chunk = place + block.first
    chunks.add(rows, query, chunk, order_keys(score, block.corpus.chunk_breakers[chunk]))
    if documents.depth:
        _add_documents(documents, rows, query, (block.corpus.doc[chunk], score), block)


def _add_documents(documents: TopK, rows: slice, query: Ints, scored: tuple[Ints, Floats], block: _Block) -> None:
    doc, score = scored
    groups = np.flatnonzero((np.diff(query, prepend=-1) != 0) | (np.diff(doc, prepend=-1) != 0))
    if not len(groups):
        return
    query, doc, score = query[groups], doc[groups], np.maximum.reduceat(score, groups)
    keys = order_keys(score, block.corpus.document_breakers[doc])
    # The block's first document may begin in the block before.
    again = np.flatnonzero(doc == block.docs[0])
    keys[again] = np.maximum(keys[again], documents.remove(rows, query[again], int(block.docs[0])))
    documents.add(rows, query, doc, keys)


def _exact_products(queries: Vectors, vectors: Vectors, query: Ints, chunk: Ints) -> Floats:
    """Return the products of pairs in float64. numpy adds each row separately, so no product depends on the others."""
    scores = np.empty(len(query))
    wide = queries.astype(np.float64)
    for part in batching.blocks(len(query), _PAIRS):
        products = vectors[chunk[part]].astype(np.float64)
        products *= wide[query[part]]
        scores[part] = products.sum(axis=1)
    return scores


def exact(queries: Vectors, corpus: Corpus, depth: SearchDepth, k: int) -> Ranking:
    """Rank chunks by the cosine with every vector."""
    mapped = np.asarray(corpus.vectors)
    search = _Search(np.asarray(queries), replace(corpus, vectors=mapped), depth, k, longest(mapped))
    n, width = len(corpus.doc), search.width
    documents = min(max(depth.documents, depth.listed), int(np.count_nonzero(np.diff(corpus.doc, prepend=-1))))
    ranked, short = search.look(np.arange(len(queries))[: depth.queries], width, documents)
    hits = [ranked.hits]
    # Queries that have not found enough look deeper, since the rest of their ranking is known.
    while len(short):
        width = min(n, 4 * width)
        deeper, short = search.look(short, width, 0)
        hits.append(deeper.hits)
    best = min(max(k, depth.slices), n)
    single = singly(lambda query: nearest(query[None, :], search.corpus, (best, 0), search.longest), list(search.queries))
    return replace(ranked, hits=pd.concat(hits).sort_values("query", kind="stable", ignore_index=True), single=single)


@dataclass(frozen=True)
class _Search:
    queries: Vectors
    corpus: Corpus
    depth: SearchDepth
    k: int
    longest: float

    @property
    def width(self) -> int:
        """Return a number of chunks that reaches the depth for most queries, so that few need a second search."""
        tokens = 2 * self.depth.tokens / max(1.0, float(self.corpus.tokens.mean()))
        return min(len(self.corpus.doc), max(64, self.k, 2 * self.depth.slices, int(tokens)))

    def look(self, queries: Ints, width: int, documents: int) -> tuple[Ranking, Ints]:
        """Return the best chunks of these queries, at most `width`, their best documents, and the queries that need more chunks."""
        # Slices of queries whose results fit into memory together.
        together = batching.blocks(len(queries), min(_QUERIES, batching.rows(48 * (width + documents))))
        parts = [self._part(queries[part], width, documents) for part in together]
        return joined([ranking for ranking, _ in parts]), np.concatenate([short for _, short in parts])

    def _part(self, queries: Ints, width: int, documents: int) -> tuple[Ranking, Ints]:
        best = nearest(self.queries[queries], self.corpus, (width, documents), self.longest)
        positions, scores = best.chunks.items, best.chunks.scores
        widths = np.minimum(enough(positions, self.corpus, self.depth), len(self.corpus.doc))
        done = widths <= width
        hits = long_table(queries[done], {"chunk": positions[done], "score": scores[done]}, widths[done])
        listed = (best.documents.items >= 0).sum(axis=1)
        ranking = long_table(queries, {"doc": best.documents.items, "score": best.documents.scores}, listed)
        return Ranking(hits, ranking, about(queries, best.spread, scores, self.k)), queries[~done]


# Approximate bytes of a hit in Chroma's answer.
_BYTES_A_HIT = 200


class _NearestChunks(NamedTuple):
    """Positions of chunks, best first, as int64 (n), and their rounded cosines as float64 (n)."""

    positions: Ints
    scores: Floats


def approximate(queries: Vectors, corpus: Corpus, depth: SearchDepth, k: int) -> Ranking:
    """Rank the answers of the Chroma collection, requesting more until the depth or the end of the collection is reached."""
    if corpus.index is None:
        raise RunError("search: ann needs an index, and none was built", "run the sweep again")
    allowed = _allowed(corpus)
    ranked = queries[: depth.queries]
    with open_collection(corpus.index) as collection:
        nearest = _ask(collection, ranked, min(k, len(corpus.doc)), corpus)
        deeper = _deep(collection, ranked, corpus, depth, min(len(corpus.doc), max(64, 2 * depth.slices)))
        answers = [_continued(*pair, corpus) for pair in zip(nearest, deeper, strict=True)]
    parts = [_ranking(*group, corpus, depth, k) for group in _equally_long(answers)]
    index, best = corpus.index, min(max(k, depth.slices), len(corpus.doc))

    @contextmanager
    def single() -> Iterator[Callable[[int], object]]:
        with open_collection(index) as opened:
            yield lambda position: opened.query(
                query_embeddings=np.asarray(queries[position])[None, :], n_results=best, ids=allowed, include=["distances"]
            )

    return replace(joined(parts), single=single)


def _allowed(corpus: Corpus) -> list[str] | None:
    """Return the ids that Chroma may find, or None for the whole collection."""
    return None if corpus.rows is None else list(corpus.ids)


def _continued(nearest: _NearestChunks, deeper: _NearestChunks, corpus: Corpus) -> _NearestChunks:
    """Append a deeper answer to that for k chunks, since a deeper search also finds chunks that Chroma misses for k."""
    last = order_keys(nearest.scores, corpus.chunk_breakers[nearest.positions]).min(initial=np.iinfo(np.int64).max)
    below = order_keys(deeper.scores, corpus.chunk_breakers[deeper.positions]) < last
    positions = np.concatenate([nearest.positions, deeper.positions[below]])
    return _NearestChunks(positions, np.concatenate([nearest.scores, deeper.scores[below]]))


def _deep(collection: Any, queries: Vectors, corpus: Corpus, depth: SearchDepth, width: int) -> list[_NearestChunks]:
    """Return the nearest chunks of each query, requesting four times as many for queries that do not reach the depth."""
    n = len(corpus.doc)
    answers = _ask(collection, queries, width, corpus)
    if width < n and len(short := _short(answers, corpus, depth)):
        for query, deeper in zip(short, _deep(collection, queries[short], corpus, depth, min(n, 4 * width)), strict=True):
            answers[query] = deeper
    return answers


def _short(answers: list[_NearestChunks], corpus: Corpus, depth: SearchDepth) -> Ints:
    """Return the queries whose answers do not reach the depth: int64."""
    short = np.zeros(len(answers), dtype=np.bool_)
    documents = min(depth.documents, len(np.unique(corpus.doc)))
    for group, positions, _ in _equally_long(answers):
        few = first_seen(corpus.doc[positions]).sum(axis=1) < documents
        short[group] = few | (enough(positions, corpus, depth) > positions.shape[1])
    return np.flatnonzero(short)


def _ask(collection: Any, queries: Vectors, width: int, corpus: Corpus) -> list[_NearestChunks]:
    """Return Chroma's nearest chunks of each query in our strict order, searching on several threads."""
    threads = requested_threads() or usable_cores()
    allowed = _allowed(corpus)

    def some(part: slice) -> list[_NearestChunks]:
        answer = collection.query(query_embeddings=np.asarray(queries[part]), n_results=width, ids=allowed, include=["distances"])
        return [_ordered(*pair, corpus) for pair in zip(answer["ids"], answer["distances"], strict=True)]

    at_once = min(batching.rows(_BYTES_A_HIT * width * threads), max(1, -(-len(queries) // threads)))
    with ThreadPoolExecutor(threads) as pool:
        return [answer for answers in pool.map(some, batching.blocks(len(queries), at_once)) for answer in answers]


def _ordered(ids: Sequence[str], distances: Sequence[float], corpus: Corpus) -> _NearestChunks:
    positions = corpus.places(ids)
    scores = rounded(1.0 - np.array(distances, dtype=np.float64))
    order = np.argsort(-order_keys(scores, corpus.chunk_breakers[positions]))
    return _NearestChunks(positions[order], scores[order])


def _equally_long(answers: list[_NearestChunks]) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Group queries with equally long answers, with their positions and scores as arrays (queries, n)."""
    lengths = np.array([len(answer.positions) for answer in answers])
    for length in np.unique(lengths):
        group = np.flatnonzero(lengths == length)
        yield group, np.stack([answers[query].positions for query in group]), np.stack([answers[query].scores for query in group])


def _ranking(queries: Ints, positions: Ints, scores: Floats, corpus: Corpus, depth: SearchDepth, k: int) -> Ranking:
    widths = np.minimum(enough(positions, corpus, depth), positions.shape[1])
    hits = long_table(queries, {"chunk": positions, "score": scores}, widths)
    docs = corpus.doc[positions]
    best = first_seen(docs)
    order = top(np.where(best, order_keys(scores, corpus.document_breakers[docs]), NO_KEY), max(depth.documents, depth.listed))
    columns = {"doc": np.take_along_axis(docs, order, axis=1), "score": np.take_along_axis(scores, order, axis=1)}
    ranking = long_table(queries, columns, np.minimum(best.sum(axis=1), order.shape[1]))
    return Ranking(hits, ranking, about(queries, scores.std(axis=1), scores, k))


class DenseRetriever(Retriever):
    """Cosine between query and chunk vectors: `exact` compares with every vector, `ann` searches the Chroma collection."""

    uses_vectors: ClassVar[bool] = True

    kind: Literal["dense"] = "dense"
    search: Literal["exact", "ann"] = Field(
        default="exact", description="The search to evaluate: all vectors, or Chroma's approximate index."
    )

    @property
    def evaluated(self) -> str:
        return self.search

    def retrieve(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
        return (approximate if self.search == "ann" else exact)(queries.vectors, corpus, depth, self.k)

    def searches(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> dict[str, Ranking]:
        """Return the exact ranking and, with an index, Chroma's, so that the gap between them is always known."""
        vectors = queries.vectors
        nearly = {"ann": approximate(vectors, corpus, depth, self.k)} if corpus.index or self.search == "ann" else {}
        return {"exact": exact(vectors, corpus, depth, self.k)} | nearly
