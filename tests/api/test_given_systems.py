"""`evaluate` and `compare` take the same systems and read the same of what they return."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import workbench as wb

METRICS = ["recall@3", "precision@3", "mrr@10", "span_recall@2", "span_recall@60t"]


@pytest.fixture(scope="module")
def pages() -> wb.Dataset:
    """Twelve pages of two short parts, and a question on each."""
    words = ["anchor", "barge", "canal", "dinghy", "estuary", "ferry", "galley", "harbour", "inlet", "jetty", "keel", "lagoon"]
    texts = [f"The {word} is painted every spring. Nobody remembers why.\n\nIn winter the {word} is empty and cold." for word in words]
    documents = tuple(wb.Document(f"sea/{word}", text) for word, text in zip(words, texts, strict=True))
    queries = tuple(wb.Query(f"q{number:02}", f"When is the {word} painted, in spring or winter?") for number, word in enumerate(words))
    qrels = tuple(wb.Qrel(query.query_id, document.doc_id, 1) for query, document in zip(queries, documents, strict=True))
    needs = tuple(wb.Need(qrel.query_id, (wb.Span(qrel.doc_id, 0, texts[0].index(".")),)) for qrel in qrels)
    return wb.Dataset("pages", documents, queries, qrels, needs)


@pytest.fixture(scope="module")
def index(pages: wb.Dataset, tmp_path_factory: pytest.TempPathFactory) -> wb.Index:
    pipeline = wb.Pipeline(chunking=wb.SentenceChunker(size=16), retrieval="bm25")  # type: ignore[arg-type]  # a kind is a chunker's name
    return pipeline.index(pages, tmp_path_factory.mktemp("outputs"))


def systems(index: wb.Index) -> Mapping[str, Any]:
    """One search in every form."""

    def mappings(query: str, k: int) -> list[dict[str, Any]]:
        return [{"id": hit.doc_id, "text": hit.text} for hit in index.search(query, k)]

    def with_suffix(query: str, top_k: int = 4) -> list[dict[str, Any]]:
        return [{"document_id": f"{hit.doc_id}.md", "content": hit.text, "score": hit.score} for hit in index.search(query, top_k)]

    def texts(query: str, k: int) -> list[str]:
        return [hit.text for hit in index.search(query, k)]

    async def later(query: str, k: int) -> list[wb.Hit]:
        return index.search(query, k)

    def one_by_one(query: str, k: int) -> Iterator[wb.Hit]:
        yield from index.search(query, k)

    def frame(query: str, k: int) -> pd.DataFrame:
        return pd.DataFrame([{"doc_id": hit.doc_id, "start": hit.start, "end": hit.end} for hit in index.search(query, k)])

    class Searcher:
        def search(self, query: str, k: int) -> list[wb.Hit]:
            return index.search(query, k)

    return {
        "index": index,
        "method": index.search,
        "mappings": mappings,
        "suffix": with_suffix,
        "texts": texts,
        "later": later,
        "generator": one_by_one,
        "frame": frame,
        "object": Searcher(),
        "class": Searcher,
        "lambda": lambda query, k: index.search(query, k),
    }


def test_every_form_of_a_system_gets_the_values_of_the_index_from_both_functions(pages: wb.Dataset, index: wb.Index) -> None:
    own = wb.evaluate(index, pages, METRICS)
    assert 0 < own["precision@3"] < 1
    results = wb.compare(systems(index), pages, METRICS)
    compared = results.metrics.query("slice == 'all'").set_index(["configuration", "metric"])["value"]
    for name, system in systems(index).items():
        scores = wb.evaluate(system, pages, METRICS)
        assert [scores[metric] for metric in METRICS] == [own[metric] for metric in METRICS], name
        assert [compared[name, metric] for metric in METRICS] == [own[metric] for metric in METRICS], name


def test_ids_with_and_without_suffix_are_documents_and_have_no_metrics_of_spans_by_default(pages: wb.Dataset, index: wb.Index) -> None:
    def ids(query: str, k: int) -> list[str]:
        return [hit.doc_id + ".md" * (hit.rank % 2) for hit in index.search(query, k)]

    scores = wb.evaluate(ids, pages)
    assert list(scores) == ["recall@5", "precision@5", "mrr@10", "ndcg@10"]
    assert [scores[name] for name in scores] == [wb.evaluate(index, pages)[name] for name in scores]
    assert list(wb.evaluate(index, pages))[:2] == ["span_recall@2000t", "span_precision@2000t"]


def test_a_path_is_that_of_recorded_results_or_of_a_function(
    pages: wb.Dataset, index: wb.Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def documents(query: wb.Query) -> list[str]:
        return list(dict.fromkeys(hit.doc_id for hit in index.search(query.text, 100)))[:10]

    lines = [f"{query.query_id} Q0 {doc} {rank} {-rank} mine" for query in pages.queries for rank, doc in enumerate(documents(query), 1)]
    (tmp_path / "mine.trec").write_text("\n".join(lines))
    found = {query.text: documents(query) for query in pages.queries}
    (tmp_path / "pages_of_mine.py").write_text(f"FOUND = {found!r}\n\ndef search(query, k):\n    return FOUND[query][:k]\n")
    monkeypatch.chdir(tmp_path)
    own = wb.evaluate(index, pages, ["recall@3", "mrr@10"])
    named: list[str | Path] = ["mine.trec", tmp_path / "mine.trec", "pages_of_mine:search"]
    for system in named:
        scores = wb.evaluate(system, pages, ["recall@3", "mrr@10"])
        assert [scores["recall@3"], scores["mrr@10"]] == [own["recall@3"], own["mrr@10"]]
    results = wb.compare({"file": "mine.trec", "function": "pages_of_mine:search"}, pages, "recall@3")
    assert set(results) == {"file", "function"}


def test_a_pipeline_is_indexed_and_scored(pages: wb.Dataset, index: wb.Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert wb.evaluate(index.pipeline, pages, "mrr@10")["mrr@10"] == wb.evaluate(index, pages, "mrr@10")["mrr@10"]


def test_an_index_that_answers_is_scored_on_its_answers(pages: wb.Dataset, tmp_path: Path) -> None:
    pipeline = wb.Pipeline(chunking=wb.WholeChunker(), retrieval=wb.BM25Retriever(), answering=wb.ExtractiveGenerator())
    scores = wb.evaluate(pipeline.index(pages, tmp_path), pages, ["support_overlap", "recall@3"])
    assert scores["recall@3"] == 1
    assert scores["support_overlap"] > 0.9


def test_a_function_is_asked_for_no_more_hits_than_k(pages: wb.Dataset, index: wb.Index) -> None:
    asked: set[int] = set()

    def search(query: str, k: int) -> list[wb.Hit]:
        asked.add(k)
        return index.search(query, k)

    wb.evaluate(search, pages, "recall@3", k=3)
    assert asked == {3}
    wb.evaluate(search, pages, "recall@3")
    assert min(asked - {3}) == 10


def test_what_is_no_system_is_answered_in_one_line(
    pages: wb.Dataset, wording: Callable[..., None], tmp_path: Path, results: wb.Results
) -> None:
    values: dict[str, Any] = {
        "a number": 3,
        "a list": ["sea/anchor"],
        "an address": "https://search.example/v1",
        "a file that is missing": "nowhere.trec",
        "a folder": tmp_path,
        "a function that is missing": "os.path:serch",
        "results": results,
        "the folder of a run": results.folder,
        "a table of rankings": pd.DataFrame({"query_id": ["q1"], "doc_id": ["sea/anchor"]}),
        "a retriever": wb.BM25Retriever(),
    }
    wording(lambda system: wb.evaluate(system, pages, "recall@3"), values)
    with pytest.raises(
        wb.InputError, match=r"systems is the results of the run .*; runs are compared by their configurations: results.compare"
    ):
        wb.compare(results, pages)  # type: ignore[arg-type]  # its fault is the point
