"""Names beyond those of the contract, which test_read.py has: of fields that plugins bring, and of values that look alike."""

from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import JsonValue

from workbench.components.chunking.plain import FixedChunker
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.runner.experiment.expand import named
from workbench.runner.pipeline.configuration import PipelineConfiguration


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
        PipelineConfiguration(chunking.name, chunking, embedding, retrieval)
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


def plain_names(*given: str) -> list[str]:
    """Name configurations whose chunkers a plugin named."""
    configurations = [PipelineConfiguration(name, FixedChunker(size=64), None, BM25Retriever()) for name in given]
    faults: list[str] = []
    found = [one.name for one in named(configurations, faults)]
    assert faults == []
    return found


@pytest.mark.parametrize("letter", ["x", "é", "字"])
def test_a_name_too_long_for_a_file_is_cut_and_told_apart_by_a_hash(letter: str, tmp_path: Path) -> None:
    longest = 229 // len(letter.encode())
    found = plain_names(letter * longest, letter * (longest + 1), letter * (longest + 2), letter * 9_000)
    assert found[0] == letter * longest
    assert len(set(found)) == 4
    for name in found[1:]:
        assert name.startswith(letter * 30)
        # The longest name that a run gives to a file: that of a failed notebook while it is written.
        (tmp_path / f".{name}.failed.ipynb.4194304.tmp").write_text("")


def test_long_values_of_several_fields_make_names_that_files_can_have() -> None:
    found = names(
        [OptionsChunker(size=64, rule=letter * 90) for letter in "ab"],
        [WeightedRetriever(weights={letter * 80: 0.5}) for letter in "ab"],
        [SentenceTransformerEmbedder(model=f"m/{letter * 90}") for letter in "ab"],
    )
    assert {len(name) for name in found} == {229}


def test_names_that_are_no_file_names_or_differ_in_capitals_alone_get_a_hash() -> None:
    found = plain_names("page/../../etc", "page_.._.._etc", "Page", "page", "words")
    assert [name.rpartition("-")[0] or name for name in found] == ["page_.._.._etc", "page_.._.._etc", "Page", "page", "words"]
    assert len({name.lower() for name in found}) == 5
    assert found[1] == "page_.._.._etc"


def test_the_same_configuration_twice_is_a_fault() -> None:
    faults: list[str] = []
    one = PipelineConfiguration("fixed-64-0", FixedChunker(size=64), None, BM25Retriever())
    named([one, one], faults)
    assert faults == ["configuration 'fixed-64-0' occurs 2 times; remove the repetitions"]
