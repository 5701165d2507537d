from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import workbench as wb
from tests.tiny_dataset import write_dataset
from workbench.runner.execution.local import Outcome

CONFIGURATIONS = ("fixed-128-0", "fixed-512-0", "hierarchical-64-256")


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_search_delivers_what_the_sweep_delivers(name: str, indexes: dict[str, wb.Index], outcome: Outcome, part: wb.Dataset) -> None:
    hits = pd.read_parquet(outcome.folder / "hits.parquet").query("configuration == @name and delivered")
    retrieval = wb.DenseRetriever(deliver=wb.tokens(2000))
    delivering = replace(indexes[name], pipeline=replace(indexes[name].pipeline, retrieval=retrieval))
    for query in part.queries[:12]:
        rows = hits[hits["query_id"] == query.query_id]
        found = delivering.search(query.text)
        assert [(hit.doc_id, hit.start, hit.end) for hit in found] == list(
            rows[["doc_id", "start", "kept"]].itertuples(index=False, name=None)
        )
        assert [hit.score for hit in found] == pytest.approx(rows["score"].tolist(), abs=1e-5)
        assert [hit.rank for hit in found] == list(range(1, len(found) + 1))
        texts = {document.doc_id: document.text for document in part.documents}
        assert all(hit.text == texts[hit.doc_id][hit.start : hit.end] for hit in found)


def test_an_index_delivers_k_slices_unless_its_retriever_says_tokens(indexes: dict[str, wb.Index]) -> None:
    index, question = indexes["fixed-128-0"], "how many days of leave are there"
    assert len(index.search(question)) == 10
    delivering = replace(index, pipeline=replace(index.pipeline, retrieval=wb.DenseRetriever(deliver=wb.tokens(100))))
    (cut,) = delivering.search(question)
    (whole,) = delivering.search(question, k=1)
    assert whole == index.search(question)[0]
    assert cut.end < whole.end
    assert whole.text.startswith(cut.text)


def test_fewer_hits_are_the_first_ones_and_parents_occur_once(indexes: dict[str, wb.Index]) -> None:
    index = indexes["hierarchical-64-256"]
    ten = index.search("how many days of leave are there", k=10)
    assert index.search("how many days of leave are there", k=3) == ten[:3]
    assert len({(hit.doc_id, hit.start, hit.end) for hit in ten}) == 10


def test_an_index_that_is_in_the_store_is_not_built_again(indexes: dict[str, wb.Index]) -> None:
    for index in indexes.values():
        assert not any(entry.computed for parts in index.entries.values() for entry in parts.values())


def test_documents_without_questions_are_searched_by_words(tmp_path: Path) -> None:
    documents = [wb.Document("a", "The harbour pilot boards at dawn."), wb.Document("b", "Bread rests in the cellar.")]
    index = wb.Pipeline(chunking=wb.WholeChunker(), retrieval=wb.BM25Retriever()).index(documents, tmp_path)
    assert [hit.doc_id for hit in index.search("bread")] == ["b"]
    assert index.search("nothing of the sort") == []


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: wb.Pipeline(chunking=wb.BM25Retriever()), "chunking is of type BM25Retriever; give a Chunker"),
        (lambda: wb.Pipeline(embedding=wb.SentenceTransformerEmbedder(model="no/such-model")), "no/such-model"),
        (
            lambda: wb.Pipeline(chunking=wb.FixedChunker(size=64, enrich=True), embedding=wb.SentenceTransformerEmbedder(pooling="late")),
            "pooling: late does not",
        ),
        (lambda: wb.Pipeline().index([]), "there are no documents to index"),
    ],
)
def test_a_pipeline_that_cannot_work_is_an_input_error(make, says: str) -> None:
    with pytest.raises(wb.InputError, match=says):
        make()


def test_a_search_without_a_question_or_with_a_wrong_k_is_refused(indexes: dict[str, wb.Index], wording) -> None:
    wording(lambda case: indexes["fixed-128-0"].search(*case), [(" ", None), ("taxi", 0), ("taxi", 1001)])


def test_displays_escape_the_text_of_documents(tmp_path: Path) -> None:
    dataset = wb.load_dataset(write_dataset(tmp_path / "tiny", evidence=True))
    index = wb.Pipeline(chunking=wb.FixedChunker(size=32), retrieval=wb.BM25Retriever()).index(dataset, tmp_path)
    hits = index.search("guest network password")
    chunk = wb.FixedChunker(size=64).split(dataset.documents[0])[0]
    shown = [dataset, dataset.documents[0], chunk, hits, index, index.pipeline, index.pipeline.chunking, wb.recall, wb.recall @ 5]
    for value in shown:
        html = value._repr_html_()
        assert "<script" not in html
        assert "<img" not in html
        assert "<b>" not in html
    assert "guest network" in hits._repr_html_()
    assert "fixed-32-0" in index._repr_html_()
    assert "When are you &lt;b&gt;open" in dataset._repr_html_() or len(dataset.queries) > 5


def test_an_index_is_searched_from_anywhere_and_its_words_are_indexed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [wb.Document(f"d{number}", f"The harbour pilot number {number} boards at dawn.") for number in range(20)]
    monkeypatch.chdir(tmp_path)
    index = wb.Pipeline(chunking=wb.WholeChunker(), retrieval=wb.BM25Retriever()).index(documents, "outputs")
    built: list[int] = []
    make = wb.BM25Retriever.index

    def counted(retriever: wb.BM25Retriever, texts: Sequence[str]) -> object:
        built.append(len(texts))
        return make(retriever, texts)

    monkeypatch.setattr(wb.BM25Retriever, "index", counted)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert [index.search(f"pilot number {number}", k=1)[0].doc_id for number in (13, 17)] == ["d13", "d17"]
    assert built == [20]
    assert not (tmp_path / "elsewhere" / "outputs").exists()
