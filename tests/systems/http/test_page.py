"""A service in a process of its own, asked as the experiment of docs/how-to/evaluate_your_system.md says."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
import yaml

from tests.docs.conftest import DOCS, ROOT, blocks, section
from tests.loopback import closed_port
from tests.systems.http.sessions import answered, in_session
from workbench import load_dataset
from workbench.core.records import Dataset, Passage, TargetHit
from workbench.systems.base import System, TargetError
from workbench.systems.http.target import HttpTarget

PAGE = DOCS / "how-to" / "evaluate_your_system.md"
SECTION = "An HTTP service"
QUESTIONS = 20


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder, port = tmp_path_factory.mktemp("service"), closed_port()
    (folder / "experiments").symlink_to(ROOT / "experiments")
    program = ("uvicorn", "passage_service:app", "--app-dir", str(Path(__file__).parent))
    words = [sys.executable, "-m", *program, "--port", str(port), "--log-level", "warning"]
    with subprocess.Popen(words, cwd=folder, env=os.environ | {"PYTHONPATH": ""}) as process:
        try:
            wait_for(f"http://127.0.0.1:{port}/docs", process)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


def wait_for(url: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert process.poll() is None, "the service ended"
        try:
            if httpx2.get(url, timeout=10).is_success:
                return
        except httpx2.ConnectError:
            time.sleep(0.1)
    raise AssertionError("the service did not start")


@pytest.fixture(scope="module")
def target(address: str) -> HttpTarget:
    (settings,) = yaml.safe_load(blocks(PAGE, "yaml", SECTION)[0])["targets"]
    return HttpTarget(**{**settings, "url": address})


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_dataset(ROOT / "experiments" / "handbook", split="dev")


def test_the_service_finds_documents_of_the_dataset(target, dataset):
    async def use(session: System) -> list[list[TargetHit]]:
        return [list(await session.search(query, 5)) for query in dataset.queries[:QUESTIONS]]

    found = in_session(target, use)
    texts = {document.doc_id: document.text for document in dataset.documents}
    for hits in found:
        assert len(hits) == 5
        assert all(hit.text and hit.text in texts[hit.doc_id] for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    relevant = {(qrel.query_id, qrel.doc_id) for qrel in dataset.qrels if qrel.relevance > 0}
    right = [any((query.query_id, hit.doc_id) in relevant for hit in hits) for query, hits in zip(dataset.queries, found, strict=False)]
    assert sum(right) > QUESTIONS / 3


def test_the_service_answers_with_its_sources(target):
    answer = answered(target)
    assert answer.sources
    assert answer.text == answer.sources[0].text
    assert answer.seconds > 0


def test_what_the_page_says_about_the_target_holds(target):
    assert (target.searches, target.answers, target.takes_context, target.ingests) == (True, True, False, False)
    context = HttpTarget(**{**target.settings(), "answer": {**target.settings()["answer"], "body": {"q": "{query}", "c": "{context}"}}})
    assert context.takes_context
    with pytest.raises(TargetError, match="Field required"):
        answered(context, [Passage("a", 0, 1, "A.")])


def test_the_preset_of_the_page_searches_and_answers():
    text = section(PAGE, SECTION)
    start = text.index("{kind: http, name: version-1")
    target = HttpTarget(**yaml.safe_load(text[start : text.index("`", start)]))
    assert target.searches
    assert target.answers


@pytest.mark.parametrize(
    "pattern", ["{hits: $.ids, id: $}", "{columns: true, id:", "{url: status, path:", '{authorization: "Bearer', "{x-api-key:"]
)
def test_the_settings_in_the_prose_are_valid(pattern, monkeypatch):
    monkeypatch.setenv("MY_SERVICE_KEY", "secret")
    text = section(PAGE, SECTION)
    start = text.index(pattern)
    settings = yaml.safe_load(text[start : text.index("`", start)])
    usual = {"name": "a", "url": "http://localhost:8000", "preset": "query"}
    if "id" in settings:
        HttpTarget(**{**usual, "search": {"reply": settings}})
    elif "path" in settings:
        HttpTarget(**{**usual, "ingest": {"url": "add", "body": "{documents}", "ready": settings}})
    else:
        HttpTarget(**{**usual, "headers_env": settings}).check()


def test_the_service_has_the_two_requests_of_the_page(address):
    assert httpx2.get(f"{address}/openapi.json", timeout=20).json()["paths"].keys() == {"/search", "/ask"}
