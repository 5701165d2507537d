"""The real pipeline, run for the bench: a configuration's chunks and ranked hits for all questions of a dataset."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from workbench.attribution.evidence_state import embedded_ends
from workbench.chunking.base import Chunker
from workbench.faultbench.broken_components import BrokenChunker, WindowedBm25Retriever
from workbench.faultbench.cases import IndexedChunk
from workbench.metrics.coverage import Floats, Ints
from workbench.metrics.names import Metric
from workbench.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.pipeline.chunk_table import Chunks, slice_numbers
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.graph import Graph
from workbench.records import Dataset
from workbench.retrieval.bm25 import Bm25Retriever


@dataclass(frozen=True)
class Index:
    """Documents, their chunks as they are searched, and for each query_id the places in `entries` of the listed hits, with their scores.

    `token_starts` is where each token of a document starts, `slices` (entries) numbers the slice that each delivers.
    """

    documents: Mapping[str, str]
    token_starts: Mapping[str, Ints]
    entries: tuple[IndexedChunk, ...]
    slices: Ints
    window: int | None
    best: Mapping[str, tuple[Ints, Floats]]


class Bench:
    """Runs configurations on a dataset in a temporary folder; `listed` distinct slices are ranked for each question."""

    def __init__(self, dataset: Dataset, folder: Path, listed: int) -> None:
        metrics = (Metric.parse(f"hit_recall@{listed}"),)
        self._graph = Graph(RunContext(Workspace(folder, folder / "store"), dataset, metrics, "exact", indexed=False))
        self.dataset = dataset

    def index(self, chunker: Chunker, retriever: Bm25Retriever) -> Index:
        """The result of the stages up to the hits with these components."""
        entries = self._graph.walk(Configuration("bench", chunker, None, retriever), ("chunks", "hits"))
        table, hits = entries["chunks"][""].table("chunks"), entries["hits"][""].table("exact_hits")
        chunks = Chunks(self.dataset.documents, table)
        left_out = chunker.left_out if isinstance(chunker, BrokenChunker) else frozenset()
        texts = {document.doc_id: document.text for document in self.dataset.documents if document.doc_id not in left_out}
        starts = dict(zip(texts, (tokens.starts for tokens in tokenise(list(texts.values()), BUDGET_VOCABULARY)), strict=True))
        window, ends = None, table["end"].to_numpy(np.int64)
        if isinstance(retriever, WindowedBm25Retriever):
            window, inputs = retriever.window, list(chunks.inputs)
            lengths = np.array([len(tokens.starts) for tokens in tokenise(inputs, BUDGET_VOCABULARY)], dtype=np.int64)
            ends = embedded_ends(table, np.maximum(lengths - window, 0), inputs, BUDGET_VOCABULARY)
        entry = tuple(IndexedChunk(*row) for row in zip(chunks, ends.tolist(), table["tokens"].tolist(), strict=True))
        query, places, scores = (hits[name].to_numpy() for name in ("query", "chunk", "score"))
        borders = np.searchsorted(query, np.arange(len(self.dataset.queries) + 1)).tolist()
        rows = itertools.starmap(slice, itertools.pairwise(borders))
        best = {one.query_id: (places[own], scores[own]) for one, own in zip(self.dataset.queries, rows, strict=True)}
        return Index(texts, starts, entry, slice_numbers(table), window, best)
