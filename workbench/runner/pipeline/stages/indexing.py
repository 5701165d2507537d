"""Split documents into chunks, embed the chunks and the questions, and build a Chroma index from the vectors of the chunks."""

import time
from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd

from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import EncoderChunks, check_sealed, embed, using_vector_cache
from workbench.components.embedding.registry import chunk_encoder
from workbench.components.retrieval.chroma_index import build_index, index_recipe, is_built
from workbench.core.errors import RunError
from workbench.core.schemas import SCHEMAS
from workbench.core.storage.result_store import ResultWriter, StoredResult
from workbench.llm.models.files import model_fingerprint
from workbench.llm.models.tokenizers import BUDGET_VOCABULARY
from workbench.runner.pipeline.chunk_table import chunk_tables
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import EncodingCost, RunContext
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.runner.pipeline.stage_results import StageResults


class EmbeddingStage(Stage):
    """A stage that embeds texts with the configuration's embedder."""

    setting = "embedding"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.embedding is not None

    def identity(self, node: Node, run: RunContext) -> Identity:
        return Identity(embedder_of(node.configuration).identity(self.role))

    def embedder(self, configuration: Configuration) -> Embedder | None:
        return configuration.embedding


class VectorsStage(EmbeddingStage):
    """Array `vectors` float32 (chunks, dimension), and array `lengths`: each input's tokens before truncation, or its pooled tokens.

    Values `encoded`: tokens, those that a provider billed, their cost, the model, the encoder, the workers' seconds.
    """

    name = "vectors"
    inputs = ("chunks",)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        embedder, workspace = embedder_of(inputs.configuration), inputs.run.workspace
        by_workers = workspace.spent.get(inputs.key, EncodingCost())

        def pending() -> list[pd.DataFrame]:
            return [other.entry("chunks").table("chunks") for other in inputs.pending() if other.configuration.embedding == embedder]

        embedded = chunk_encoder(embedder).embed(
            encoder_chunks(inputs), workspace.vectors, inputs.configuration.name, partial(writer.mapped, "vectors"), pending
        )
        check_sealed(embedded.vectors, inputs.configuration.name)
        writer.array("lengths", embedded.lengths)
        spent = EncodingCost(embedded.tokens_encoded, embedded.usage) + by_workers
        counted = {"tokens": spent.tokens, "billed": spent.usage.tokens, "cost": spent.usage.cost}
        writer.values(
            "encoded", counted | {"model": embedder.model, "encoder": embedder.encoder().name, "workers_seconds": by_workers.seconds}
        )

    def texts(self, inputs: Inputs) -> Sequence[str] | None:
        """Return the chunks' texts with their headers, or None if whole documents are encoded."""
        return chunk_encoder(embedder_of(inputs.configuration)).texts(encoder_chunks(inputs))


def encoder_chunks(inputs: Inputs) -> EncoderChunks:
    """Return the chunks among a node's inputs in the form that an encoder takes."""
    chunks = inputs.entry("chunks")
    return EncoderChunks(inputs.run.dataset.documents, chunks.table("chunks"), inputs.run.chunks(chunks).inputs)


def embedder_of(configuration: Configuration) -> Embedder:
    """Return the embedder of a configuration. Raises RunError if it has none."""
    if configuration.embedding is None:
        raise RunError(f"{configuration.name} has no embedder", "check that its retriever uses vectors")
    return configuration.embedding


class QueriesStage(EmbeddingStage):
    """Array `vectors` float32 (queries, dimension)."""

    name = "queries"
    inputs = ("questions",)
    role = "query"

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        embedder, texts = embedder_of(inputs.configuration), self.texts(inputs)
        embedded = embed(texts, embedder, self.role, inputs.run.workspace.vectors, "queries")
        check_sealed(embedded.vectors, "queries")
        writer.array("vectors", embedded.vectors)

    def texts(self, inputs: Inputs) -> Sequence[str]:
        return [query.text for query in inputs.run.dataset.queries]


class IndexStage(Stage):
    """The folder of one Chroma collection."""

    name = "index"
    inputs = ("chunks", "vectors")

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        return configuration.embedding is not None and run.indexed

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the space and the version of Chroma, which cannot read another version's files."""
        return Identity(run=index_recipe())

    def obtain(self, inputs: Inputs) -> StoredResult:
        """Return the index, building it unless it is finished."""
        folder, started = inputs.run.workspace.indexes / inputs.key, time.perf_counter()
        vectors = inputs.entry("vectors").array("vectors")
        built = build_index(folder, inputs.run.chunks(inputs.entry("chunks")), vectors)
        return StoredResult(folder, time.perf_counter() - started, built)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Do nothing, since `obtain` builds the index in its own folder."""

    def is_stored(self, key: str, run: RunContext) -> bool:
        """Return True if the index is finished. Always true for a store under a URL, where the stage that reads an index builds it."""
        return bool(run.workspace.url) or is_built(run.workspace.indexes / key)


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
