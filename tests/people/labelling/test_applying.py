"""A dataset made of labels: what is applied, what is left open, and that every reader accepts the result."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Need, Qrel, Query, Span
from workbench.people.labelling.applying import apply_to
from workbench.people.labelling.checking import read_label_files


def grades(dataset: Dataset) -> dict[tuple[str, str], int]:
    return {(qrel.query_id, qrel.doc_id): qrel.relevance for qrel in dataset.qrels}


def label_q2(session, annotator: str, **values: int) -> None:
    person = session(annotator)
    person.go_to("q2")
    for doc_id, grade in values.items():
        person.judge(doc_id, grade)


def test_labels_of_one_person_are_in_the_dataset_and_the_source_stays(session, labels, dataset) -> None:
    before = repr(dataset.qrels)
    ann = session()
    ann.judge("bread", 2)
    ann.judge("bees", -1)
    ann.judge("old", 0)
    ann.mark(Span("bread", 0, 13))
    ann.answer("Fourteen hours")
    ann.go_to("q3")
    ann.accept(True)
    applied = apply_to(dataset, labels())
    made = applied.dataset
    assert (applied.conflicts, applied.left_out, applied.notes) == ((), {}, ())
    assert grades(made) == {("q1", "ferry"): 1, ("q3", "bees"): 1, ("q2", "bread"): 1, ("q2", "bees"): -1, ("q2", "old"): 0}
    assert made.needs == (Need("q1", (Span("ferry", 2, 29),)), Need("q2", (Span("bread", 0, 13),)))
    assert [query.answer for query in made.queries] == ["", "Fourteen hours", "Foreign honey."]
    assert made.queries[2].accepted_by == "ann"
    assert repr(dataset.qrels) == before


def test_a_partly_relevant_document_makes_a_binary_dataset_graded(session, labels, dataset) -> None:
    label_q2(session, "ann", bread=2, bees=1)
    applied = apply_to(dataset, labels())
    assert grades(applied.dataset) == {("q1", "ferry"): 2, ("q3", "bees"): 2, ("q2", "bread"): 2, ("q2", "bees"): 1}
    assert applied.notes == ("a label says partly relevant, so relevant documents of sea have grade 2 in place of 1",)


def test_a_graded_dataset_keeps_its_grades(session, labels, dataset) -> None:
    graded = replace(dataset, qrels=(Qrel("q1", "ferry", 3), Qrel("q3", "bees", 1)))
    label_q2(session, "ann", bread=2, bees=1)
    assert grades(apply_to(graded, labels()).dataset) == {("q1", "ferry"): 3, ("q3", "bees"): 1, ("q2", "bread"): 2, ("q2", "bees"): 1}


def test_people_who_disagree_leave_a_document_unjudged_and_the_conflict_is_listed(session, labels, dataset) -> None:
    label_q2(session, "ann", bread=2, bees=0)
    label_q2(session, "bob", bread=2, bees=2)
    applied = apply_to(dataset, labels())
    assert ("q2", "bees") not in grades(applied.dataset)
    assert [str(conflict) for conflict in applied.conflicts] == ["question q2, document bees: ann: not relevant; bob: relevant"]
    label_q2(session, "cyd", bees=2)
    majority = apply_to(dataset, labels())
    assert (grades(majority.dataset)["q2", "bees"], majority.conflicts) == (1, ())
    adjudicated = apply_to(dataset, labels(), adjudicator="ann")
    assert (grades(adjudicated.dataset)["q2", "bees"], adjudicated.conflicts) == (0, ())


def test_an_adjudicator_must_have_labelled_something(session, labels, dataset) -> None:
    label_q2(session, "ann", bread=2)
    with pytest.raises(InputError, match=r"the adjudicator 'anne' has labelled nothing \(did you mean 'ann'\?\)"):
        apply_to(dataset, labels(), adjudicator="anne")


def test_a_question_that_is_refused_or_has_no_relevant_document_is_left_out(session, labels, dataset) -> None:
    ann = session()
    ann.go_to("q3")
    ann.accept(False)
    applied = apply_to(dataset, labels())
    assert [query.query_id for query in applied.dataset.queries] == ["q1"]
    assert applied.left_out == {"q2": "no document is labelled relevant; label one, or mark it as unanswerable", "q3": "refused by ann"}
    assert all(text in applied._repr_html_() for text in ("How long does dough rest?", "Which honey is bad?"))
    ann.go_to("q2")
    ann.set_answerable(False)
    made = apply_to(dataset, labels()).dataset
    assert [(query.query_id, query.answerable) for query in made.queries] == [("q1", True), ("q2", False)]
    ann.go_to("q1")
    ann.set_answerable(False)
    assert apply_to(dataset, labels()).left_out["q1"] == "marked as unanswerable, but a document is labelled relevant"


def rewrite_q3(session, annotator: str, text: str | None) -> None:
    """Rewrite the draft as this person, or with None accept it as it is."""
    person = session(annotator)
    person.go_to("q3")
    person.accept(True) if text is None else person.rewrite(text)


def draft(dataset: Dataset) -> tuple[str, str, object]:
    (query,) = [query for query in dataset.queries if query.query_id == "q3"]
    return query.text, query.accepted_by, query.metadata.get("provenance")


def test_the_newest_rewrite_is_in_the_dataset_accepted_by_its_author_and_the_source_stays(session, labels, dataset) -> None:
    rewrite_q3(session, "ann", "Which honey harms bees?")
    rewrite_q3(session, "ann", "Which honey must bees not get?")
    applied = apply_to(dataset, labels())
    assert applied.conflicts == ()
    assert draft(applied.dataset) == ("Which honey must bees not get?", "ann", {"rewritten_by": "ann"})
    assert draft(dataset) == ("Which honey is bad?", "", None)
    person = session("ann")
    person.go_to("q1")
    person.rewrite("How much is the ferry?")
    made = apply_to(dataset, labels()).dataset
    assert (made.queries[0].text, made.queries[0].accepted_by) == ("How much is the ferry?", "")


def test_the_last_decision_holds_if_the_clock_went_back_by_a_day(session, labels, dataset, checker, tmp_path) -> None:
    rewrite_q3(session, "ann", "Which honey harms bees?")
    person = session("ann")
    person.go_to("q3")
    person.accept(False)
    path = tmp_path / "labels.jsonl"
    *lines, last = path.read_text("utf-8").splitlines()
    row = json.loads(last)
    row["at"] = (datetime.fromisoformat(row["at"]) - timedelta(days=1)).isoformat(timespec="milliseconds")
    path.write_text("\n".join([*lines, json.dumps(row)]) + "\n", "utf-8")
    for read in (labels(), read_label_files(checker, [path])[0]):
        assert apply_to(dataset, read).left_out["q3"] == "refused by ann"


def test_different_texts_of_two_people_leave_a_draft_as_it_is_and_the_conflict_is_listed(session, labels, dataset) -> None:
    rewrite_q3(session, "ann", "Which honey harms bees?")
    rewrite_q3(session, "bob", "Is honey from elsewhere bad?")
    applied = apply_to(dataset, labels())
    assert draft(applied.dataset) == ("Which honey is bad?", "", None)
    (conflict,) = applied.conflicts
    assert str(conflict) == "question q3, rewrite: ann: 'Which honey harms bees?'; bob: 'Is honey from elsewhere bad?'"
    adjudicated = apply_to(dataset, labels(), adjudicator="bob")
    assert (*draft(adjudicated.dataset), adjudicated.conflicts) == ("Is honey from elsewhere bad?", "bob", {"rewritten_by": "bob"}, ())
    rewrite_q3(session, "cyd", "Which honey harms bees?")
    assert draft(apply_to(dataset, labels()).dataset) == ("Which honey harms bees?", "ann, cyd", {"rewritten_by": "ann, cyd"})


def test_who_accepts_a_draft_as_it_is_speaks_for_its_text(session, labels, dataset) -> None:
    rewrite_q3(session, "ann", "Which honey harms bees?")
    rewrite_q3(session, "bob", None)
    applied = apply_to(dataset, labels())
    assert draft(applied.dataset) == ("Which honey is bad?", "", None)
    assert [conflict.about for conflict in applied.conflicts] == ["rewrite"]
    rewrite_q3(session, "cyd", None)
    assert draft(apply_to(dataset, labels()).dataset) == ("Which honey is bad?", "bob, cyd", None)


def test_a_refusal_that_holds_leaves_out_a_draft_whoever_rewrote_it(session, labels, dataset) -> None:
    rewrite_q3(session, "ann", "Which honey harms bees?")
    bob = session("bob")
    bob.go_to("q3")
    bob.accept(False)
    applied = apply_to(dataset, labels())
    assert [(conflict.about, conflict.labels) for conflict in applied.conflicts] == [("acceptance", "ann: accepted; bob: refused")]
    assert draft(applied.dataset)[1] == ""
    assert apply_to(dataset, labels(), adjudicator="bob").left_out["q3"] == "refused by bob"


def test_alternatives_join_a_piece_and_a_removed_span_is_gone(session, labels, dataset) -> None:
    ann = session()
    ann.go_to("q1")
    ann.mark(Span("old", 0, 13), 1)
    ann.mark(Span("ferry", 30, 49))
    made = apply_to(dataset, labels()).dataset
    assert made.needs == (Need("q1", (Span("ferry", 2, 29), Span("old", 0, 13))), Need("q1", (Span("ferry", 30, 49),)))
    assert grades(made)["q1", "old"] == 1
    label_q2(session, "ann", bread=2)
    ann.go_to("q1")
    ann.unmark(Span("ferry", 2, 29))
    ann.unmark(Span("ferry", 30, 49))
    assert apply_to(dataset, labels()).dataset.needs == (Need("q1", (Span("old", 0, 13),)),)


def test_marks_of_two_people_that_overlap_by_half_are_one_and_the_longer_holds(session, labels, dataset) -> None:
    label_q2(session, "ann", bread=2)
    for name, span in (("ann", Span("bread", 0, 22)), ("bob", Span("bread", 8, 38))):
        person = session(name)
        person.go_to("q2")
        person.mark(span)
    ann = session("ann")
    ann.go_to("q2")
    ann.mark(Span("bees", 0, 4))
    applied = apply_to(dataset, labels())
    assert [need for need in applied.dataset.needs if need.query_id == "q2"] == [Need("q2", (Span("bread", 8, 38),))]
    assert [str(conflict) for conflict in applied.conflicts] == ["question q2, evidence bees:0-4: ann: marked; bob: not marked"]
    whole = [need for need in apply_to(dataset, labels(), adjudicator="ann").dataset.needs if need.query_id == "q2"]
    assert whole == [Need("q2", (Span("bread", 0, 22),)), Need("q2", (Span("bees", 0, 4),))]


def test_evidence_in_a_document_labelled_not_relevant_is_left_out_and_named(session, labels, dataset) -> None:
    ann = session()
    ann.go_to("q1")
    ann.judge("ferry", 0)
    ann.judge("old", 2)
    applied = apply_to(dataset, labels())
    assert applied.dataset.needs == ()
    assert "1 relevant document of sea is labelled not relevant" in applied.notes
    assert "evidence ferry:2-29 of question q1 is in a document labelled not relevant, and left out" in applied.notes


def test_only_a_relevant_document_that_is_labelled_not_relevant_is_a_remark(session, labels, dataset) -> None:
    judged = replace(dataset, qrels=(*dataset.qrels, Qrel("q1", "old", 0)))
    ann = session()
    ann.go_to("q1")
    ann.judge("ferry", 2)
    ann.judge("old", 0)
    assert apply_to(judged, labels()).notes == ()


def test_people_who_answer_differently_leave_the_answer_and_the_conflict_is_listed(session, labels, dataset) -> None:
    for name, answer in (("ann", "14 hours"), ("bob", "All night")):
        label_q2(session, name, bread=2)
        person = session(name)
        person.go_to("q2")
        person.answer(answer)
    applied = apply_to(dataset, labels())
    assert [query.answer for query in applied.dataset.queries] == ["", "", "Foreign honey."]
    assert [str(conflict) for conflict in applied.conflicts] == ["question q2, answer: ann: '14 hours'; bob: 'All night'"]


def test_people_who_disagree_about_evidence_of_the_dataset_leave_it_and_the_conflict_is_listed(session, labels, dataset) -> None:
    ann, bob = session("ann"), session("bob")
    ann.go_to("q1")
    ann.unmark(Span("ferry", 2, 29))
    bob.go_to("q1")
    bob.mark(Span("ferry", 30, 49))
    applied = apply_to(dataset, labels())
    assert applied.dataset.needs == dataset.needs
    assert [str(conflict) for conflict in applied.conflicts] == [
        "question q1, evidence ferry:2-29: ann: no evidence; bob: evidence",
        "question q1, evidence ferry:30-49: ann: not marked; bob: marked",
    ]


def test_the_result_is_saved_loaded_and_checked_and_labels_of_two_files_are_joined(session, dataset, tmp_path) -> None:
    label_q2(session, "ann", bread=2, bees=-1)
    bob = session("bob", file="bob.jsonl")
    bob.mark(Span("bread", 0, 13))
    bob.go_to("q3")
    bob.accept(True)
    applied = wb.apply_labels(dataset, tmp_path / "labels.jsonl", tmp_path / "bob.jsonl")
    saved = wb.save_dataset(applied.dataset, tmp_path / "labelled")
    assert grades(saved) == {("q1", "ferry"): 1, ("q2", "bread"): 1, ("q2", "bees"): -1, ("q3", "bees"): 1}
    assert saved.needs == applied.dataset.needs
    assert saved.queries[2].accepted_by == "bob"
    command = [str(Path(sys.executable).parent / "workbench"), "dataset", "check", str(tmp_path / "labelled")]
    checked = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "0 faults" in checked.stdout


def test_skipped_lines_are_noted_and_the_display_escapes_what_people_wrote(session, dataset, tmp_path) -> None:
    label_q2(session, "ann", bread=2, bees=0)
    label_q2(session, "<script>", bees=1)
    with (tmp_path / "labels.jsonl").open("a") as stream:
        stream.write("{}\n")
    applied = wb.apply_labels(dataset, tmp_path / "labels.jsonl")
    assert applied.notes[0].startswith(f"{tmp_path / 'labels.jsonl'} line 5 has the kind None")
    session("bob", file="bob.jsonl")
    both = wb.apply_labels(dataset, tmp_path / "labels.jsonl", tmp_path / "bob.jsonl")
    assert both.notes == applied.notes
    assert "<script>" not in applied._repr_html_()
    assert "&lt;script&gt;" in applied._repr_html_()


def test_unlabelled_questions_are_loaded_only_when_asked_for(tmp_path) -> None:
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "ferry.md").write_text("The ferry costs nine euros.")
    (tmp_path / "questions.jsonl").write_text('{"query_id": "q1", "query": "What does the ferry cost?"}\n')
    with pytest.raises(wb.DatasetError, match="has no relevant document"):
        wb.load_dataset(tmp_path)
    assert wb.load_dataset(tmp_path, unlabelled=True).queries == (Query("q1", "What does the ferry cost?"),)
    (tmp_path / "questions.jsonl").write_text('{"query_id": "q1", "query": "", "relevant_doc_ids": ["fery"]}\n')
    with pytest.raises(wb.DatasetError, match="fery"):
        wb.load_dataset(tmp_path, unlabelled=True)


def test_a_placeholder_is_in_the_dataset_once_a_person_has_written_its_question(dataset, tmp_path: Path) -> None:
    placeholder = {"synthetic": True, "accepted_by": "", "provenance": {"part": "placeholder"}}
    headings = tuple(Query(query_id, f"Heading {query_id}", metadata=placeholder) for query_id in ("h1", "h2", "h3"))
    spans = {"h1": Span("bread", 0, 13), "h2": Span("bees", 0, 4), "h3": Span("old", 0, 7)}
    needs = tuple(Need(query_id, (span,)) for query_id, span in spans.items())
    qrels = tuple(Qrel(query_id, span.doc_id, 1) for query_id, span in spans.items())
    source = replace(dataset, queries=headings, needs=needs, qrels=qrels)
    labeller = wb.label(source, annotator="ann", file=tmp_path / "new.jsonl")
    assert labeller.session.reason == "nobody has written the question that its passage answers"
    assert "Write the question that the marked passage answers" in labeller.state["synthetic"]["text"]
    assert labeller.state["synthetic"]["placeholder"]
    labeller.act({"kind": "rewrite", "text": "What rests?"})
    assert not labeller.state["synthetic"]["placeholder"]
    labeller.session.go_to("h2")
    labeller.session.accept(False)
    applied = wb.apply_labels(source, tmp_path / "new.jsonl")
    (written,) = applied.dataset.queries
    assert (written.text, written.accepted_by, written.is_placeholder) == ("What rests?", "ann", False)
    assert applied.dataset.needs == needs[:1]
    assert applied.left_out == {"h2": "refused by ann", "h3": "a placeholder: nobody has written the question"}
