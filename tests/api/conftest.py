import shutil
from pathlib import Path

import pytest

import workbench as wb
from workbench.runner.execution.local import Outcome


@pytest.fixture(scope="session")
def part(handbook_part: Path) -> wb.Dataset:
    return wb.load_dataset(handbook_part, split="dev")


@pytest.fixture(scope="session")
def indexes(outcome: Outcome, part: wb.Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, wb.Index]:
    """An index for each configuration of the finished sweep `outcome`, from a copy of its store, to which an evaluation adds scores."""
    chunkers = [wb.FixedChunker(size=128), wb.FixedChunker(size=512), wb.HierarchicalChunker(child=64, parent=256)]
    pipelines = [wb.Pipeline(chunking=chunker) for chunker in chunkers]
    outputs = tmp_path_factory.mktemp("copied") / "outputs"
    shutil.copytree(outcome.run.workspace.outputs, outputs)
    return {pipeline.configuration.name: pipeline.index(part, outputs) for pipeline in pipelines}


@pytest.fixture(scope="session")
def results(few: Outcome) -> wb.Results:
    """The opened run of a small sweep."""
    return wb.load(few.folder)
