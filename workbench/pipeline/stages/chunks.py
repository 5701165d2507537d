"""Documents to chunks."""

from typing import Any

from workbench.embedding.memory_cache import vectors_kept_in
from workbench.models.files import model_fingerprint
from workbench.models.tokenizers import BUDGET_VOCABULARY
from workbench.pipeline.chunk_table import chunk_tables
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Inputs, Node, Stage, TextRequest, Variant
from workbench.storage.result_store import Draft


class ChunksStage(Stage):
    """Table `chunks`: doc, start, end, delivered_start, delivered_end, header, tokens (of the delivered slice, budget vocabulary)."""

    name = "chunks"
    inputs = ("corpus",)
    setting = "chunking"

    def identity(self, configuration: Configuration, variant: Variant) -> Any:
        """The chunker's settings."""
        return configuration.chunking.identity()

    def demands(self, node: Node, run: RunContext) -> Any:
        """The vocabulary that budgets are counted in."""
        return model_fingerprint(BUDGET_VOCABULARY)

    def compute(self, inputs: Inputs, draft: Draft) -> None:
        """Split every document; sentences that a chunker compares are embedded through the cache of vectors."""
        with vectors_kept_in(inputs.run.workspace.vectors):
            draft.tables("chunks", chunk_tables(inputs.run.dataset.documents, inputs.configuration.chunking))

    def embeds(self, configuration: Configuration) -> bool:
        """Whether the chunker compares texts by their vectors."""
        return configuration.chunking.compared_by is not None

    def texts(self, inputs: Inputs) -> TextRequest | None:
        """The texts that the chunker compares."""
        chunking = inputs.configuration.chunking
        if chunking.compared_by is None:
            return None
        texts = [text for document in inputs.run.dataset.documents for text in chunking.compared(document)]
        return TextRequest(chunking.compared_by, "document", texts)
