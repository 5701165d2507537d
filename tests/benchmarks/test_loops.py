"""The benchmark's two sides embed the same texts: without that neither seconds nor recall would compare."""

import functools
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.loops import places, split, splitter_of
from benchmarks.sweep import ADDED, CHUNKINGS, name_of
from workbench.components.registry import CHUNKERS
from workbench.data.sources import GoldenSource
from workbench.llm.models.files import MINILM
from workbench.llm.models.tokenizers import count

HANDBOOK = Path(__file__).parents[2] / "experiments" / "handbook"


@pytest.fixture(scope="module")
def untitled():
    dataset = GoldenSource(path=str(HANDBOOK)).load()
    return replace(dataset, documents=tuple(replace(document, title="") for document in dataset.documents))


@pytest.fixture(scope="module")
def length():
    return functools.cache(lambda text: count(text, MINILM))


@pytest.mark.parametrize("chunking", [*CHUNKINGS, ADDED], ids=name_of)
def test_langchain_cuts_where_we_cut(untitled, length, chunking):
    chunker = CHUNKERS[chunking["kind"]].model_validate(chunking)
    ours = [(document.doc_id, chunk.start, chunk.end) for document in untitled.documents for chunk in chunker.split(document)]
    assert len(ours) > 20
    assert places(untitled, split(untitled, splitter_of(chunking, length))) == ours


def test_the_eight_chunkings_are_those_of_the_claim():
    assert [name_of(chunking) for chunking in CHUNKINGS] == [
        *("fixed-64-0", "fixed-64-32", "fixed-128-0", "fixed-128-64", "fixed-256-0", "fixed-256-64"),
        *("sentence-128", "sentence-256"),
    ]
