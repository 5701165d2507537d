"""Variants in the graph: which results a condition, a perturbation or a repeat has for itself, and what an incomplete result does."""

import json
from dataclasses import replace
from typing import Any

import pytest

from workbench.core.records import Variant
from workbench.core.storage.result_store import ResultWriter
from workbench.runner.execution.local import Outcome
from workbench.runner.pipeline.configuration import Configuration
from workbench.runner.pipeline.context import RunContext
from workbench.runner.pipeline.graph import Graph
from workbench.runner.pipeline.registry import STAGES
from workbench.runner.pipeline.stage import Identity, Inputs, Node, Stage

VARIANTS = (Variant("none"), Variant(), Variant(repeat=1), Variant("injection", "override"))


class Prompts(Stage):
    """A result for each condition and perturbation; without the ranking for `none`."""

    name = "prompts"
    inputs = ("questions", "hits")

    def variant(self, variant: Variant) -> Variant:
        return replace(variant, repeat=0)

    def inputs_of(self, node: Node) -> tuple[str, ...]:
        return ("questions",) if node.variant.condition == "none" else self.inputs

    def identity(self, node: Node, run: RunContext) -> Identity:
        return Identity(str(node.variant))

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        writer.values("prompts", {"inputs": sorted(inputs.entries), "variant": str(inputs.node.variant)})


class Replies(Stage):
    """A result for each variant, which lacks something while a file exists."""

    name = "replies"
    inputs = ("prompts",)

    def __init__(self, down: Any) -> None:
        self.down = down

    def variant(self, variant: Variant) -> Variant:
        return variant

    def identity(self, node: Node, run: RunContext) -> Identity:
        return Identity(str(node.variant))

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        writer.values("replies", inputs.entry("prompts").values("prompts")["variant"])
        if self.down.exists() and inputs.node.variant.repeat:
            writer.mark_incomplete()


class Summary(Stage):
    """One result of all variants."""

    name = "summary"
    inputs = ("replies",)

    def compute(self, inputs: Inputs, writer: ResultWriter) -> None:
        writer.values("summary", {slot: entry.values("replies") for slot, entry in inputs.entries["replies"].items()})


@pytest.fixture
def graph(few: Outcome, tmp_path: Any) -> Graph:
    workspace = replace(few.run.workspace, store_root=tmp_path / "store")
    stages = {**STAGES.builtin, "prompts": Prompts(), "replies": Replies(tmp_path / "down"), "summary": Summary()}
    return Graph(replace(few.run, workspace=workspace, variants=VARIANTS), stages)


def slots(graph: Graph, stage: str, configuration: Configuration) -> list[str]:
    return [node.result_id for node in graph.nodes(configuration, [stage])]


def test_a_stage_has_a_result_for_each_variant_that_differs_for_it(graph: Graph, few: Outcome) -> None:
    configuration = few.experiment.configurations[0]
    assert slots(graph, "hits", configuration) == [""]
    assert slots(graph, "prompts", configuration) == ["none", "", "injection/override"]
    assert slots(graph, "replies", configuration) == ["none", "", "retrieved#1", "injection/override"]
    assert slots(graph, "summary", configuration) == [""]


def test_a_result_reads_the_results_of_its_own_variant(graph: Graph, few: Outcome) -> None:
    entries = graph.walk(few.experiment.configurations[0]).entries
    assert entries["summary"][""].values("summary") == {
        "none": "none",
        "": "retrieved",
        "retrieved#1": "retrieved",
        "injection/override": "injection/override",
    }
    assert entries["prompts"]["none"].values("prompts")["inputs"] == []
    assert entries["prompts"][""].values("prompts")["inputs"] == ["hits"]


def test_configurations_share_a_variant_that_does_not_need_their_ranking(graph: Graph, few: Outcome) -> None:
    first, second = few.experiment.configurations[:2]
    keys = [{node.result_id: graph.key(node) for node in graph.nodes(each, ["replies"])} for each in (first, second)]
    assert {slot for slot in keys[0] if keys[0][slot] == keys[1][slot]} == {"none"}


def test_an_incomplete_result_serves_its_run_and_is_computed_again_by_the_next(graph: Graph, few: Outcome) -> None:
    configuration, store = few.experiment.configurations[0], graph.run.workspace.store
    down = graph.stages["replies"].down  # type: ignore[attr-defined]
    down.touch()
    entries = graph.walk(configuration).entries
    lacking = {stage: [slot for slot, entry in parts.items() if not entry.complete] for stage, parts in entries.items()}
    assert {stage: places for stage, places in lacking.items() if places} == {"replies": ["retrieved#1"], "summary": [""]}
    assert [node.result_id for node in graph.nodes(configuration) if not graph.is_stored(node)] == ["retrieved#1", ""]
    down.unlink()
    again = graph.walk(configuration).entries
    made = [(stage, slot) for stage, parts in again.items() for slot, entry in parts.items() if entry.computed]
    assert made == [("replies", "retrieved#1"), ("summary", "")]
    assert all(graph.is_stored(node) for node in graph.nodes(configuration))
    assert not list(store.root.glob("**/incomplete.json"))


def test_the_name_of_a_variant_is_readable() -> None:
    assert json.dumps([str(variant) for variant in VARIANTS]) == '["none", "retrieved", "retrieved#1", "injection/override"]'
