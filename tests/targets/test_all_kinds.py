"""One dataset and one ranking through all kinds of targets: every metric of retrieval is the same to the bit."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from tests.loopback import closed_port

pytestmark = pytest.mark.slow

SERVED = Path(__file__).parent / "served_index.py"
MODULE = """
import json
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

RANKINGS = json.loads(Path({file!r}).read_text("utf-8"))


async def search(query, k):
    return RANKINGS[query][:k]


class Retriever(BaseRetriever):
    k: int = 100

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(id=hit["doc_id"], page_content=hit["text"]) for hit in RANKINGS[query][: self.k]]
"""
METRICS = [
    "span_recall@2000t",
    "span_precision@2000t",
    "recall@5",
    "precision@5",
    "mrr@10",
    "ndcg@10",
    "map@10",
    "hit_recall@5",
    "complete@2000t",
]
REPLY = {"id": "$.doc_id", "text": "$.text", "score": "$.score"}


@pytest.fixture(scope="module")
def dataset(handbook_part: Path) -> wb.Dataset:
    return wb.load_dataset(handbook_part, split="dev")


@pytest.fixture(scope="module")
def rankings(dataset: wb.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The 100 best chunks of every question, by question."""
    folder = tmp_path_factory.mktemp("rankings")
    pipeline = wb.Pipeline(chunking=wb.FixedChunker(size=128), retrieval=wb.BM25Retriever())
    index = pipeline.index(dataset, folder / "outputs")
    found = {
        query.text: [{"doc_id": hit.doc_id, "text": hit.text, "score": hit.score} for hit in index.search(query.text, 100)]
        for query in dataset.queries
    }
    file = folder / "rankings.json"
    file.write_text(json.dumps(found), "utf-8")
    return file


@pytest.fixture(scope="module")
def serve(rankings: Path) -> Iterator[Callable[[str], int]]:
    """Start a server process and return its port."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(interface: str) -> int:
        port, deadline = closed_port(), time.monotonic() + 60
        processes.append(subprocess.Popen([sys.executable, str(SERVED), str(rankings), interface, str(port)]))
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return port
            assert processes[-1].poll() is None, "the server ended"
            assert time.monotonic() < deadline, "the server does not listen"
            time.sleep(0.05)

    try:
        yield start
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.fixture(scope="module")
def results(dataset: wb.Dataset, rankings: Path, serve: Callable[[str], int], tmp_path_factory: pytest.TempPathFactory) -> wb.Results:
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "my_kinds.py").write_text(MODULE.format(file=str(rankings)))
    recorded = folder / "recorded.jsonl"
    rows = json.loads(rankings.read_text("utf-8"))
    recorded.write_text("".join(json.dumps({"query": query, "hits": hits}) + "\n" for query, hits in rows.items()), "utf-8")
    tool = {"tool": "find", "arguments": {"question": "{query}", "limit": "{k}"}, "reply": {"hits": "$.result", **REPLY}}
    search = {"url": "search", "body": {"question": "{query}", "limit": "{k}"}, "reply": {"hits": "$.found", **REPLY}}
    targets = [
        wb.HttpTarget(name="http", k=100, url=f"http://127.0.0.1:{serve('http')}", search=search),
        wb.McpTarget(name="mcp-stdio", k=100, command="python", args=[str(SERVED), str(rankings), "mcp"], search=tool),
        wb.McpTarget(name="mcp-http", k=100, transport="http", url=f"http://127.0.0.1:{serve('mcp')}/mcp", search=tool),
        wb.RecordedTarget(name="recorded", k=100, path=str(recorded)),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        targets += [
            wb.CallableTarget(name="callable", k=100, search="my_kinds:search"),
            wb.CallableTarget(name="langchain", k=100, search="my_kinds:Retriever"),
        ]
        experiment = wb.Experiment(
            "kinds",
            dataset,
            pipeline={"chunking": wb.FixedChunker(size=128), "retrieval": wb.BM25Retriever()},
            targets=targets,
            metrics=METRICS,
        )
        return wb.sweep(experiment, folder / "outputs", allow_code=True)


@pytest.mark.parametrize("kind", ["callable", "langchain", "http", "mcp-stdio", "mcp-http", "recorded"])
def test_every_kind_of_target_has_the_scores_of_the_pipeline(results: wb.Results, kind: str) -> None:
    assert results.failures == {}
    columns = ["query_id", "metric", "value", "state", "reason"]
    table = results.queries[results.queries["metric"].isin(METRICS)]
    own, theirs = (table.loc[table["configuration"] == name, columns].reset_index(drop=True) for name in ("fixed-128-0", kind))
    assert (own["state"] == "scored").sum() > 100
    pd.testing.assert_frame_equal(own, theirs, check_exact=True)


def test_what_was_recorded_has_no_latency(results: wb.Results) -> None:
    timed = set(results.timings.loc[results.timings["name"] == "latency_question_p50", "configuration"])
    assert timed == {"fixed-128-0", "callable", "langchain", "http", "mcp-stdio", "mcp-http"}


def test_equal_systems_have_no_winner(results: wb.Results) -> None:
    assert results.verdict is not None
    assert len(results.verdict.best) == 7
    assert results.targets["unmatched"].sum() == 0
