"""Questions that people add while they label: from a passage or before it, with other people, removed, and in the dataset."""

import json
from dataclasses import replace

import pytest

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.records import Span
from workbench.people.labelling.label_file import LabelFile, added_id


def test_a_question_is_added_with_the_passage_that_answers_it_and_is_in_the_saved_dataset(session, dataset, tmp_path) -> None:
    ann = session()
    # "ough rest for fourt", as a hasty mouse selects it.
    added = ann.add_question("  For how long does dough rest? ", Span("bread", 9, 28))
    assert (ann.query, added.text) == (added, "For how long does dough rest?")
    assert [(mark.span, mark.piece, mark.own) for mark in ann.evidence()] == [(Span("bread", 8, 31), 1, True)]
    assert [action.kind for action in ann.file.actions] == ["question", "span"]
    assert {each.doc_id for each in ann.documents} >= {"bread"}
    assert str(ann.totals()) == "0 of 1 draft reviewed, 0 of 3 other questions finished"
    again = session()
    again.go_to(added.query_id)
    assert again.text == added.text
    applied = wb.apply_labels(dataset, tmp_path / "labels.jsonl")
    wb.save_dataset(applied.dataset, tmp_path / "labelled")
    saved = wb.load_dataset(tmp_path / "labelled")
    query = next(each for each in saved.queries if each.query_id == added.query_id)
    assert (query.text, query.synthetic, query.metadata["provenance"]) == (added.text, False, {"added_by": "ann"})
    assert [need.alternatives for need in saved.needs if need.query_id == query.query_id] == [(Span("bread", 8, 31),)]
    assert [(qrel.doc_id, qrel.relevance) for qrel in saved.qrels if qrel.query_id == query.query_id] == [("bread", 1)]
    # The same file goes on with the saved dataset, whose question it is now.
    later = wb.label(saved, annotator="ann", file=tmp_path / "labels.jsonl").session
    assert [each.query_id for each in later.queue].count(query.query_id) == 1
    later.go_to(query.query_id)
    assert not later.removable


def test_a_question_whose_id_is_taken_gets_another_from_its_text() -> None:
    taken = {text: added_id(text, ()) for text in ("What is open?", "What is shut?")}
    others = {text: added_id(text, taken.values()) for text in taken}
    assert len({*taken.values(), *others.values()}) == 4
    assert others == {text: added_id(text, list(taken.values())) for text in taken}


def test_a_question_is_added_first_and_its_evidence_marked_afterwards(session, dataset, tmp_path) -> None:
    ann = session()
    added = ann.add_question("Which honey is foreign?")
    assert ann.evidence() == []
    assert wb.apply_labels(dataset, tmp_path / "labels.jsonl").left_out[added.query_id].startswith("no document is labelled relevant")
    ann.mark(Span("bees", 9, 32))
    ann.answer("That of others")
    applied = wb.apply_labels(dataset, tmp_path / "labels.jsonl")
    assert applied.dataset.queries[-1] == replace(added, answer="That of others")
    assert added.query_id not in applied.left_out


def test_another_person_sees_it_labels_it_and_adding_it_too_means_the_same(session, dataset, tmp_path) -> None:
    ann, bob = session("ann"), session("bob", "bob.jsonl")
    first = ann.add_question("Which honey is foreign?", Span("bees", 22, 29))
    assert bob.add_question("Which honey is foreign?", Span("bees", 22, 29)).query_id == first.query_id
    also = session("carl")
    also.go_to(first.query_id)
    also.judge("bees", 2)
    applied = wb.apply_labels(dataset, tmp_path / "labels.jsonl", tmp_path / "bob.jsonl")
    query = next(each for each in applied.dataset.queries if each.query_id == first.query_id)
    assert query.metadata["provenance"] == {"added_by": "ann and bob"}
    assert applied.conflicts == ()
    assert applied.notes == ()


def test_a_question_is_removed_or_undone_by_its_author_and_its_labels_are_no_faults(session, dataset, tmp_path) -> None:
    ann, bob = session("ann"), session("bob")
    added = ann.add_question("Which honey is foreign?", Span("bees", 22, 29))
    bob.refresh()
    bob.go_to(added.query_id)
    assert not bob.removable
    with pytest.raises(InputError, match="is not one that bob added"):
        bob.remove_question()
    bob.answer("That of others")
    ann.refresh()
    ann.remove_question()
    assert added.query_id not in {each.query_id for each in ann.queue}
    assert session("bob").faults == ()
    applied = wb.apply_labels(dataset, tmp_path / "labels.jsonl")
    assert (len(applied.dataset.queries) + len(applied.left_out), applied.notes) == (3, ())
    ann.undo()
    ann.go_to(added.query_id)
    assert len(ann.evidence()) == 1
    assert ann.removable
    # Then the mark, then the question itself.
    assert (ann.undo().kind, ann.undo().kind) == ("span", "question")
    assert added.query_id not in {each.query_id for each in ann.queue}


