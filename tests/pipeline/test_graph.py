from pathlib import Path

import pytest

from workbench.errors import InputError
from workbench.pipeline.context import RunContext, Workspace
from workbench.pipeline.graph import Graph
from workbench.pipeline.registry import STAGES
from workbench.pipeline.stage import Inputs, Stage
from workbench.records import Dataset
from workbench.storage.result_store import Draft


def stage(called: str, *needs: str) -> Stage:
    class Made(Stage):
        name = called
        inputs = needs

        def compute(self, inputs: Inputs, draft: Draft) -> None:
            """Nothing."""

    return Made()


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return Graph(RunContext(Workspace(tmp_path, tmp_path / "store"), Dataset("none", (), (), ()), (), "exact"))


def test_a_stage_follows_its_inputs(graph: Graph) -> None:
    order = list(graph.stages)
    assert order == ["chunks", "queries", "vectors", "index", "chunk_faults", "hits", "scores", "explanations"]
    assert set(graph.run.fingerprints) == {"corpus", "questions", "labels"}


def test_an_input_that_no_stage_gives_is_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STAGES.builtin, "lone", stage("lone", "chunks", "unknown"))
    with pytest.raises(InputError, match=r"the stages need what no stage gives \(unknown\)"):
        _ = graph.stages


def test_stages_that_need_each_other_are_refused(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STAGES.builtin, "first", stage("first", "second"))
    monkeypatch.setitem(STAGES.builtin, "second", stage("second", "first"))
    with pytest.raises(InputError, match=r"the stages need what no stage gives .*first.*second"):
        _ = graph.stages
