"""The how-to page works against the real server, and quotes the experiments of the repository."""

from typing import Any

import pytest
import yaml

from tests.chat_provider import ChatProvider
from tests.docs.conftest import DOCS, blocks, section
from tests.systems.mcp.conftest import ROOT, during
from workbench.core.records import Answer, TargetHit
from workbench.data.sources import GoldenSource
from workbench.systems.base import System
from workbench.systems.mcp.target import McpTarget

PAGE = DOCS / "how-to" / "evaluate_your_system.md"
EXPERIMENTS: dict[str, dict[str, Any]] = {
    path.stem.replace("_", "-"): yaml.safe_load(path.read_text("utf-8")) for path in (ROOT / "experiments" / "targets").glob("notes*.yaml")
}
HANDBOOK = GoldenSource(path=str(ROOT / "experiments" / "handbook")).load()


def target(name: str) -> McpTarget:
    (settings,) = EXPERIMENTS[name]["targets"]
    return McpTarget(**settings)


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_the_page_quotes_the_experiments_of_the_repository() -> None:
    (block,) = blocks(PAGE, "yaml", "An MCP server")
    assert yaml.safe_load(block) == EXPERIMENTS["notes-server"]
    (settings,) = EXPERIMENTS["notes-server-answers"]["targets"]
    text = section(PAGE, "An MCP server")
    start = text.index("{kind: chat, provider: ollama")
    assert yaml.safe_load(text[start : text.index("`", start)]) == settings["sampling"]


def test_the_first_experiment_finds_the_documents_of_the_handbook() -> None:
    relevant = {(qrel.query_id, qrel.doc_id) for qrel in HANDBOOK.qrels if qrel.relevance > 0}
    queries = [query for query in HANDBOOK.queries if any(name == query.query_id for name, _ in relevant)][:30]

    async def work(session: System) -> list[list[TargetHit]]:
        await session.ingest(HANDBOOK.documents)
        return [list(await session.search(query, 5)) for query in queries]

    found = during(target("notes-server"), work)
    ids = {document.doc_id for document in HANDBOOK.documents}
    assert {hit.doc_id for hits in found for hit in hits} <= ids
    right = [any((query.query_id, hit.doc_id) in relevant for hit in hits) for query, hits in zip(queries, found, strict=True)]
    assert sum(right) > 15


def test_the_second_experiment_answers_with_a_model(provider: ChatProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAG_EVAL_OPENAI_BASE_URL", f"{provider.host}/v1")
    (settings,) = EXPERIMENTS["notes-server-answers"]["targets"]

    async def work(session: System) -> Answer:
        await session.ingest(HANDBOOK.documents[:5])
        return await session.answer(HANDBOOK.queries[0])

    answer = during(McpTarget(**{**settings, "sampling": {**settings["sampling"], "provider": "openai", "model": "m"}}), work)
    assert (answer.text, len(answer.samples), len(provider.asked)) == ("yes", 1, 1)
