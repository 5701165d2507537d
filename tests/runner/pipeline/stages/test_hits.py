from pathlib import Path

import pytest
from hashed_embedder import HashedEmbedder

from workbench.components.chunking.plain import FixedChunker
from workbench.components.retrieval.chroma_index import check_index
from workbench.components.retrieval.dense import DenseRetriever
from workbench.core.records import Dataset, Document
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.context import RunContext, Workspace
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.search import corpus_of


def test_a_damaged_index_is_rebuilt_before_it_is_searched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = tuple(Document(f"d{number}", f"Cat number {number} sleeps.") for number in range(9))
    run = RunContext(Workspace.at(tmp_path), Dataset("cats", documents, (), ()), (), "exact")
    configuration = PipelineConfiguration("ann", FixedChunker(size=64), HashedEmbedder(), DenseRetriever(search="ann"))
    results = Graph(run).walk(configuration, ["chunks", "vectors", "index"])
    folder = results.entry("index").folder
    (folder / "chroma.sqlite3").write_bytes(b"")
    assert check_index(folder)
    assert corpus_of(results).index == folder
    assert check_index(folder) == ""
    assert f"the index {folder} was damaged (chroma.sqlite3 has changed since it was written), so it was rebuilt" in capsys.readouterr().err
