"""The labeller without a browser: what it draws, and what the messages of its view do."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.api.widgets.labeller.widget import PART, Labeller
from workbench.people.labelling.pooling import LabelPool
from workbench.people.labelling.session import LabellingSession

HOSTILE = "<script>alert(1)</script> 🚢"


@pytest.fixture
def dataset(tmp_path: Path) -> wb.Dataset:
    documents = {"ferry": f"The ferry costs nine euros. {HOSTILE}", "bread": "Let the dough rest.", "long": "ferry " * 30_000}
    (tmp_path / "data").mkdir()
    lines = [json.dumps({"doc_id": doc_id, "title": HOSTILE, "text": text}) for doc_id, text in documents.items()]
    (tmp_path / "data" / "documents.jsonl").write_text("\n".join(lines))
    rows = [
        {"query_id": "q1", "query": f"What does the ferry cost? {HOSTILE}", "synthetic": True},
        {"query_id": "q2", "query": "How long does dough rest?"},
    ]
    (tmp_path / "data" / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return wb.load_dataset(tmp_path / "data", unlabelled=True)


@pytest.fixture
def labeller(dataset: wb.Dataset, tmp_path: Path):
    return wb.label(dataset, annotator="ann", file=tmp_path / "labels.jsonl")


def drawn(labeller, doc_id: str) -> str:
    return next(each["label"] for each in labeller.state["documents"] if each["doc_id"] == doc_id)


def test_a_judgement_is_drawn_and_a_document_that_is_not_relevant_gives_way_to_the_next(labeller) -> None:
    first, second = (each["doc_id"] for each in labeller.state["documents"][:2])
    labeller.act({"kind": "show", "doc_id": first})
    labeller.act({"kind": "judge", "doc_id": first, "grade": 2})
    assert (drawn(labeller, first), labeller.state["current"], labeller.state["grade"]) == ("relevant", first, 2)
    labeller.act({"kind": "judge", "doc_id": first, "grade": 0})
    assert (drawn(labeller, first), labeller.state["current"]) == ("not relevant", second)
    assert labeller.state["message"] == "Saved: 1 label of ann."


def test_a_mark_is_drawn_in_the_text_and_in_the_list(labeller) -> None:
    labeller.act({"kind": "show", "doc_id": "ferry"})
    labeller.act({"kind": "mark", "start": 4, "end": 16, "piece": None})
    (mark,) = labeller.state["pieces"][0]["marks"]
    assert mark == {"start": 4, "end": 15, "piece": 1, "own": True}
    assert labeller.state["evidence"] == [mark | {"doc_id": "ferry", "text": "ferry costs"}]
    assert labeller.state["message"] == 'Marked "ferry costs", characters 4 to 15. Saved: 1 label of ann.'
    labeller.act({"kind": "mark", "start": 20, "end": 26, "piece": 1})
    assert labeller.state["numbers"] == [1]
    labeller.act({"kind": "unmark", "doc_id": "ferry", "start": 4, "end": 15})
    assert [each["start"] for each in labeller.state["evidence"]] == [21]


def test_a_synthetic_question_is_accepted_and_an_answer_written(labeller) -> None:
    labeller.act({"kind": "go", "place": 0})
    assert labeller.state["synthetic"] == {
        "text": "The question is a draft; nobody has accepted it.",
        "decision": None,
        "placeholder": False,
    }
    labeller.act({"kind": "accept", "value": False})
    assert labeller.state["synthetic"]["decision"] is False
    labeller.act({"kind": "answer", "text": " Nine euros "})
    assert (labeller.state["answer"], labeller.state["answer_note"]) == ("Nine euros", "your label")
    labeller.act({"kind": "answerable", "value": False})
    assert labeller.state["answerable"] is False
    labeller.act({"kind": "next"})
    assert labeller.state["synthetic"] is None
    labeller.act({"kind": "undo"})
    assert (labeller.state["query_id"], labeller.state["answerable"]) == ("q1", True)
    assert labeller.state["message"] == "Undone: answerable of question q1. Saved: 2 labels of ann."


def test_a_question_is_rewritten_restored_and_undone_and_an_error_is_drawn(labeller, dataset, tmp_path: Path) -> None:
    labeller.act({"kind": "go", "place": 0})
    before = labeller.state["question"]
    labeller.act({"kind": "rewrite", "text": " "})
    assert (labeller.state["message"], labeller.state["error"]) == ("Not saved: the question is empty; write it, or refuse it", True)
    labeller.act({"kind": "rewrite", "text": f"How dear is the ferry? {HOSTILE}"})
    assert (labeller.state["question"], labeller.state["original"]) == (f"How dear is the ferry? {HOSTILE}", before)
    assert labeller.state["synthetic"]["decision"] is True
    assert labeller.state["message"] == "Saved: 1 label of ann."
    again = wb.label(dataset, annotator="ann", file=tmp_path / "labels.jsonl")
    again.act({"kind": "go", "place": 0})
    assert again.state["question"] == f"How dear is the ferry? {HOSTILE}"
    again.act({"kind": "rewrite", "text": None})
    assert (again.state["question"], again.state["original"]) == (before, "")
    again.act({"kind": "undo"})
    assert again.state["original"] == before


def test_the_state_says_who_drafted_a_question_and_counts_drafts_apart(tmp_path: Path) -> None:
    (tmp_path / "documents").mkdir()
    for name in ("ferry", "ferries", "boats"):
        (tmp_path / "documents" / f"{name}.md").write_text(f"The ferry of {name} costs nine euros.")
    rows = [
        {
            "query_id": name,
            "query": f"What does the ferry of {name} cost?",
            "relevant_doc_ids": [name],
            "synthetic": True,
            "provenance": provenance,
        }
        for name, provenance in (("ferry", {"model": "qwen3-4b"}), ("boats", {"part": "answer", "model": "qwen3:4b"}))
    ]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    labeller = wb.label(wb.load_dataset(tmp_path), annotator="ann", file=tmp_path / "labels.jsonl")
    assert labeller.state["reason"] == "it is a draft (qwen3-4b) that nobody has accepted"
    assert labeller.state["synthetic"]["text"] == "The question is a draft (qwen3-4b); nobody has accepted it."
    assert labeller.state["progress"] == "0 of 2 drafts reviewed; this one is to review, 1 of 3 documents judged (optional)"
    assert labeller.state["current"] == labeller.state["documents"][0]["doc_id"] == "ferry"
    labeller.act({"kind": "accept", "value": True})
    assert labeller.state["progress"] == "1 of 2 drafts reviewed; this one is accepted, 1 of 3 documents judged (optional)"
    assert labeller.state["reason"] == "you have reviewed it; nothing has to be labelled"
    labeller.act({"kind": "undo"})
    assert labeller.state["reason"] == "it is a draft (qwen3-4b) that nobody has accepted"
    labeller.act({"kind": "accept", "value": True})
    assert "1 of 2 drafts reviewed by ann" in labeller._repr_html_()
    assert labeller.state["synthetic"]["text"] == "The question is a draft (qwen3-4b); you have accepted it."
    labeller.act({"kind": "open"})
    assert labeller.state["synthetic"]["text"] == "The answer is a draft (qwen3:4b); nobody has accepted it."
    labeller.act({"kind": "accept", "value": False})
    assert labeller.state["progress"].startswith("2 of 2 drafts reviewed; this one is refused, ")


def test_a_judgement_of_the_dataset_is_confirmed_by_the_first_press_and_its_own_removed_by_the_second(
    handbook_few: Path, tmp_path: Path
) -> None:
    dataset = wb.load_dataset(handbook_few)
    labeller = wb.label(dataset, annotator="ann", file=tmp_path / "labels.jsonl")
    qrel = next(qrel for qrel in dataset.qrels if qrel.relevance > 0)
    labeller.session.go_to(qrel.query_id)
    labeller.act({"kind": "show", "doc_id": qrel.doc_id})
    assert (drawn(labeller, qrel.doc_id), labeller.state["grade"]) == ("in the dataset: relevant", None)
    labeller.act({"kind": "judge", "doc_id": qrel.doc_id, "grade": 2})
    assert (drawn(labeller, qrel.doc_id), labeller.state["grade"]) == ("relevant, confirmed", 2)
    assert labeller.labels["value"].tolist() == [2]
    labeller.act({"kind": "judge", "doc_id": qrel.doc_id, "grade": 1})
    assert drawn(labeller, qrel.doc_id) == "partly relevant (in the dataset: relevant)"
    labeller.act({"kind": "judge", "doc_id": qrel.doc_id, "grade": None})
    assert labeller.state["message"] == "Judgement removed. Saved: 0 labels of ann."


def test_the_same_state_twice_is_sent_twice_so_that_the_view_does_not_wait(labeller) -> None:
    labeller.act({"kind": "undo"})
    first = labeller.state
    labeller.act({"kind": "undo"})
    assert labeller.state["message"] == first["message"] == "There is nothing to undo."
    assert labeller.state != first


def test_an_answer_of_the_run_is_accepted_with_its_configuration(labeller) -> None:
    session = labeller.session
    pool = LabelPool(session.task.pool.documents, {"q1": (("Nine euros.", ("fixed", "whole")),)})
    labeller = Labeller(LabellingSession(replace(session.task, pool=pool), session.checker, session.file, "ann"))
    labeller.act({"kind": "go", "place": 0})
    assert labeller.state["answers"] == ["Nine euros."]
    labeller.act({"kind": "take", "number": 0})
    assert labeller.state["answer_note"] == "your label, accepted from the run"
    assert labeller.session.file.actions[-1].source == "fixed, whole"


def test_an_error_is_shown_and_nothing_is_written(labeller) -> None:
    labeller.act({"kind": "show", "doc_id": "ferry"})
    labeller.act({"kind": "mark", "start": 4, "end": 999, "piece": None})
    assert labeller.state["error"]
    assert labeller.state["message"].startswith("Not saved: [4, 999) is not in document 'ferry'")
    assert labeller.labels.empty
    labeller.act({"kind": "open"})
    assert not labeller.state["error"]


def test_an_answer_that_no_file_can_keep_is_said(labeller) -> None:
    labeller.act({"kind": "answer", "text": "a\ud83d"})
    assert labeller.state["error"]
    assert labeller.state["message"].startswith("Not saved: the label has half of a character")
    assert labeller.labels.empty


def test_a_file_that_vanishes_is_said_and_the_label_is_not_shown_as_saved(labeller, tmp_path: Path) -> None:
    doc_id = labeller.state["current"]
    (tmp_path / "labels.jsonl").unlink()
    labeller.act({"kind": "judge", "doc_id": doc_id, "grade": 2})
    assert labeller.state["message"].startswith("Not saved: ")
    assert labeller.state["grade"] is None


def test_every_document_is_reachable_by_its_name_or_its_words(labeller) -> None:
    labeller.act({"kind": "find", "text": "DOUGH rest"})
    assert [each["doc_id"] for each in labeller.state["found"]] == ["bread"]
    labeller.act({"kind": "find", "text": "bread"})
    labeller.act({"kind": "go", "place": 0})
    labeller.act({"kind": "show", "doc_id": "bread"})
    assert labeller.state["current"] == "bread"
    assert "bread" in [each["doc_id"] for each in labeller.state["documents"]]
    labeller.act({"kind": "find", "text": "nowhere"})
    assert (labeller.state["found"], labeller.state["message"]) == ([], "0 documents found.")


def test_a_long_document_is_drawn_in_parts(labeller) -> None:
    labeller.act({"kind": "go", "place": 0})
    labeller.act({"kind": "show", "doc_id": "long"})
    assert sum(len(piece["text"]) for piece in labeller.state["pieces"]) < 180_000
    labeller.act({"kind": "whole", "on": True})
    assert (labeller.state["parts"], len(labeller.state["pieces"][0]["text"])) == (5, PART)
    labeller.act({"kind": "part", "part": 4})
    assert labeller.state["pieces"][0]["start"] == 4 * PART
    labeller.act({"kind": "part", "part": 99})
    assert labeller.state["part"] == 4


def test_the_table_that_a_saved_notebook_keeps_is_escaped(labeller) -> None:
    labeller.act({"kind": "go", "place": 0})
    labeller.act({"kind": "answer", "text": HOSTILE})
    html = labeller._repr_html_()
    assert "1 label in " in html
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert repr(labeller).endswith("1 label of ann)")


def test_another_persons_labels_are_in_the_table_and_not_in_the_view(labeller, dataset, tmp_path: Path) -> None:
    bob = wb.label(dataset, annotator="bob", file=tmp_path / "labels.jsonl")
    doc_id = bob.state["current"]
    bob.act({"kind": "judge", "doc_id": doc_id, "grade": 2})
    labeller.act({"kind": "go", "place": 0})
    assert drawn(labeller, doc_id) == ""
    assert labeller.labels["annotator"].tolist() == ["bob"]
