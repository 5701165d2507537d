"""Split documents into chunks."""

from collections.abc import Sequence

from workbench.embedding.base import Embedder
from workbench.embedding.embed import using_vector_cache
from workbench.models.files import model_fingerprint
from workbench.models.tokenizers import BUDGET_VOCABULARY
from workbench.pipeline.chunk_table import chunk_tables
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Identity, Inputs, Node, Stage
from workbench.storage.result_store import ResultWriter


class ChunksStage(Stage):
    """Table `chunks`: doc, start, end, delivered_start, delivered_end, header, tokens (of the delivered slice, budget vocabulary)."""

    name = "chunks"
    inputs = ("corpus",)
    setting = "chunking"

    def identity(self, node: Node, run: RunContext) -> Identity:
        """Return the chunker's settings, and the vocabulary in which budgets are counted."""
        return Identity(node.configuration.pipeline.chunking.identity(), model_fingerprint(BUDGET_VOCABULARY))

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Split every document. Sentences that a chunker compares are embedded through the vector cache."""
        with using_vector_cache(inputs.run.workspace.vectors):
            writer.tables("chunks", chunk_tables(inputs.run.dataset.searched, inputs.configuration.pipeline.chunking))

    def embedder(self, configuration: Configuration) -> Embedder | None:
        """Return the embedder with which the chunker compares texts."""
        return configuration.pipeline.chunking.compared_by

    def texts(self, inputs: Inputs) -> Sequence[str]:
        """Return the texts that the chunker compares."""
        return [text for document in inputs.run.dataset.searched for text in inputs.configuration.pipeline.chunking.compared(document)]
