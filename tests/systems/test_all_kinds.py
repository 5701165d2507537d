"""One dataset and one ranking through all kinds of targets: every metric of retrieval is the same to the bit."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from tests.loopback import serving_application
from tests.systems import served_index
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import write_outputs

pytestmark = pytest.mark.slow

MODULE = """
import json
from dataclasses import replace
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
def results(dataset: wb.Dataset, rankings: Path, tmp_path_factory: pytest.TempPathFactory) -> wb.Results:
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "my_kinds.py").write_text(MODULE.format(file=str(rankings)))
    recorded = folder / "recorded.jsonl"
    rows = json.loads(rankings.read_text("utf-8"))
    recorded.write_text("".join(json.dumps({"query": query, "hits": hits}) + "\n" for query, hits in rows.items()), "utf-8")
    tool = {"tool": "find", "arguments": {"question": "{query}", "limit": "{k}"}, "reply": {"hits": "$.result", **REPLY}}
    search = {"url": "search", "body": {"question": "{query}", "limit": "{k}"}, "reply": {"hits": "$.found", **REPLY}}
    by_http, by_mcp = served_index.by_http(rows), served_index.by_mcp(rows).streamable_http_app()
    with pytest.MonkeyPatch.context() as patch, serving_application(by_http) as http, serving_application(by_mcp) as mcp:
        patch.syspath_prepend(str(folder))
        targets = [
            wb.HttpTarget(name="http", k=100, url=http, search=search),
            wb.McpTarget(name="mcp-stdio", k=100, command="python", args=[served_index.__file__, str(rankings)], search=tool),
            wb.McpTarget(name="mcp-http", k=100, transport="http", url=f"{mcp}/mcp", search=tool),
            wb.RecordedTarget(name="recorded", k=100, path=str(recorded)),
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
        outcome = run_experiment(replace(experiment._spec, allow_code=True), folder / "outputs", lambda _: None)
    write_outputs(outcome)
    return wb.load(outcome.folder)


@pytest.mark.parametrize("kind", ["callable", "langchain", "http", "mcp-stdio", "mcp-http", "recorded"])
def test_every_kind_of_target_has_the_scores_of_the_pipeline(results: wb.Results, kind: str) -> None:
    assert results.failures == {}
    columns = ["query_id", "metric", "value", "state", "reason"]
    table = results.queries[results.queries["metric"].isin(METRICS)]
    own, theirs = (table.loc[table["configuration"] == name, columns].reset_index(drop=True) for name in ("fixed-128-0-bm25", kind))
    assert (own["state"] == "scored").sum() > 100
    pd.testing.assert_frame_equal(own, theirs, check_exact=True)


def test_what_was_recorded_has_no_latency(results: wb.Results) -> None:
    timed = set(results.timings.loc[results.timings["name"] == "latency_question_p50", "configuration"])
    assert timed == {"fixed-128-0-bm25", "callable", "langchain", "http", "mcp-stdio", "mcp-http"}


def test_equal_systems_have_no_winner(results: wb.Results) -> None:
    assert results.verdict is not None
    assert len(results.verdict.best) == 7
    assert results.targets["unmatched"].sum() == 0
