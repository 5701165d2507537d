"""A search from Python delivers what a sweep of the same configuration delivers, with every stage that ranks chunks."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hashed_embedder import HashedEmbedder

import workbench as wb
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

pytestmark = pytest.mark.slow

CHUNKING = wb.FixedChunker(size=128)
EMBEDDING = HashedEmbedder()
RETRIEVAL = [
    wb.HybridRetriever(k=5),
    wb.BM25Retriever(k=5),
    wb.DenseRetriever(k=5, neighbours=1),
    wb.BM25Retriever(k=6, neighbours=2),
]
REWRITE: list[wb.Rewriter | None] = [None, wb.RM3Rewriter(documents=5), wb.RocchioRewriter(documents=3), None]


@pytest.fixture(scope="module")
def dataset(handbook_few: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve questions, of which some may only be answered from one folder, and a reply file for all of them."""
    loaded = wb.load_dataset(handbook_few)
    folder = tmp_path_factory.mktemp("filtered") / "handbook"
    needed = {qrel.query_id: qrel.doc_id for qrel in loaded.qrels if qrel.relevance > 0}
    queries = tuple(
        wb.Query(each.query_id, each.text, each.answerable, each.answer, each.metadata, where)
        for number, each in enumerate(loaded.queries)
        for where in [{"folder": needed[each.query_id].rpartition("/")[0]} if number % 3 == 0 and each.query_id in needed else {}]
    )
    wb.save_dataset(wb.Dataset("handbook", loaded.documents, queries, loaded.qrels, loaded.needs), folder)
    replies = [{"query_id": each.query_id, "rewrites": [each.text.upper(), f"rules about {each.text}"]} for each in loaded.queries]
    (folder.parent / "replies.jsonl").write_text("\n".join(map(json.dumps, replies)))
    return folder


@pytest.fixture(scope="module")
def rewritten(dataset: Path) -> wb.Pipeline:
    recorded = wb.RecordedRewriter(path=str(dataset.parent / "replies.jsonl"))
    return wb.Pipeline(chunking=CHUNKING, embedding=EMBEDDING, retrieval=wb.HybridRetriever(k=5), rewrite=recorded)


@pytest.fixture(scope="module")
def pipelines(rewritten: wb.Pipeline, tiny_model: str) -> list[wb.Pipeline]:
    reranking: list[wb.Reranker | None] = [wb.LateInteractionReranker(model=tiny_model, pool=20), None, wb.MMRReranker(pool=10), None]
    made = [
        wb.Pipeline(chunking=CHUNKING, embedding=EMBEDDING, retrieval=retrieval, rerank=rerank, rewrite=rewrite)
        for retrieval, rerank, rewrite in zip(RETRIEVAL, reranking, REWRITE, strict=True)
    ]
    return [*made, rewritten]


@pytest.fixture(scope="module")
def outcome(dataset: Path, pipelines: list[wb.Pipeline], tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    retrieval = [
        pipeline.retrieval.settings()
        | {name: part.settings() if part else "none" for name, part in (("rerank", pipeline.rerank), ("rewrite", pipeline.rewrite))}
        for pipeline in pipelines
    ]
    settings = {
        "name": "searched",
        "dataset": {"kind": "golden", "path": str(dataset)},
        "sweep": {"chunking": [CHUNKING.settings()], "embedding": [EMBEDDING.settings()], "retrieval": retrieval},
        "metrics": ["recall@5"],
    }
    finished = run_experiment(experiment_of(settings, "test"), tmp_path_factory.mktemp("searched") / "outputs", lambda _: None)
    assert not finished.failures
    write_outputs(finished)
    return finished


@pytest.mark.parametrize("number", range(len(RETRIEVAL) + 1))
def test_a_search_delivers_what_the_sweep_delivers(outcome: Outcome, pipelines: list[wb.Pipeline], number: int) -> None:
    loaded, hits = outcome.run.dataset, pd.read_parquet(outcome.folder / "hits.parquet").query("delivered")
    index = pipelines[number].index(loaded, outcome.run.workspace.outputs)
    hits = hits[hits["configuration"] == outcome.results[number].configuration.name]
    assert len(hits) > 40
    for query in loaded.queries:
        rows, found = hits[hits["query_id"] == query.query_id], index.search(query.text, where=query.where or None)
        assert [(hit.doc_id, hit.start, hit.end) for hit in found] == [tuple(row) for row in rows[["doc_id", "start", "kept"]].values]
        assert [hit.score for hit in found] == pytest.approx(rows["score"].tolist(), abs=1e-5)


def test_filters_keep_other_folders_out(outcome: Outcome) -> None:
    hits = pd.read_parquet(outcome.folder / "hits.parquet")
    filtered = {query.query_id: query.where["folder"] for query in outcome.run.dataset.queries if query.where}
    assert len(filtered) >= 3
    for query_id, folder in filtered.items():
        rows = hits[hits["query_id"] == query_id]
        assert set(rows["configuration"]) == {result.configuration.name for result in outcome.results}
        assert {doc_id.rpartition("/")[0] for doc_id in rows["doc_id"]} == {folder}


def test_every_rewritten_text_is_in_the_outputs(outcome: Outcome) -> None:
    rewrites = pd.read_parquet(outcome.folder / "rewrites.parquet")
    (name,) = [result.configuration.name for result in outcome.results if "recorded" in result.configuration.name]
    texts = {query.query_id: query.text for query in outcome.run.dataset.queries}
    rows = rewrites[rewrites["configuration"] == name]
    assert rows["text"].tolist() == [text for query in texts.values() for text in (query.upper(), f"rules about {query}")]


def test_a_filter_that_cannot_work_is_one_line(outcome: Outcome, pipelines: list[wb.Pipeline]) -> None:
    index = pipelines[1].index(outcome.run.dataset, outcome.run.workspace.outputs)
    with pytest.raises(wb.InputError, match=r"where filters by the unknown field 'fodler' \(did you mean 'folder'\?\)"):
        index.search("leave", where={"fodler": "hr"})
    with pytest.raises(wb.InputError, match=r"no document matches where=\{'folder': 'kitchen'\}"):
        index.search("leave", where={"folder": "kitchen"})


def test_a_pipeline_refuses_what_does_not_fit() -> None:
    with pytest.raises(wb.InputError, match=r"has a pool of 5, and retrieval\.k is 10"):
        wb.Pipeline(rerank=wb.MMRReranker(pool=5))
    with pytest.raises(wb.InputError, match="rerank is the class MMRReranker"):
        wb.Pipeline(rerank=wb.MMRReranker)  # type: ignore[arg-type]
    with pytest.raises(wb.InputError, match="expands words, which retrieval 'dense' does not search"):
        wb.Pipeline(rewrite=wb.RM3Rewriter())
    assert repr(wb.Pipeline(retrieval=wb.BM25Retriever(), rewrite=wb.RM3Rewriter())) == "Pipeline(fixed-256-0, bm25, rm3)"
