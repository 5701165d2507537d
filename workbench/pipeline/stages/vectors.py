"""Chunks to vectors."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from workbench.embedding.base import NO_WINDOW, Embedder
from workbench.embedding.chunk_encoder import EncoderChunks
from workbench.embedding.registry import chunk_encoder
from workbench.errors import RunError
from workbench.models.tokenizers import Ints
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import EncodingCost, RunContext
from workbench.pipeline.stage import Entries, Inputs, Stage, Variant
from workbench.storage.result_store import Draft


class EmbeddingStage(Stage):
    """A stage that embeds texts by the configuration's embedder."""

    setting = "embedding"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Whether retrieval uses vectors."""
        return configuration.embedding is not None

    def identity(self, configuration: Configuration, variant: Variant) -> Any:
        """All that decides the vector of a text in this role."""
        return embedder_of(configuration).identity(self.role)

    def embedder(self, configuration: Configuration) -> Embedder | None:
        """The configuration's embedder."""
        return configuration.embedding


class VectorsStage(EmbeddingStage):
    """Array `vectors` float32 (chunks, dimension); array `lengths`: each input's tokens before the window cut it, or those pooled.

    Values `encoded`: tokens, those that a provider billed, its cost, the encoder, the seconds of workers.
    """

    name = "vectors"
    inputs = ("chunks",)

    def compute(self, inputs: Inputs, draft: Draft) -> None:
        """Encode the texts that are not in the vector cache."""
        embedder, workspace = embedder_of(inputs.configuration), inputs.run.workspace
        by_workers = workspace.spent.get(inputs.key, EncodingCost())

        def peers() -> list[pd.DataFrame]:
            return [peer.entry("chunks").table("chunks") for peer in inputs.peers() if peer.configuration.embedding == embedder]

        made = chunk_encoder(embedder).embed(
            encoder_chunks(inputs), workspace.vectors, inputs.configuration.name, partial(draft.mapped, "vectors"), peers
        )
        draft.array("lengths", made.lengths)
        spent = EncodingCost(made.tokens_encoded, made.usage) + by_workers
        counted = {"tokens": spent.tokens, "billed": spent.usage.tokens, "cost": spent.usage.cost}
        draft.values("encoded", counted | {"encoder": embedder.encoder().name, "workers_seconds": by_workers.seconds})

    def texts(self, inputs: Inputs) -> Sequence[str] | None:
        """The chunks' texts with their headers; None where whole documents are encoded."""
        return chunk_encoder(embedder_of(inputs.configuration)).texts(encoder_chunks(inputs))


def encoder_chunks(inputs: Inputs) -> EncoderChunks:
    """The chunks among a node's inputs, as an encoder takes them."""
    chunks = inputs.entry("chunks")
    return EncoderChunks(inputs.run.dataset.documents, chunks.table("chunks"), inputs.run.chunks(chunks).inputs)


def input_lengths(entries: Entries) -> Ints:
    """The tokens of each chunk's input before the window cuts it: int64 (chunks), or (0) without embeddings."""
    return np.asarray(entries["vectors"][""].array("lengths")) if "vectors" in entries else np.zeros(0, dtype=np.int64)


def truncated_tokens(configuration: Configuration, entries: Entries) -> Ints:
    """The tokens of each chunk's input beyond the window: int64 (chunks), or (0) without embeddings."""
    return np.maximum(input_lengths(entries) - (configuration.window or NO_WINDOW), 0)


def embedder_of(configuration: Configuration) -> Embedder:
    """The embedder of a configuration that has one. Errors: RunError where it has none."""
    if configuration.embedding is None:
        raise RunError(f"{configuration.name} has no embedder", "see that its retriever uses vectors")
    return configuration.embedding
