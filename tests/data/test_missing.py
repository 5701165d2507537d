"""Labels of documents that were deleted from the corpus."""

import json
from pathlib import Path

import pytest

from workbench.core.errors import DatasetError
from workbench.core.files import write_text
from workbench.data.checks import faults, notes
from workbench.data.formats.golden import write_golden
from workbench.data.sources import GoldenSource
from workbench.gate.baseline import baseline_of, differences
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

TEXTS = {"a": "Lamps are switched on at six.", "b": "Doors are locked at nine.", "c": "Rain is measured daily."}
DELETED = "b"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data" / "documents").mkdir(parents=True)
    rows = []
    for number, (doc_id, text) in enumerate(TEXTS.items()):
        (tmp_path / "data" / "documents" / f"{doc_id}.md").write_text(text)
        evidence = [[{"doc_id": doc_id, "start": 0, "end": len(text), "text": text}]]
        rows.append({"query_id": f"q{number}", "query": text.replace(".", "?"), "relevant_doc_ids": [doc_id], "evidence": evidence})
    write_text(tmp_path / "data" / "questions.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "data"


def delete(data: Path, *doc_ids: str) -> None:
    for doc_id in doc_ids:
        (data / "documents" / f"{doc_id}.md").unlink()


def swept(data: Path) -> Outcome:
    settings = {
        "name": "small",
        "dataset": {"kind": "golden", "path": str(data), "missing_documents": "keep"},
        "pipeline": {"chunking": {"kind": "fixed", "size": 16, "overlap": 0}, "retrieval": {"kind": "bm25", "k": 5}},
        "metrics": ["recall@3", "span_recall@60t", "ndcg@3"],
    }
    outcome = run_experiment(experiment_of(settings, "here"), data.parent / "outputs", lambda _: None)
    write_outputs(outcome)
    return outcome


def test_labels_of_a_deleted_document_are_faults_unless_they_are_kept(data: Path):
    delete(data, DELETED)
    with pytest.raises(DatasetError, match="this document does not exist"):
        GoldenSource(path=str(data)).load()
    kept = GoldenSource(path=str(data), missing_documents="keep").load()
    assert [document.doc_id for document in kept.corpus] == ["a", "c"]
    assert [(document.doc_id, document.text) for document in kept.documents if document.missing] == [("b", TEXTS["b"])]
    assert "2 documents" in repr(kept)


def test_the_check_names_deleted_documents_and_probable_misspellings(data: Path):
    write_text(data / "questions.jsonl", (data / "questions.jsonl").read_text().replace('"b"', '"A.md"'))
    draft = GoldenSource(path=str(data), missing_documents="keep").read()
    assert faults(draft) == []
    (note,) = notes(draft)
    assert note == "labels name 1 document that the corpus does not have, which can never be found: 'A.md' (did you mean 'a'?)"


def test_a_corpus_without_any_document_stays_a_fault(data: Path):
    delete(data, *TEXTS)
    write_text(data / "documents" / "d.txt", " ")
    with pytest.raises(DatasetError):
        GoldenSource(path=str(data), missing_documents="keep").load()


@pytest.mark.parametrize(("start", "end"), [(18, 20), (40, 41), (37, 39)])
def test_evidence_without_its_text_is_never_blank(data: Path, start: int, end: int):
    delete(data, DELETED)
    rows = [json.loads(line) for line in (data / "questions.jsonl").read_text().splitlines()]
    rows[1]["evidence"] = [[{"doc_id": DELETED, "start": start, "end": end}]]
    write_text(data / "questions.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    (missing,) = [each for each in GoldenSource(path=str(data), missing_documents="keep").load().documents if each.missing]
    assert len(missing.text) == end
    assert missing.text.split() == [missing.text]


@pytest.mark.parametrize(("start", "end"), [(-5, 4), (0, 10**15), (9, 2)])
def test_wrong_positions_in_a_deleted_document_are_faults(data: Path, start: int, end: int):
    delete(data, DELETED)
    rows = [json.loads(line) for line in (data / "questions.jsonl").read_text().splitlines()]
    rows[1]["evidence"] = [[{"doc_id": DELETED, "start": start, "end": end}]]
    write_text(data / "questions.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DatasetError, match="evidence of question 'q1'"):
        GoldenSource(path=str(data), missing_documents="keep").load()


def test_an_import_writes_no_deleted_document_and_can_be_read_again(data: Path, tmp_path: Path):
    delete(data, DELETED)
    kept = GoldenSource(path=str(data), missing_documents="keep").load()
    write_golden(kept, tmp_path / "copy")
    assert '"b"' not in (tmp_path / "copy" / "documents.jsonl").read_text()
    again = GoldenSource(path=str(tmp_path / "copy"), missing_documents="keep").load()
    assert (again.qrels, again.needs, len(again.corpus)) == (kept.qrels, kept.needs, 2)


def test_a_deleted_document_counts_as_missed_and_its_question_stays_the_same(data: Path):
    before = RunTables.read(swept(data).folder)
    baseline = baseline_of([before], before.names[0])
    delete(data, DELETED)
    after = RunTables.read(swept(data).folder)
    values = after.queries.set_index(["metric", "query_id"])["value"]
    assert [values["recall@3", name] for name in ("q0", "q1", "q2")] == [1, 0, 1]
    assert [values["span_recall@60t", name] for name in ("q0", "q1", "q2")] == [1, 0, 1]
    found = differences(after, after.names[0], baseline)
    assert (found.questions, found.labels, found.removed, found.added, found.changed) == ((), (), (DELETED,), (), ())
    assert found.corpus
    assert after.documents["doc_id"].tolist() == ["a", "c"]
    assert (after.dataset["documents"], after.dataset["missing"]) == (2, 1)
    assert set(after.causes["cause"]) == {"not_indexed"}
    left_out = after.chunk_faults[after.chunk_faults["fault"] == "text in no chunk"]
    assert left_out["found"].tolist() == [0]


def test_relevant_chunks_that_name_a_deleted_document_stay_labels_of_their_question(data: Path):
    rows = [json.loads(line) for line in (data / "questions.jsonl").read_text().splitlines()]
    for row in rows:
        doc_id = row.pop("relevant_doc_ids")[0]
        del row["evidence"]
        row["relevant_chunks"] = [{"doc_id": doc_id, "text": TEXTS[doc_id][:12]}]
    write_text(data / "questions.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    before = RunTables.read(swept(data).folder)
    baseline = baseline_of([before], before.names[0])
    delete(data, DELETED)
    after = RunTables.read(swept(data).folder)
    found = differences(after, after.names[0], baseline)
    assert (found.questions, found.labels, found.removed) == ((), (), (DELETED,))
    values = after.queries.set_index(["metric", "query_id"])["value"]
    assert [values["recall@3", name] for name in ("q0", "q1", "q2")] == [1, 0, 1]
