"""Names of configurations for people: what varies, in the field's words, unique in the run."""

from collections.abc import Callable, Mapping
from typing import Any

from workbench.components.answering.prompted import ChatGenerator
from workbench.components.chunking.base import Chunker
from workbench.components.chunking.foreign import CallableChunker
from workbench.components.chunking.langchain import LangChainChunker
from workbench.components.chunking.markdown import MarkdownChunker
from workbench.components.chunking.plain import FixedChunker
from workbench.components.chunking.recursive import HierarchicalChunker, RecursiveChunker
from workbench.components.chunking.semantic import SemanticChunker
from workbench.components.context.context_packing import ContextPacking
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.components.embedding.static import StaticEmbedder
from workbench.components.reranking.cross_encoder import CrossEncoderReranker
from workbench.components.retrieval.base import Retriever
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.core.component import Component
from workbench.report.analysis.setting_names import setting_columns, short_name, short_names
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import Outcome

FIXED = FixedChunker(size=128)
MINILM = SentenceTransformerEmbedder()
DENSE = DenseRetriever()


def recorded(part: Component | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    return part.model_dump(mode="json") if isinstance(part, Component) else part


def run_of(**configurations: Mapping[str, Component | Mapping[str, Any] | None]) -> RunTables:
    """A run of which only the settings are read."""
    settings = {name: {stage: recorded(part) for stage, part in stages.items()} for name, stages in configurations.items()}
    return RunTables({"configurations": settings}, {})


def piped(chunking: Chunker = FIXED, embedding: Embedder | None = MINILM, retrieval: Retriever = DENSE, **others: Any) -> dict[str, Any]:
    return {"chunking": chunking, "embedding": embedding, "retrieval": retrieval, **others}


def texts(stage: str, *parts: Component | None) -> list[str]:
    run = run_of(**{f"c{number}": {**piped(), stage: part} for number, part in enumerate(parts)})
    (column,) = setting_columns(run)
    return list(column.texts.values())


def test_chunkings_are_named_by_kind_and_sizes() -> None:
    recursive = LangChainChunker(splitter="RecursiveCharacterTextSplitter", size=200, overlap=20)
    chunkers = [
        FixedChunker(size=128, overlap=64),
        FIXED,
        MarkdownChunker(size=256, enrich=True),
        HierarchicalChunker(child=64, parent=256),
    ]
    chunkers += [RecursiveChunker(size=400, overlap=200, tokens="characters"), SemanticChunker(size=96), recursive]
    chunkers += [CallableChunker(callable="builtins:str.splitlines")]
    assert texts("chunking", *chunkers) == [
        "fixed 128 + 64",
        "fixed 128",
        "markdown 256 + titles",
        "hierarchical 64 in 256",
        "recursive 400 + 200 characters",
        "semantic 96",
        "langchain recursive 200 + 20",
        "builtins.str.splitlines",
    ]


def test_other_settings_are_named_where_they_differ_among_those_of_a_kind() -> None:
    assert texts("chunking", SemanticChunker(size=96), SemanticChunker(size=96, percentile=80)) == [
        "semantic 96, percentile 90",
        "semantic 96, percentile 80",
    ]
    assert texts("embedding", MINILM, StaticEmbedder(dimensions=64), StaticEmbedder(max_tokens=200)) == [
        "MiniLM",
        "static 64d",
        "static 256d, window 200",
    ]
    hybrid = HybridRetriever(retrievers={"dense": {}, "bm25": {"k1": 0.9}})
    assert texts("retrieval", DENSE, BM25Retriever(), HybridRetriever(), hybrid) == [
        "vectors",
        "BM25",
        "hybrid, BM25 k1 1.5",
        "hybrid, BM25 k1 0.9",
    ]
    assert texts("context", ContextPacking(), ContextPacking(budget=500, order="reversed")) == [
        "2,000 tokens",
        "500 tokens, order reversed",
    ]
    assert texts("rerank", None, CrossEncoderReranker(model="cross-encoder/ms-marco")) == ["none", "cross encoder"]


def test_models_are_as_short_as_they_can_be_told_apart() -> None:
    small, large = (SentenceTransformerEmbedder(model=f"sentence-transformers/all-MiniLM-L{layers}-v2") for layers in (6, 12))
    assert texts("embedding", small, large) == ["all-MiniLM-L6-v2", "all-MiniLM-L12-v2"]


def test_a_prompt_is_named_by_its_file_and_beside_its_model() -> None:
    prompts = ["cited-1", "prompts/short.md", "prompts/very long.md"]
    run = run_of(**{prompt: {**piped(), "answering": ChatGenerator(model="gpt", provider="openai", prompt=prompt)} for prompt in prompts})
    (column,) = setting_columns(run)
    assert (column.title, column.values) == ("prompt", ("cited-1", "short", "very long"))


def test_settings_that_look_alike_are_numbered() -> None:
    chunkers = [CallableChunker(callable="builtins:str.split", arguments={"sep": "a" * 40 + middle + "a" * 40}) for middle in "bc"]
    named = f"builtins.str.split, sep {'a' * 20}…{'a' * 20}"
    assert texts("chunking", *chunkers) == [f"{named} (1)", f"{named} (2)"]


def test_only_settings_that_vary_have_a_column() -> None:
    run = run_of(a=piped(), b=piped(embedding=None, retrieval=BM25Retriever()), c=piped(chunking=FixedChunker(size=256)))
    assert [column.title for column in setting_columns(run)] == ["chunking", "search"]
    assert dict(short_names(run)) == {"a": "fixed 128 · vectors", "b": "fixed 128 · BM25", "c": "fixed 256 · vectors"}


def test_a_target_and_the_only_pipeline_have_names_without_columns() -> None:
    service = {"chunking": None, "embedding": None, "retrieval": None, "target": {"kind": "http", "name": "service"}}
    run = run_of(**{"fixed-128-0": piped(), "service": service})
    assert setting_columns(run) == ()
    assert dict(short_names(run)) == {"fixed-128-0": "fixed 128 · vectors", "service": "service"}


def test_a_short_name_that_repeats_another_is_the_full_name() -> None:
    run = run_of(
        **{"fixed-128-0": piped(), "other": piped(chunking=FixedChunker(size=128, model="hashed")), "x": piped(FixedChunker(size=64))}
    )
    assert short_name(run, "other") == "other"
    assert short_name(run, "x") == "fixed 64"


def test_failed_configurations_have_names(outcome_of_sizes: Callable[..., Outcome]) -> None:
    run = collect(outcome_of_sizes())
    assert [short_name(run, name) for name in run.configurations_settings] == ["fixed 16", "fixed 32", "fixed 64"]
