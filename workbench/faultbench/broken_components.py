"""Components with one stage done wrong, as values that the real pipeline runs."""

import itertools
import re
from dataclasses import replace
from typing import Any, Literal

from workbench.chunking.base import Chunker
from workbench.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.records import Chunk, Document
from workbench.retrieval.base import Corpus, QueryBatch, Ranking, SearchDepth
from workbench.retrieval.bm25 import Bm25Retriever

_FIRST_WORD = re.compile(r"\S+\s+")


class BrokenChunker(Chunker):
    """Another chunker's chunks, broken.

    Documents `left_out` have none. `cuts` are positions (doc_id, character) at which chunks are cut once more. Each chunk has `copies`, each
    with one word fewer at its start.
    """

    kind: Literal["broken"] = "broken"
    chunker: Chunker
    left_out: frozenset[str] = frozenset()
    cuts: frozenset[tuple[str, int]] = frozenset()
    copies: int = 1

    @property
    def vocabulary(self) -> str:
        """That of the chunker."""
        return self.chunker.vocabulary

    def identity(self) -> dict[str, Any]:
        """The chunker's, and the faults."""
        broken = {"left_out": sorted(self.left_out), "cuts": sorted(self.cuts), "copies": self.copies}
        return {"chunker": self.chunker.identity()} | broken

    def split(self, document: Document) -> list[Chunk]:
        """The broken chunks of a document by start."""
        if document.doc_id in self.left_out:
            return []
        places = sorted(place for doc_id, place in self.cuts if doc_id == document.doc_id)
        parts = [part for chunk in self.chunker.split(document) for part in _parts(document.text, chunk, places)]
        return sorted((copy for part in parts for copy in _copies(document.text, part, self.copies)), key=lambda chunk: chunk.start)


def _parts(text: str, chunk: Chunk, cuts: list[int]) -> list[Chunk]:
    edges = [chunk.start, *(cut for cut in cuts if chunk.start < cut < chunk.end), chunk.end]
    parts = [(start, end) for start, end in itertools.pairwise(edges) if text[start:end].strip()]
    return [Chunk(chunk.doc_id, start, end, chunk.header if start == chunk.start else "") for start, end in parts]


def _copies(text: str, chunk: Chunk, copies: int) -> list[Chunk]:
    found = [chunk]
    while len(found) < copies and (word := _FIRST_WORD.match(text, found[-1].start, chunk.end)):
        found.append(Chunk(chunk.doc_id, word.end(), chunk.end, chunk.header))
    return found


class WindowedBm25Retriever(Bm25Retriever):
    """BM25 over the first `window` tokens of each text, as an embedder with a window reads it."""

    kind: Literal["windowed-bm25"] = "windowed-bm25"  # type: ignore[assignment]  # a kind by its literal, as every component
    window: int

    def retrieve(self, asked: QueryBatch, searched: Corpus, depth: SearchDepth) -> Ranking:
        """Rank the chunks and documents for each query by the text within the window."""
        texts = list(searched.texts)
        starts = (tokens.starts for tokens in tokenise(texts, BUDGET_VOCABULARY))
        read = [text[: found[self.window]] if len(found) > self.window else text for text, found in zip(texts, starts, strict=True)]
        return super().retrieve(asked, replace(searched, texts=read), depth)
