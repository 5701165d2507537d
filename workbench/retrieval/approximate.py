"""Search a Chroma collection approximately, as deep as the metrics require."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from workbench.core import batching
from workbench.core.environment import requested_threads, usable_cores
from workbench.errors import RunError
from workbench.models.tokenizers import Ints
from workbench.retrieval.base import Corpus, Ranking, SearchDepth, about, enough, joined, long_table
from workbench.retrieval.chroma_index import open_collection
from workbench.retrieval.rank import NO_KEY, Floats, first_seen, order_keys, rounded, top
from workbench.storage.vector_cache import Vectors

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
