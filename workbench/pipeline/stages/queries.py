"""Questions to vectors."""

from collections.abc import Sequence
from typing import Any

from workbench.embedding.base import Embedder
from workbench.embedding.embed import embed
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Inputs, Stage, Variant
from workbench.pipeline.stages.vectors import embedder_of
from workbench.retrieval.base import timed
from workbench.storage.result_store import Draft


class QueriesStage(Stage):
    """Array `vectors` float32 (queries, dimension); array `seconds`: the embedding of one query alone, for up to 50 of them."""

    name = "queries"
    inputs = ("questions",)
    setting = "embedding"
    role = "query"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Whether retrieval uses vectors."""
        return configuration.embedding is not None

    def identity(self, configuration: Configuration, variant: Variant) -> Any:
        """All that decides the vector of a query."""
        return embedder_of(configuration).identity("query")

    def compute(self, inputs: Inputs, draft: Draft) -> None:
        """Encode all queries, then time some alone."""
        embedder, texts = embedder_of(inputs.configuration), self.texts(inputs)
        draft.array("vectors", embed(texts, embedder, "query", inputs.run.workspace.vectors, "queries").vectors)
        embedder.encode(texts[:1], "query")  # the first call pays for loading
        draft.array("seconds", timed(lambda text: embedder.encode([text], "query"), texts))

    def embedder(self, configuration: Configuration) -> Embedder | None:
        """The configuration's embedder."""
        return configuration.embedding

    def texts(self, inputs: Inputs) -> Sequence[str]:
        """The queries' texts."""
        return [query.text for query in inputs.run.dataset.queries]
