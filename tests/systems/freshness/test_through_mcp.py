"""The check for stale data through an MCP server, whose notes are replaced or only added to."""

from pathlib import Path
from typing import Any

import pytest

from tests.chat_provider import ChatProvider
from tests.systems.mcp.conftest import notes
from workbench.llm.session import CallResources
from workbench.systems.base import TargetResources
from workbench.systems.freshness import FreshnessData, FreshnessReport, check_freshness, read_freshness

HANDBOOK = Path(__file__).parents[3] / "experiments" / "handbook"


@pytest.fixture
def data() -> FreshnessData:
    whole = read_freshness(HANDBOOK)
    return whole.only([document.doc_id for document in whole.earlier[:2]])


def check(data: FreshnessData, provider: ChatProvider, url: str, **settings: Any) -> FreshnessReport:
    """Check the notes server with a model that repeats the notes that it gets."""
    provider.reply_to = lambda body: {"text": body["messages"][-1]["content"]}
    sampling = {"kind": "chat", "provider": "openai", "model": "m", "base_url": f"{provider.host}/v1", "retries": 0}
    return check_freshness(notes(url=url, sampling=sampling, **settings), data, TargetResources(CallResources()))


def test_a_server_that_replaces_notes_passes(data: FreshnessData, provider: ChatProvider, notes_url: str) -> None:
    report = check(data, provider, notes_url)
    assert report.verdict == "passed"
    assert report.count("failed") == 0
    for name in ("update", "delete"):
        assert report.count("passed", name, "chunks") == len(data.cases)
        # The others have a value that is in another place of the notes too.
        assert report.count("passed", name, "answer") >= 0.6 * len(data.cases)
    assert report.count("passed", "repeat") == len(data.cases)
    assert report.count("passed", "shrink") == len(data.earlier)
    assert report.leftover == ""


def test_a_server_to_which_notes_are_only_added_fails(data: FreshnessData, provider: ChatProvider, notes_url: str) -> None:
    # Without an id each ingestion makes a new note.
    report = check(data, provider, notes_url, ingest={"tool": "create_note", "arguments": {"title": "{doc_id}", "content": "{text}"}})
    assert report.verdict == "failed"
    for name in ("update", "delete"):
        assert report.count("failed", name, "chunks") >= 0.9 * len(data.cases)
        assert report.count("failed", name, "answer") >= 0.5 * len(data.cases)
    assert report.count("failed", "repeat") >= 0.9 * len(data.cases)
    assert report.count("failed", "shrink") == len(data.earlier)


def test_a_client_without_a_model_leaves_answers_unscored(data: FreshnessData, notes_url: str) -> None:
    small = data.only([data.earlier[0].doc_id])
    report = check_freshness(notes(url=notes_url), small, TargetResources(CallResources()))
    assert report.verdict == "passed"
    answers = [each for each in report.outcomes if each.part == "answer"]
    assert {each.state for each in answers} == {"unscored"}
    assert all("semantic_sampling_unsupported" in each.seen for each in answers)
