"""Names beyond those of the contract, which test_read.py has: of fields that plugins bring, and of values that look alike."""

from typing import Any, ClassVar, Literal

import pytest
from pydantic import JsonValue

from workbench.chunking.fixed import FixedChunker
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.experiment.naming import named
from workbench.pipeline.configuration import Configuration
from workbench.retrieval.bm25 import BM25Retriever
from workbench.retrieval.dense import DenseRetriever


class OptionsChunker(FixedChunker):
    """A plugin's chunker, whose own fields its name does not say."""

    examples: ClassVar = ({"size": 64},)

    kind: Literal["options"] = "options"  # type: ignore[assignment]  # a kind of its own
    minimum: int | None = None
    rule: JsonValue = None

    @property
    def name(self) -> str:
        return self.kind


class WeightedRetriever(DenseRetriever):
    """A plugin's retriever with weights."""

    weights: dict[str, float] = {}  # noqa: RUF012  # pydantic copies it


def names(
    chunkings: list[FixedChunker] | None = None, retrievals: list[Any] | None = None, embeddings: list[Any] | None = None
) -> list[str]:
    faults: list[str] = []
    parts = [
        Configuration(chunking.name, chunking, embedding, retrieval)
        for chunking in chunkings or [FixedChunker(size=64)]
        for embedding in embeddings or [None]
        for retrieval in retrievals or [DenseRetriever()]
    ]
    found = [one.name for one in named(parts, faults)]
    assert faults == []
    assert len(set(found)) == len(found)
    return found


def test_a_grid_over_a_plugins_own_field_is_named() -> None:
    chunkings = [OptionsChunker(size=64, minimum=minimum) for minimum in (None, 100, 400)]
    assert names(chunkings) == ["options", "options-minimum100", "options-minimum400"]


def test_fields_that_the_chunkers_name_says_are_not_said_twice() -> None:
    chunkings = [FixedChunker(size=64), FixedChunker(size=128), OptionsChunker(size=64, minimum=3)]
    assert names(chunkings) == ["fixed-64-0", "fixed-128-0", "options"]
    assert names([OptionsChunker(size=8), OptionsChunker(size=16)]) == ["options-size8", "options-size16"]


@pytest.mark.parametrize(
    "values",
    [
        (-1, 1),
        ("a b", "a_b"),
        ("A", "a"),
        ({"by": "page"}, {"by": "line"}),
        ("x" * 200, "x" * 199 + "y"),
        (None, "", "none", " "),
        (1, 1.5, True, "1"),
    ],
)
def test_values_that_look_alike_get_different_names(values: tuple[JsonValue, ...]) -> None:
    found = names([OptionsChunker(size=64, rule=value) for value in values])
    assert all(len(name) < 160 for name in found)


def test_models_of_one_name_from_two_makers_are_told_apart() -> None:
    embeddings = [SentenceTransformerEmbedder(model=model) for model in ("one/small", "two/small")]
    assert names(embeddings=embeddings) == ["fixed-64-0-one_small", "fixed-64-0-two_small"]
    assert names(embeddings=[*embeddings[:1], SentenceTransformerEmbedder(model="two/large")]) == ["fixed-64-0-small", "fixed-64-0-large"]


def test_a_plugins_retriever_is_named_by_what_varies() -> None:
    weighted = [WeightedRetriever(weights={"title": weight}) for weight in (0.5, 2.0)]
    assert names(retrievals=weighted) == ["fixed-64-0-weightstitle_0.5", "fixed-64-0-weightstitle_2.0"]
    assert names(retrievals=[BM25Retriever(), BM25Retriever(b=0.5)]) == ["fixed-64-0-b0.75", "fixed-64-0-b0.5"]


def test_the_same_configuration_twice_is_a_fault() -> None:
    faults: list[str] = []
    one = Configuration("fixed-64-0", FixedChunker(size=64), None, BM25Retriever())
    named([one, one], faults)
    assert faults == ["configuration 'fixed-64-0' occurs 2 times; remove the repetitions"]
