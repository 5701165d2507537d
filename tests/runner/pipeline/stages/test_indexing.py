from pathlib import Path

import numpy as np
import pytest

from workbench.components.chunking.plain import WholeChunker
from workbench.components.embedding.base import Role
from workbench.components.embedding.embed import text_keys
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.retrieval.dense import DenseRetriever
from workbench.core.errors import RunError
from workbench.core.records import Dataset, Document, Query
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.context import RunContext, Workspace
from workbench.runner.pipeline.graph import Graph


@pytest.mark.parametrize(("stage", "role"), [("vectors", "document"), ("queries", "query")])
def test_a_cached_vector_that_is_not_a_unit_vector_is_never_stored(tmp_path: Path, stage: str, role: Role) -> None:
    text, embedder = "Ada wrote it.", StaticEmbedder()
    run = RunContext(Workspace.at(tmp_path), Dataset("one", (Document("d", text),), (Query("q", text),), ()), (), "exact")
    run.workspace.vectors.put(text_keys([text], embedder, role), np.full((1, 384), 0.1, np.float32))
    graph = Graph(run)
    with pytest.raises(RunError, match=r"the array to store has a vector of length 1\.96 \(row 0\)"):
        graph.walk(PipelineConfiguration("whole", WholeChunker(), embedder, DenseRetriever()), ["chunks", stage])
    assert not list(run.workspace.store_root.glob(f"{stage}/*/entry.json"))
