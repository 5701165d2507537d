"""The real pipeline, run for the bench with sound components or with one broken stage."""

import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from benchmarks.faultbench.cases import IndexedChunk
from workbench.components.chunking.base import Chunker
from workbench.components.retrieval.base import Corpus, QueryBatch, Ranking, SearchDepth
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.core.records import Chunk, Dataset, Document
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY, Places, tokenise
from workbench.measures.attribution.evidence_state import embedded_ends
from workbench.measures.metrics.coverage import Floats, Ints
from workbench.measures.metrics.names import Metric
from workbench.runner.pipeline.chunk_table import Chunks, slice_numbers
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.context import RunContext, Workspace
from workbench.runner.pipeline.graph import Graph

_FIRST_WORD = re.compile(r"\S+\s+")


class BrokenChunker(Chunker):
    """A chunker that breaks another chunker's chunks.

    Documents `left_out` have no chunks. `cuts` are positions (doc_id, character) of additional cuts. Each chunk has `copies`, each
    starting one word later.
    """

    kind: Literal["broken"] = "broken"
    chunker: Chunker
    left_out: frozenset[str] = frozenset()
    cuts: frozenset[tuple[str, int]] = frozenset()
    copies: int = 1

    @property
    def vocabulary(self) -> str:
        """The chunker's vocabulary."""
        return self.chunker.vocabulary

    def identity(self) -> dict[str, Any]:
        """The chunker's fingerprint and the faults."""
        broken = {"left_out": sorted(self.left_out), "cuts": sorted(self.cuts), "copies": self.copies}
        return {"chunker": self.chunker.identity()} | broken

    def split(self, document: Document) -> list[Chunk]:
        """The broken chunks of a document, sorted by start."""
        if document.doc_id in self.left_out:
            return []
        places = sorted(place for doc_id, place in self.cuts if doc_id == document.doc_id)
        parts = [part for chunk in self.chunker.split(document) for part in _parts(chunk, places)]
        return sorted((copy for part in parts for copy in _copies(part, self.copies)), key=lambda chunk: chunk.start)


def _parts(chunk: Chunk, cuts: list[int]) -> list[Chunk]:
    edges = [chunk.start, *(cut for cut in cuts if chunk.start < cut < chunk.end), chunk.end]
    parts = [(start, end) for start, end in itertools.pairwise(edges) if chunk.document.text[start:end].strip()]
    return [Chunk(chunk.document, start, end, chunk.header if start == chunk.start else "") for start, end in parts]


def _copies(chunk: Chunk, copies: int) -> list[Chunk]:
    chunks = [chunk]
    while len(chunks) < copies and (word := _FIRST_WORD.match(chunk.document.text, chunks[-1].start, chunk.end)):
        chunks.append(Chunk(chunk.document, word.end(), chunk.end, chunk.header))
    return chunks


class WindowedBM25Retriever(BM25Retriever):
    """BM25 over the first `window` tokens of each text, as an embedder with a window reads it."""

    kind: Literal["windowed-bm25"] = "windowed-bm25"  # type: ignore[assignment]  # a literal kind, like every component
    window: int

    def retrieve(self, queries: QueryBatch, corpus: Corpus, depth: SearchDepth) -> Ranking:
        """Rank the chunks and documents for each query by the text within the window."""
        texts = list(corpus.texts)
        starts = (tokens.starts for tokens in tokenise(texts, BUDGET_VOCABULARY))
        read = [text[: cuts[self.window]] if len(cuts) > self.window else text for text, cuts in zip(texts, starts, strict=True)]
        return super().retrieve(queries, replace(corpus, texts=read), depth)


@dataclass(frozen=True)
class BenchIndex:
    """Documents, their searched chunks, and for each query_id the positions in `entries` of the listed hits, with their scores.

    `token_starts` are the starts of each document's tokens, `slices` (entries) the number of the slice that each entry delivers.
    """

    documents: Mapping[str, str]
    token_starts: Mapping[str, Places]
    entries: tuple[IndexedChunk, ...]
    slices: Ints
    window: int | None
    best: Mapping[str, tuple[Ints, Floats]]


class Bench:
    """Run configurations on a dataset in a temporary folder, and rank `listed` distinct slices for each question."""

    def __init__(self, dataset: Dataset, folder: Path, listed: int) -> None:
        metrics = (Metric.parse(f"hit_recall@{listed}"),)
        self._graph = Graph(RunContext(Workspace(folder, folder / "store"), dataset, metrics, "exact", indexed=False))
        self.dataset = dataset

    def index(self, chunker: Chunker, retriever: BM25Retriever) -> BenchIndex:
        """Run the stages up to the hits with these components."""
        results = self._graph.walk(PipelineConfiguration("bench", chunker, None, retriever), ("chunks", "hits"))
        table, hits = results.chunks_table, results.entry("hits").table("exact_hits")
        chunks = Chunks(self.dataset.documents, table)
        left_out = chunker.left_out if isinstance(chunker, BrokenChunker) else frozenset()
        texts = {document.doc_id: document.text for document in self.dataset.documents if document.doc_id not in left_out}
        starts = dict(zip(texts, (tokens.starts for tokens in tokenise(list(texts.values()), BUDGET_VOCABULARY)), strict=True))
        window, ends = None, table["end"].to_numpy(np.int64)
        if isinstance(retriever, WindowedBM25Retriever):
            window, inputs = retriever.window, list(chunks.inputs)
            lengths = np.array([len(tokens.starts) for tokens in tokenise(inputs, BUDGET_VOCABULARY)], dtype=np.int64)
            ends = embedded_ends(table, np.maximum(lengths - window, 0), inputs, BUDGET_VOCABULARY)
        entry = tuple(IndexedChunk(*row) for row in zip(chunks, ends.tolist(), table["tokens"].tolist(), strict=True))
        numbers, places, scores = (hits[name].to_numpy() for name in ("query", "chunk", "score"))
        borders = np.searchsorted(numbers, np.arange(len(self.dataset.queries) + 1)).tolist()
        rows = itertools.starmap(slice, itertools.pairwise(borders))
        best = {query.query_id: (places[part], scores[part]) for query, part in zip(self.dataset.queries, rows, strict=True)}
        return BenchIndex(texts, starts, entry, slice_numbers(table), window, best)
