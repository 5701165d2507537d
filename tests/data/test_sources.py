import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from workbench.cli.dataset import KINDS
from workbench.core.errors import InputError
from workbench.data.sources import SOURCES, BeirSource, GoldenSource, ListSource, NfcorpusSource, TableSource, TrecSource, recognise


def test_the_table_names_every_source_by_its_kind() -> None:
    assert {kind: source.model_fields["kind"].default for kind, source in SOURCES.items()} == {kind: kind for kind in SOURCES}
    assert set(SOURCES) == {"golden", "list", "beir", "nfcorpus", "trec", "table", "huggingface"} == set(KINDS)


def test_a_source_refuses_a_field_it_does_not_have() -> None:
    with pytest.raises(InputError, match="has no parameter"):
        BeirSource(path="x", spilt="test")  # type: ignore[call-arg]  # wrong on purpose
    with pytest.raises(ValidationError, match="frozen"):
        GoldenSource(path="x").path = "y"  # type: ignore[misc]  # wrong on purpose


def test_a_path_is_recognised_by_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("beir/corpus.jsonl", "trec/topics.tsv", "table/questions.parquet", "golden/questions.jsonl", "list.json", "asked.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    assert recognise("$WORKBENCH_DATA/beir", "dev") == BeirSource(path="$WORKBENCH_DATA/beir", split="dev")

    def found(name: str, **given: str) -> object:
        return recognise(str(tmp_path / name), None, **given)

    assert found("list.json", documents="d") == GoldenSource(path=str(tmp_path / "list.json"), documents="d")
    assert found("golden") == GoldenSource(path=str(tmp_path / "golden"))
    assert found("trec", qrels="q") == TrecSource(path=str(tmp_path / "trec"), qrels="q")
    assert found("trec/topics.tsv") == TrecSource(path=str(tmp_path / "trec/topics.tsv"))
    assert found("table") == TableSource(path=str(tmp_path / "table"))
    assert found("asked.csv", documents="d") == TableSource(path=str(tmp_path / "asked.csv"), documents="d")
    assert found("list.json", documents="d", kind="list") == ListSource(path=str(tmp_path / "list.json"), documents="d")


def test_a_folder_that_is_almost_of_a_kind_says_what_it_lacks(tmp_path: Path, wording) -> None:
    cases = [
        ("golden", "documents/d.md", "queries.jsonl"),
        ("golden", "corpus.jsonl", "questions.jsonl"),
        ("beir", "corpus.json", "queries.jsonl", "qrels/test.tsv"),
        ("trec", "documents/d.md", "topics.tsv"),
        ("beir", "corpus.jsonl", "queries.jsonl", "qrels/test.csv"),
        ("golden", "documents", "questions.jsonl"),
    ]

    def read(case: tuple[str, ...]) -> None:
        kind, *names = case
        folder = tmp_path / str(cases.index(case))
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        source = recognise(str(folder), None)
        assert source.kind == kind
        source.read()

    wording(read, cases)


def test_a_file_for_a_folder_and_the_reverse_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "d.md").write_text("Ada")
    (tmp_path / "questions.jsonl").write_text('{"query": "?", "relevant_doc_ids": ["d"]}')
    with pytest.raises(InputError, match=r"is a list of questions without documents; give .*/documents as .* or the folder"):
        recognise(str(tmp_path / "questions.jsonl"), None).read()
    with pytest.raises(InputError, match=r"documents has no documents, but .* has; give that folder"):
        recognise(str(tmp_path / "documents"), None).read()
    with pytest.raises(InputError, match=r"d\.md is a \.md; give a folder, or questions as JSON"):
        recognise(str(tmp_path / "documents" / "d.md"), None).read()
    lines = recognise(str(tmp_path / "questions.jsonl"), None, documents=str(tmp_path / "documents")).load()
    assert lines == GoldenSource(path=str(tmp_path / "questions.jsonl"), documents=str(tmp_path / "documents")).load()
    assert lines.queries[0].text == "?"


def test_what_a_kind_does_not_take_or_lacks_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the dataset .*/nowhere does not exist"):
        recognise(str(tmp_path / "nowhere"), None)
    with pytest.raises(InputError, match="a dataset of the kind 'golden' has no use for --qrels; kinds are golden, list"):
        recognise(str(tmp_path), None, qrels="q")
    with pytest.raises(InputError, match="a dataset of the kind 'list' needs --documents"):
        recognise(str(tmp_path), None, kind="list")


def test_the_home_folder_and_the_data_folder_may_stand_in_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "golden.json").write_text(
        json.dumps({"documents": [{"doc_id": "d", "text": "x"}], "questions": [{"query": "?", "relevant_doc_ids": ["d"]}]})
    )
    monkeypatch.setenv("HOME", str(tmp_path))
    assert len(GoldenSource(path="~/golden.json").load().documents) == 1
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    assert len(GoldenSource(path="${WORKBENCH_DATA}/golden.json").load().documents) == 1


def test_the_five_named_queries_of_nfcorpus_have_their_published_relevant_documents(big_data: Callable[[str], Path]) -> None:
    dataset = NfcorpusSource(path=str(big_data("nfcorpus")), subset="five").load()
    relevant = {query.query_id: sum(qrel.query_id == query.query_id for qrel in dataset.qrels) for query in dataset.queries}
    assert relevant == {"PLAIN-2630": 21, "PLAIN-2660": 20, "PLAIN-2510": 16, "PLAIN-2430": 15, "PLAIN-2690": 14}
    assert {qrel.relevance for qrel in dataset.qrels} == {2}
    assert len(dataset.documents) == 3633


@pytest.mark.parametrize(("split", "queries", "judgements"), [("test", 323, 12_334), ("dev", 324, 11_385)])
def test_nfcorpus_has_its_published_counts(big_data: Callable[[str], Path], split: str, queries: int, judgements: int) -> None:
    dataset = NfcorpusSource(path=str(big_data("nfcorpus")), split=split).load()
    assert (len(dataset.documents), len(dataset.queries), len(dataset.qrels)) == (3_633, queries, judgements)


@pytest.mark.parametrize("kind", SOURCES)
def test_a_source_of_any_kind_says_in_one_line_what_is_not_there(kind: str, tmp_path: Path) -> None:
    settings = {name: str(tmp_path / "absent") for name in ("path", "documents") if name in SOURCES[kind].model_fields}
    with pytest.raises(InputError, match="absent") as caught:
        SOURCES[kind].model_validate(settings).load()
    assert len(caught.value.lines) == 1
