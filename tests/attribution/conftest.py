"""The tiny experiment in three sizes, the largest beyond the window, and what attribution makes of its results."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest

from tests.tiny_dataset import write_dataset
from workbench.attribution.chunk_faults import ChunkFault, chunk_faults
from workbench.attribution.embedded_extent import EmbeddedExtent, embedded_extent
from workbench.attribution.evidence_causes import missed
from workbench.execution.local import Outcome, run_experiment
from workbench.execution.result import Result
from workbench.experiment.read import experiment_of
from workbench.metrics.case import Case
from workbench.metrics.names import Metric
from workbench.pipeline.stages.scores import retrieved
from workbench.pipeline.stages.vectors import input_lengths


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("attribution")
    write_dataset(folder / "data", evidence=True)
    write_dataset(folder / "labels", evidence=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("WORKBENCH_STORE", raising=False)
        yield folder


@pytest.fixture(scope="session")
def sizes(place: Path) -> Callable[..., Outcome]:
    """Runs fixed chunks of 16, 32 and 64 tokens, or others; `evidence` False takes the same questions without spans."""

    def ran(evidence: bool = True, **changes: object) -> Outcome:
        settings: dict[str, object] = {
            "name": "sizes",
            "dataset": {"kind": "golden", "path": str(place / ("data" if evidence else "labels"))},
            "pipeline": {"embedding": {"kind": "sentence-transformers", "max_tokens": 48}, "retrieval": {"kind": "dense", "k": 5}},
            "sweep": {"chunking": [{"kind": "fixed", "size": [16, 32, 64], "overlap": 0}]},
            "metrics": ["span_recall@500t", "span_recall@2", "complete@2", "recall@3"],
        }
        finished = run_experiment(experiment_of(settings | changes, "here"), place / "outputs", lambda _: None)
        assert not finished.failures
        return finished

    return ran


def inputs_of(outcome: Outcome, result: Result) -> Sequence[str]:
    return outcome.context.chunks(result.entry("chunks")).inputs


def extent_of(outcome: Outcome, result: Result) -> EmbeddedExtent:
    embedding = result.configuration.embedding
    inputs, vocabulary = inputs_of(outcome, result), embedding.vocabulary if embedding else None
    return embedded_extent(outcome.context.labels, result.chunks_table, result.truncated, inputs, vocabulary)


def misses_of(outcome: Outcome, result: Result, metric: str) -> pd.DataFrame:
    case = Case(outcome.context.labels, retrieved(result.entry("chunks"), result.hits, "exact"), "exact")
    return missed(case, Metric.parse(metric), extent_of(outcome, result), result.configuration.retrieval.k)


def faults_of(outcome: Outcome, result: Result) -> dict[str, ChunkFault]:
    context, inputs = outcome.context, inputs_of(outcome, result)
    found = chunk_faults(
        context.labels, context.dataset, result.chunks_table, inputs, input_lengths(result.entries), result.configuration.window
    )
    return {fault.name: fault for fault in found}
