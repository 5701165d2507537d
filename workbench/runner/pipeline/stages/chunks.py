"""Split documents into chunks."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pandas as pd

from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import using_vector_cache
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter
from workbench.llm.models.files import model_fingerprint
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY
from workbench.runner.pipeline.chunk_table import chunk_tables
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults


def _lengths_table(results: StageResults) -> pd.DataFrame:
    """Count chunks by number of tokens in their inputs, or in the delivered slices without embeddings."""
    lengths = results.input_lengths if "vectors" in results.entries else results.chunks_table["tokens"].to_numpy(np.int64)
    tokens, chunks = np.unique(lengths, return_counts=True)
    return pd.DataFrame({"tokens": tokens, "chunks": chunks})


class ChunksStage(Stage):
    """Table `chunks`: doc, start, end, delivered_start, delivered_end, header, tokens (of the delivered slice, budget vocabulary)."""

    name = "chunks"
    inputs = ("corpus",)
    setting = "chunking"
    tables: ClassVar[TableMakers] = {SCHEMAS["chunk_lengths"]: _lengths_table}

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the chunker's settings, and the vocabulary in which budgets are counted."""
        return Identity(node.configuration.pipeline.chunking.identity(), model_fingerprint(BUDGET_VOCABULARY))

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Split every document. Sentences that a chunker compares are embedded through the vector cache."""
        with using_vector_cache(inputs.run.workspace.vectors):
            writer.tables("chunks", chunk_tables(inputs.run.dataset.searched, inputs.configuration.pipeline.chunking))

    def embedder(self, configuration: Configuration) -> Embedder | None:
        return configuration.pipeline.chunking.compared_by

    def texts(self, inputs: Inputs) -> Sequence[str]:
        return [text for document in inputs.run.dataset.searched for text in inputs.configuration.pipeline.chunking.compared(document)]
