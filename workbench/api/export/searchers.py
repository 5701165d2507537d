"""Search the exported passages by words, by vectors, or by several retrievers. A place is a passage's line, whose order breaks ties."""

import functools
import hashlib
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from words import search_terms

Array = np.ndarray[Any, Any]
# Returns the places of the best passages for a question, as many as asked for, best first, with their scores.
Search = Callable[[str, int], tuple[Array, Array]]
HERE = Path(__file__).resolve().parent


def best_first(places: Array, scores: Array, depth: int) -> tuple[Array, Array]:
    """Return the best places and scores, equal scores in the order of the places."""
    scores = np.asarray(scores, dtype=np.float64).round(6)
    order = np.lexsort((places, -scores))[:depth]
    return places[order], scores[order]


def searcher(settings: dict[str, Any], chunk_ids: Sequence[str]) -> Search:
    """Return the search of a retriever."""
    if settings["kind"] == "bm25":
        return by_words(settings)
    if settings["kind"] == "dense":
        return by_vectors(settings, chunk_ids)
    return fused(settings, {name: searcher(member, chunk_ids) for name, member in settings["retrievers"].items()})


def by_words(settings: dict[str, Any]) -> Search:
    """Return a search for passages that share a word with the question, by BM25."""
    import bm25s

    index = bm25s.BM25.load(str(HERE / settings["index"]))

    def search(question: str, depth: int) -> tuple[Array, Array]:
        (terms,) = search_terms([question], settings["stopwords"], settings["stemmer"])
        scores = np.asarray(index.get_scores(terms) if terms else np.zeros(0), dtype=np.float64)
        return best_first(np.flatnonzero(scores > 0), scores[scores > 0], depth)

    return search


def by_vectors(settings: dict[str, Any], chunk_ids: Sequence[str]) -> Search:
    """Return a search for the passages nearest to the question, by cosine."""
    if settings["search"] == "exact":
        vectors = collection_vectors(tuple(chunk_ids))

        def exact(question: str, depth: int) -> tuple[Array, Array]:
            return best_first(np.arange(len(vectors)), vectors @ question_vector(question), depth)

        return exact
    collection, places = opened(), {chunk_id: place for place, chunk_id in enumerate(chunk_ids)}

    def approximate(question: str, depth: int) -> tuple[Array, Array]:
        answer = collection.query(
            query_embeddings=question_vector(question)[None], n_results=min(depth, len(places)), include=["distances"]
        )
        found = np.array([places[chunk_id] for chunk_id in answer["ids"][0]], dtype=np.int64)
        return best_first(found, 1 - np.array(answer["distances"][0]), depth)

    return approximate


def fused(settings: dict[str, Any], searches: dict[str, Search]) -> Search:
    """Return a search that fuses the best passages of several searches, by their ranks or by their scores."""

    def search(question: str, depth: int) -> tuple[Array, Array]:
        total: dict[int, float] = {}
        for name, member in searches.items():
            places, scores = member(question, settings["pool"])
            added = _ranked(len(places), settings["constant"]) if settings["fusion"] == "rrf" else _scaled(scores)
            for place, score in zip(places.tolist(), (settings["weights"].get(name, 1.0) * added).tolist(), strict=True):
                total[place] = total.get(place, 0.0) + score
        return best_first(np.array(list(total), dtype=np.int64), np.array(list(total.values())), depth)

    return search


def _ranked(length: int, constant: int) -> Array:
    """Return the contribution of each rank: reciprocal rank fusion in units of a first rank."""
    return (constant + 1) / (constant + 1 + np.arange(length))


def _scaled(scores: Array) -> Array:
    """Scale scores to [0, 1] by the least and the greatest. Equal scores are all 1."""
    if not len(scores) or scores.max() == scores.min():
        return np.ones(len(scores))
    return np.asarray((scores - scores.min()) / (scores.max() - scores.min()))


@functools.cache
def encoder(folder: str, window: int | None) -> Any:
    """Load an embedding model, cut at `window` tokens."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(HERE / folder), local_files_only=True)
    if window:
        model.max_seq_length = window
    return model


@functools.lru_cache(maxsize=8)
def question_vector(question: str) -> Array:
    """Embed a question."""
    settings = json.loads((HERE / "settings.json").read_text("utf-8"))["embedding"]
    model = encoder("model", settings["window"])
    vectors = model.encode([question], prompt=settings["query_prompt"], normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(vectors[0])


@functools.cache
def collection_vectors(chunk_ids: tuple[str, ...]) -> Array:
    """Return the vectors of all passages."""
    stored, places = opened().get(include=["embeddings"]), {chunk_id: place for place, chunk_id in enumerate(chunk_ids)}
    return np.asarray(stored["embeddings"][np.argsort([places[chunk_id] for chunk_id in stored["ids"]])])


@functools.cache
def opened() -> Any:
    """Open a copy of the collection."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(copied(HERE / "collection").name, settings=Settings(anonymized_telemetry=False))
    return client.get_collection("chunks", embedding_function=None)


@functools.cache
def copied(folder: Path) -> "tempfile.TemporaryDirectory[str]":
    """Copy the collection, since Chroma writes into a folder that it opens. Exits with a line if a file has changed since the export."""
    copy = tempfile.TemporaryDirectory(prefix="retrieve-")
    try:
        for name, (_, digest) in json.loads((folder / "workbench.json").read_text("utf-8"))["files"].items():
            content = (folder / name).read_bytes()
            if hashlib.blake2b(content).hexdigest() != digest:
                raise ValueError(f"{name} has changed")
            Path(copy.name, name).parent.mkdir(exist_ok=True)
            Path(copy.name, name).write_bytes(content)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(f"the index {folder} is damaged ({error}); export the configuration again") from error
    return copy
