"""Embed the questions."""

from collections.abc import Sequence

from workbench.embedding.checks import check_sealed
from workbench.embedding.embed import embed
from workbench.pipeline.stage import Inputs
from workbench.pipeline.stages.vectors import EmbeddingStage, embedder_of
from workbench.storage.result_store import ResultWriter


class QueriesStage(EmbeddingStage):
    """Array `vectors` float32 (queries, dimension)."""

    name = "queries"
    inputs = ("questions",)
    role = "query"

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        """Encode all queries."""
        embedder, texts = embedder_of(inputs.configuration), self.texts(inputs)
        embedded = embed(texts, embedder, self.role, inputs.run.workspace.vectors, "queries")
        check_sealed(embedded.vectors, "queries")
        writer.array("vectors", embedded.vectors)

    def texts(self, inputs: Inputs) -> Sequence[str]:
        """Return the queries' texts."""
        return [query.text for query in inputs.run.dataset.queries]
