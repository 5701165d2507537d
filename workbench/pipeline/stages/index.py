"""Build a Chroma index from vectors, in a folder outside the store."""

import time

from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Identity, Inputs, Node, Stage
from workbench.retrieval.chroma_index import build_index, index_recipe, is_built
from workbench.storage.result_store import ResultWriter, StoredResult


class IndexStage(Stage):
    """The folder of one Chroma collection."""

    name = "index"
    inputs = ("chunks", "vectors")

    def applies(self, configuration: Configuration, run: RunContext) -> bool:
        """Return whether retrieval uses vectors and the run builds indexes."""
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
        """Return whether the index is finished. Always true for a store under a URL, where the stage that reads an index builds it."""
        return bool(run.workspace.url) or is_built(run.workspace.indexes / key)
