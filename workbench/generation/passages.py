"""The passages of the documents: in an order for asking about them, beside each other, and by similarity to a text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from workbench.chunking.markdown import MarkdownChunker
from workbench.core.fingerprint import fingerprint
from workbench.embedding.embed import embed
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.models.files import MINILM
from workbench.records import Chunk, Document
from workbench.storage.vector_cache import VectorCache, Vectors

# Embeds questions, passages and answers, whichever models an experiment compares later.
EMBEDDER = SentenceTransformerEmbedder(model=MINILM)
# Shorter passages are headings and remains, which answer nothing.
_SHORTEST = 200
# Batches of other shapes change the seventh decimal, which must not change a result.
_DECIMALS = 5
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PassageIndex:
    """All passages in order of their documents, with their unit vectors, float32 (passages, dimension)."""

    passages: tuple[Chunk, ...]
    vectors: Vectors
    cache: VectorCache

    @classmethod
    def of(cls, documents: Sequence[Document], tokens: int, cache: VectorCache) -> "PassageIndex":
        """Cut the documents and embed the passages."""
        chunker = MarkdownChunker(size=tokens, enrich=True, model=EMBEDDER.vocabulary)
        passages = tuple(chunk for document in documents for chunk in chunker.split(document))
        vectors = embed([passage.embedded_text for passage in passages], EMBEDDER, "document", cache, "passages").vectors
        return cls(passages, vectors, cache)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {passage.chunk_id: number for number, passage in enumerate(self.passages)}

    def spread(self, seed: int) -> Iterator[Chunk]:
        """Yield all passages that are long enough, one of each document after the other, in an order that the seed determines."""
        long = [passage for passage in self.passages if len(passage.text) >= _SHORTEST] or self.passages
        by_document: dict[str, list[Chunk]] = {}
        # A hash in place of a generator: passages keep their order when documents are added.
        for passage in sorted(long, key=lambda passage: fingerprint(seed, passage.chunk_id)):
            by_document.setdefault(passage.doc_id, []).append(passage)
        for layer in zip_longest(*by_document.values()):
            yield from (passage for passage in layer if passage is not None)

    def beside(self, passage: Chunk) -> list[Chunk]:
        """Return the passages before and after a passage in its document."""
        own = self._numbers[passage.chunk_id]
        numbers = (number for number in (own - 1, own + 1) if 0 <= number < len(self.passages))
        return [self.passages[number] for number in numbers if self.passages[number].doc_id == passage.doc_id]

    def partner(self, passage: Chunk) -> Chunk | None:
        """Return the passage of another document that is most similar, or None if there is only one document."""
        scores = self.vectors @ self.vectors[self._numbers[passage.chunk_id]]
        ranked = (self.passages[number] for number in _ranked(scores))
        return next((other for other in ranked if other.doc_id != passage.doc_id and len(other.text) >= _SHORTEST), None)

    def search(self, text: str) -> list[tuple[Chunk, float]]:
        """Return all passages with their cosine to a text, the most similar first."""
        scores = np.round(self.vectors @ text_vectors([text], self.cache)[0], _DECIMALS)
        return [(self.passages[number], float(scores[number])) for number in _ranked(scores)]


def _ranked(scores: NDArray[np.float32]) -> list[int]:
    ranked: list[int] = np.argsort(-np.round(scores, _DECIMALS), kind="stable").tolist()
    return ranked


def text_vectors(texts: Sequence[str], cache: VectorCache) -> Vectors:
    """Return the unit vectors of questions or answers, float32 (texts, dimension)."""
    return embed(texts, EMBEDDER, "query", cache, "questions").vectors


def cosines(texts: Sequence[str], others: Sequence[str], cache: VectorCache) -> NDArray[np.float32]:
    """Return the cosine of each text with each of the others, float32 (texts, others)."""
    if not texts or not others:
        return np.zeros((len(texts), len(others)), dtype=np.float32)
    return np.round(text_vectors(texts, cache) @ text_vectors(others, cache).T, _DECIMALS)