def test_a_question_that_cannot_be_added_is_one_line_and_writes_nothing(session, wording) -> None:
    ann = session()
    cases = {"empty": (" ", None), "known": ("What does the ferry cost?", None), "half": ("a\ud83d", None)}
    cases |= {"outside": ("Who?", Span("bees", 3, 999)), "blank": ("Who?", Span("bees", 4, 5)), "nowhere": ("Who?", Span("beez", 0, 4))}
    wording(lambda case: ann.add_question(*case), cases)
    assert ann.file.actions == []


def test_a_dataset_without_questions_is_labelled_from_its_passages(dataset, tmp_path) -> None:
    (tmp_path / "data" / "documents").mkdir(parents=True)
    (tmp_path / "data" / "questions.jsonl").touch()
    for document in dataset.documents:
        (tmp_path / "data" / "documents" / f"{document.doc_id}.md").write_text(document.text, "utf-8")
    with pytest.raises(wb.DatasetError, match="the dataset has no questions; check the file of questions"):
        wb.load_dataset(tmp_path / "data")
    bare = wb.load_dataset(tmp_path / "data", unlabelled=True)
    session = wb.label(bare, annotator="ann", file=tmp_path / "labels.jsonl").session
    assert session.reason.startswith("there is no question yet")
    with pytest.raises(InputError, match="there is no question yet; add one"):
        session.judge("bread", 2)
    assert session.undo() is None
    session.add_question("How long does dough rest?", Span("bread", 18, 37))
    applied = wb.apply_labels(bare, tmp_path / "labels.jsonl")
    assert [query.text for query in applied.dataset.queries] == ["How long does dough rest?"]
    assert session.undo().kind == "span"
    assert session.undo().kind == "question"
    assert session.query.query_id == ""


def test_a_line_that_adds_no_text_is_skipped(session, tmp_path) -> None:
    session().add_question("Which honey is foreign?")
    path = tmp_path / "labels.jsonl"
    row = json.loads(path.read_text("utf-8").splitlines()[-1])
    with path.open("a") as stream:
        stream.write(json.dumps(row | {"n": 2, "value": " "}) + "\n" + json.dumps(row | {"n": 3, "value": 7}) + "\n")
    assert [str(fault) for fault in LabelFile(path).damaged] == [
        "line 3 adds a question without a text",
        "line 4 has the value 7; question takes a text or null",
    ]


@pytest.mark.parametrize(
    ("text", "selected", "marked"),
    [
        ("The ferry costs nine euros.", "rry costs nine eu", "ferry costs nine euros"),
        ("Pay 1,250.50 kr, don’t wait.", "250.50 kr, don", "1,250.50 kr, don’t"),
        ("Die Straßenbahn hält hier.", "bahn hä", "Straßenbahn hält"),
        ("Le cafe\u0301 ferme.", "cafe", "cafe\u0301"),
        ("图书馆今天九点开门。", "今天九点", "今天九点"),
        ("ร้านปิดวันนี้", "ปิดวัน", "ปิดวัน"),
        ("Bring 🧑‍🚀 along", "🧑", "🧑‍🚀"),
        ("(see § 4)", "see § 4)", "see § 4)"),
    ],
)
def test_a_mark_takes_the_words_that_it_cuts_whole_and_leaves_scripts_without_blanks_exact(tmp_path, text, selected, marked) -> None:
    one = wb.Dataset("one", (wb.Document("d", text),), (wb.Query("q", "What?"),), (), ())
    session = wb.label(one, annotator="ann", file=tmp_path / "labels.jsonl").session
    start = text.index(selected)
    span = session.mark(Span("d", start, start + len(selected)))
    assert text[span.start : span.end] == marked


def test_an_error_that_nobody_expected_is_shown_and_the_label_is_kept(tmp_path) -> None:
    """Half a character, which no file can have, is in no vocabulary."""
    documents = (wb.Document("odd", "Half a character: \ud83d. The kiosk opens at nine."),)
    labeller = wb.label(wb.Dataset("odd", documents, (), (), ()), annotator="ann", file=tmp_path / "labels.jsonl")
    labeller.act({"kind": "ask", "text": "When does the kiosk open?", "evidence": None})
    assert labeller.state["error"]
    assert labeller.state["message"].startswith("Unexpected TypeError: ")
    assert [action.kind for action in LabelFile(tmp_path / "labels.jsonl").actions] == ["question"]
