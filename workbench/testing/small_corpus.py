"""A small corpus to search, with ties, parents, other scripts and a query that matches nothing, from a fixed seed."""

import atexit
import functools
import hashlib
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.components.retrieval.base import Corpus, QueryBatch
from workbench.components.retrieval.chroma_index import build_index
from workbench.components.retrieval.rank import Floats, tie_breakers
from workbench.core.records import Chunk, Document
from workbench.core.storage.vector_cache import Vectors

_WORDS = ("harbour", "berth", "pilot", "tide", "crane", "cargo", "customs", "ferry", "anchor", "buoy")
_DOCUMENTS, _A_DOCUMENT, _DIMENSION, _TOKENS = 12, 5, 64, 8
_UNUSUAL = ("x", "日本語のテキスト 😀", "The pilot: berth, tide!")


def _texts() -> tuple[tuple[str, ...], ...]:
    """The chunks' texts by document: random words, some texts three times, and unusual ones."""
    random = np.random.default_rng(3)
    texts = [" ".join(random.choice(_WORDS, 8)) for _ in range(_DOCUMENTS * _A_DOCUMENT)]
    for number in (3, 4, 31, 58):
        texts[number] = texts[7]
    texts[12], texts[40], texts[59] = _UNUSUAL
    return tuple(tuple(texts[first : first + _A_DOCUMENT]) for first in range(0, len(texts), _A_DOCUMENT))


TEXTS = _texts()
QUERIES = (
    *("pilot tide", "crane cargo customs", "ferry", " ".join(TEXTS[1][2].split()[:5]), "who moves the buoy?"),
    "zyzzyva quagga",
    "ferry",
)


def small_corpus(documents: Sequence[int], vectors: bool) -> Corpus:
    """Build the corpus of some documents in this order, with vectors and Chroma's index if asked for. Two chunks of a document share a parent."""
    chunks = _chunks(documents)
    texts = [text for document in documents for text in TEXTS[document]]
    embedded = vectors_of(texts) if vectors else np.zeros((0, 0), dtype=np.float32)
    place = np.arange(len(chunks))
    return Corpus(
        ids=[chunk.chunk_id for chunk in chunks],
        doc=place // _A_DOCUMENT,
        group=np.where(place % _A_DOCUMENT == 1, place - 1, place),
        tokens=np.full(len(chunks), _TOKENS),
        chunk_breakers=tie_breakers([chunk.chunk_id for chunk in chunks]),
        document_breakers=tie_breakers([f"d{document}" for document in documents]),
        vectors=embedded,
        index=_index(tuple(documents)) if vectors else None,
        texts=texts,
    )


def small_queries(texts: Sequence[str], vectors: bool) -> QueryBatch:
    """Build a batch of queries, with their vectors if asked for."""
    return QueryBatch(list(texts), vectors_of(texts)) if vectors else QueryBatch(list(texts))


def vectors_of(texts: Sequence[str]) -> Vectors:
    """Embed texts as bags of words and a little noise that depends on the text: unit vectors, float32 (n, 64). Equal texts are equal."""
    vectors = np.stack([_seeded(text) * 0.3 + sum(map(_seeded, text.split()), np.zeros(_DIMENSION)) for text in texts])
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def _seeded(text: str) -> Floats:
    seed = int.from_bytes(hashlib.blake2b(text.encode("utf-8"), digest_size=8).digest(), "little")
    return np.random.default_rng(seed).normal(size=_DIMENSION)


def _chunks(documents: Sequence[int]) -> list[Chunk]:
    return [Chunk(Document(f"d{document}", ""), 10 * number, 10 * number + 10) for document in documents for number in range(_A_DOCUMENT)]


@functools.cache
def _index(documents: tuple[int, ...]) -> Path:
    """Build Chroma's index of the corpus in a folder that is removed when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="workbench-laws-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build_index(folder / "index", _chunks(documents), vectors_of([text for document in documents for text in TEXTS[document]]))
    return folder / "index"
