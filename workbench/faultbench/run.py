"""The real pipeline, run for the bench: a configuration's chunks and ranked hits for all questions of a dataset."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.attribution.embedded_extent import embedded_ends
from workbench.chunking.base import Chunker
from workbench.faultbench.broken_components import WindowedBm25Retriever
from workbench.metrics.coverage import Ints
from workbench.metrics.names import Metric
from workbench.models.tokenizers import BUDGET_VOCABULARY, tokenise
from workbench.pipeline.chunk_table import Chunks, EmbedderInputs
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.graph import Graph
from workbench.records import Dataset
from workbench.retrieval.bm25 import Bm25Retriever
from workbench.storage.result_store import Entry


@dataclass(frozen=True)
class Run:
    """`chunks` and `hits` (by query and rank) are the tables of the pipeline; `ends` (chunks) is where what was searched of each chunk ends."""

    records: Chunks
    chunks: pd.DataFrame
    hits: pd.DataFrame
    ends: Ints


class Bench:
    """Runs configurations on a dataset in a folder of its own; `listed` distinct slices are ranked for each question."""

    def __init__(self, dataset: Dataset, folder: Path, listed: int) -> None:
        metrics = (Metric.parse(f"hit_recall@{listed}"),)
        self._graph = Graph(RunContext(Workspace(folder, folder / "store"), dataset, metrics, "exact", indexed=False))
        self.dataset = dataset

    def run(self, chunker: Chunker, retriever: Bm25Retriever) -> Run:
        """The stages up to the hits, and how much of each chunk was searched."""
        configuration = Configuration("broken", chunker, None, retriever)
        entries: dict[str, dict[str, Entry]] = {}
        for node in self._graph.nodes(configuration, ("chunks", "hits")):
            entries[node.stage] = {node.part: self._graph.obtain(node, entries)}
        chunks = entries["chunks"][""].table("chunks")
        records = Chunks(self.dataset.documents, chunks)
        ends = chunks["end"].to_numpy(np.int64)
        if isinstance(retriever, WindowedBm25Retriever):
            inputs = list(EmbedderInputs(records))
            lengths = np.array([len(tokens.starts) for tokens in tokenise(inputs, BUDGET_VOCABULARY)], dtype=np.int64)
            ends = embedded_ends(chunks, np.maximum(lengths - retriever.window, 0), inputs, BUDGET_VOCABULARY)
        return Run(records, chunks, entries["hits"][""].table("exact_hits"), ends)
