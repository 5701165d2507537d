"""Objects with the attributes of Haystack's components and pipelines. tests/soak/test_haystack.py has real ones."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import networkx
import pytest

from tests.systems.callable.conftest import answered, searched
from workbench.core.errors import InputError
from workbench.systems.callable.target import PythonTarget, target_of


@dataclass
class Document:
    id: str
    content: str
    score: float
    meta: dict[str, Any] = field(default_factory=dict)


DOCUMENTS = [
    Document("leave-1", "25 days", 0.5, {"source_id": "leave", "split_idx_start": 4}),
    Document("taxi", "after ten", 0.25),
    Document("pay", "the last day", 0.1),
]


class Component:
    """What the decorator `component` makes of a class."""

    def __init__(self, *outputs: str) -> None:
        self.__haystack_output__ = SimpleNamespace(_sockets_dict=dict.fromkeys(outputs))


class Retriever(Component):
    def __init__(self) -> None:
        super().__init__("documents")

    def run(self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None) -> dict[str, Any]:
        return {"documents": DOCUMENTS[:top_k] if query == "leave" and filters is None else []}


class Pipeline:
    """A retriever, a ranker that turns its documents around, and a model if there is one."""

    def __init__(self, model: bool, **needed: bool) -> None:
        self.graph = networkx.DiGraph([("retriever", "ranker"), *([("ranker", "model")] if model else [])])
        self.needed, self.model = needed, model
        self.asked: dict[str, Any] = {}

    def add_component(self, name: str, instance: object) -> None:
        raise AssertionError("a pipeline is asked only")

    def inputs(self, include_components_with_connected_inputs: bool = False) -> dict[str, Any]:
        optional, mandatory = {"is_mandatory": False}, {"is_mandatory": True}
        ranker = {"query": mandatory, "top_k": optional} | ({"documents": mandatory} if include_components_with_connected_inputs else {})
        return {"retriever": {"query": mandatory, "top_k": optional}, "ranker": ranker} | (
            {"model": {name: {"is_mandatory": needed} for name, needed in self.needed.items()}} if self.needed else {}
        )

    def outputs(self, include_components_with_connected_outputs: bool = False) -> dict[str, Any]:
        inner = {"retriever": {"documents": {}}, "ranker": {"documents": {}}}
        last = {"model": {"replies": {}, "meta": {}}} if self.model else {"ranker": {"documents": {}}}
        return (inner if include_components_with_connected_outputs else {}) | last

    def run(self, data: dict[str, Any], include_outputs_from: set[str]) -> dict[str, Any]:
        self.asked = data
        ranked = {"ranker": {"documents": DOCUMENTS[::-1][: data["ranker"].get("top_k")]}}
        meta = {"model": "m", "finish_reason": "stop", "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
        return {name: outputs for name, outputs in ranked.items() if not self.model or name in include_outputs_from} | (
            {"model": {"replies": ["25 days"], "meta": [meta]}} if self.model else {}
        )


def test_a_component_searches_as_deep_as_asked() -> None:
    target = target_of("mine", Retriever())
    assert target.roles == ("search",)
    first, second = searched(target, "leave", 2)
    assert (first.doc_id, first.text, first.score, first.start, first.end) == ("leave", "25 days", 0.5, 4, 11)
    assert (second.doc_id, second.start) == ("taxi", None)


def test_a_component_that_answers_has_its_reply() -> None:
    class Model(Component):
        def run(self, prompt: str) -> dict[str, Any]:
            return {"replies": [prompt.upper()]}

    target = target_of("mine", Model("replies"))
    assert (target.roles, answered(target).text, answered(target).sources) == (("answer",), "LEAVE", None)


def test_a_pipeline_searches_by_the_last_component_with_documents() -> None:
    pipeline = Pipeline(model=False)
    target = target_of("mine", pipeline)
    assert target.roles == ("search",)
    assert [hit.doc_id for hit in searched(target, "leave", 2)] == ["pay", "taxi"]
    assert pipeline.asked == {"retriever": {"query": "leave"}, "ranker": {"query": "leave", "top_k": 2}}


def test_a_pipeline_answers_with_the_documents_that_it_read() -> None:
    pipeline = Pipeline(model=True, prompt=True, template=False)
    target = target_of("mine", pipeline)
    answer = answered(target)
    assert (target.roles, answer.text, answer.model, answer.input_tokens, answer.output_tokens) == (("answer",), "25 days", "m", 7, 2)
    assert [hit.doc_id for hit in answer.sources or ()] == ["pay", "taxi", "leave"]
    assert pipeline.asked["model"] == {"prompt": "leave"}


def test_a_pipeline_that_needs_more_than_a_question_is_one_line() -> None:
    with pytest.raises(InputError, match=r"the pipeline Pipeline needs model\.messages; give a function of the question that runs it"):
        PythonTarget(name="mine", answer=Pipeline(model=True, messages=True))
