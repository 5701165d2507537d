"""The keys of results: each follows from its stage's settings and version and from its inputs, and from nothing else."""

import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
import sentencex

from workbench.components.chunking.plain import FixedChunker
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.core.errors import InputError, RunError
from workbench.core.storage.result_store import ResultWriter
from workbench.runner.execution.local import Outcome
from workbench.runner.pipeline.configuration import PipelineConfiguration
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.registry import STAGES
from workbench.runner.pipeline.stage import Inputs
from workbench.runner.pipeline.stages.indexing import ChunksStage, VectorsStage

DENSE = PipelineConfiguration("dense", FixedChunker(size=64), StaticEmbedder(), DenseRetriever())
Keys = Callable[..., dict[str, set[str]]]


@pytest.fixture
def keys(few: Outcome) -> Keys:
    """The keys of a configuration's results by stage."""

    def of(configuration: PipelineConfiguration, **stages: object) -> dict[str, set[str]]:
        graph = Graph(few.run, {**STAGES, **stages})
        found: dict[str, set[str]] = {}
        for node in graph.nodes(configuration):
            found.setdefault(node.stage, set()).add(graph.key(node))
        return found

    return of


def differ(one: dict[str, set[str]], other: dict[str, set[str]]) -> set[str]:
    """The stages of which no result has the same key."""
    return {stage for stage in one if not one[stage] & other[stage]}


AFTER_VECTORS = {"vectors", "index", "hits", "scores", "explanations"}


@pytest.mark.parametrize(
    ("changed", "stages"),
    [
        ({"name": "renamed"}, set()),
        ({"retrieval": DenseRetriever(k=7)}, {"hits", "scores", "explanations"}),
        ({"embedding": StaticEmbedder(dimensions=128)}, AFTER_VECTORS | {"queries", "chunk_faults"}),
        ({"chunking": FixedChunker(size=32)}, AFTER_VECTORS | {"chunks", "chunk_faults"}),
    ],
    ids=["name", "k", "embedder", "chunker"],
)
def test_a_setting_changes_the_keys_of_its_stage_and_of_those_behind_it(keys: Keys, changed: dict[str, object], stages: set[str]) -> None:
    assert differ(keys(DENSE), keys(replace(DENSE, **changed))) == stages


def test_a_version_changes_the_keys_of_its_stage_and_of_those_behind_it(keys: Keys) -> None:
    class Later(VectorsStage):
        version = VectorsStage.version + 1

    assert differ(keys(DENSE), keys(DENSE, vectors=Later())) == AFTER_VECTORS | {"chunk_faults"}


def test_without_vectors_there_is_no_stage_that_needs_them(keys: Keys) -> None:
    lexical = PipelineConfiguration("bm25", DENSE.chunking, None, BM25Retriever())
    assert set(keys(DENSE)) == set(keys(lexical)) | {"vectors", "queries", "index"}
    assert keys(lexical)["chunks"] == keys(DENSE)["chunks"]


def test_a_stage_whose_input_no_stage_gives_is_refused(keys: Keys) -> None:
    class Orphan(ChunksStage):
        name = "orphan"
        inputs = ("nothing",)

    with pytest.raises(InputError, match="the stages orphan have unknown or circular inputs"):
        keys(DENSE, orphan=Orphan())


def test_a_component_that_calls_sys_exit_is_an_error_of_its_stage(few: Outcome) -> None:
    class Exiting(ChunksStage):
        version = ChunksStage.version + 1

        def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
            sys.exit("no licence")

    with pytest.raises(RunError, match=r"the stage chunks called sys.exit\('no licence'\); let its component raise an error"):
        Graph(few.run, {**STAGES.builtin, "chunks": Exiting()}).walk(DENSE, ["chunks"])


def test_a_panic_of_native_code_is_an_error_of_its_stage(few: Outcome) -> None:
    class Panicking(ChunksStage):
        version = ChunksStage.version + 1

        def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
            list(sentencex.segment("en", "A\u00a0. Bob"))

    with pytest.raises(RunError, match=r"native code of the stage chunks panicked: .*; leave out the text that it fails on"):
        Graph(few.run, {**STAGES.builtin, "chunks": Panicking()}).walk(DENSE, ["chunks"])


def test_stages_that_need_each_other_are_refused(keys: Keys) -> None:
    class First(ChunksStage):
        name = "first"
        inputs = ("second",)

    class Second(ChunksStage):
        name = "second"
        inputs = ("first",)

    with pytest.raises(InputError, match=r"the stages .*first.* have unknown or circular inputs"):
        keys(DENSE, first=First(), second=Second())


def test_a_stage_follows_its_inputs(few: Outcome) -> None:
    graph = Graph(few.run, dict(STAGES.builtin))
    needed = {node.stage for node in graph.nodes(DENSE)}
    order = [stage for stage in graph.stages if stage in needed]
    assert set(order) == {"chunks", "queries", "vectors", "index", "chunk_faults", "hits", "scores", "explanations"}
    assert order.index("chunks") < order.index("vectors") < order.index("index") < order.index("hits") < order.index("scores")
    places = {name: place for place, name in enumerate(graph.stages)}
    assert all(places[need] < places[name] for name, stage in graph.stages.items() for need in stage.inputs if need in places)
