"""Questions to vectors."""

from typing import Any

from workbench.embedding.embed import embed
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Inputs, Stage, TextRequest, Variant
from workbench.pipeline.stages.vectors import embedder_of
from workbench.retrieval.base import timed
from workbench.storage.result_store import Draft


class QueriesStage(Stage):
    """Array `vectors` float32 (queries, dimension); array `seconds`: the embedding of one query alone, for up to 50 of them."""

    name = "queries"
    inputs = ("questions",)
    setting = "embedding"

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Where retrieval uses vectors."""
        return configuration.embedding is not None

    def identity(self, configuration: Configuration, variant: Variant) -> Any:
        """All that decides a query's vector."""
        return embedder_of(configuration).identity("query")

    def compute(self, inputs: Inputs, draft: Draft) -> None:
        """Encode all queries, then time some alone."""
        embedder, texts = embedder_of(inputs.configuration), _texts(inputs.run)
        made = embed(texts, embedder, "query", inputs.run.workspace.vectors, "queries")
        embedder.encode(texts[:1], "query")  # the first call pays for loading
        draft.array("vectors", made.vectors)
        draft.array("seconds", timed(lambda text: embedder.encode([text], "query"), texts))

    def embeds(self, configuration: Configuration) -> bool:
        """It does nothing else."""
        return True

    def texts(self, inputs: Inputs) -> TextRequest | None:
        """The queries' texts."""
        return TextRequest(embedder_of(inputs.configuration), "query", _texts(inputs.run))


def _texts(run: RunContext) -> list[str]:
    return [query.text for query in run.dataset.queries]
