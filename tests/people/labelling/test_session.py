"""Labelling without a screen: what is saved, shown and refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.people.labelling.conftest import TEXTS
from workbench.core.errors import InputError
from workbench.core.records import Dataset, Document, Query, Span
from workbench.people.labelling.adjudication import drafted_part
from workbench.people.labelling.checking import LabelChecker
from workbench.people.labelling.label_file import LabelFile
from workbench.people.labelling.pooling import CandidateSearch, LabelPool
from workbench.people.labelling.priority import queue_without_run
from workbench.people.labelling.session import LabellingSession, LabellingTask


def test_questions_without_a_label_come_first_then_drafts(session) -> None:
    ann = session()
    assert [(each.query_id, each.reason) for each in ann.task.queue] == [
        ("q2", "no document is labelled relevant yet"),
        ("q3", "it is a draft that nobody has accepted"),
        ("q1", "it has labels"),
    ]
    assert ann.query.query_id == "q2"


def test_the_author_and_the_drafted_part_of_a_draft_are_named(dataset) -> None:
    def drafted(**provenance: str) -> Dataset:
        draft = replace(dataset.queries[2], metadata={"synthetic": True, "provenance": provenance})
        return replace(dataset, queries=(draft,))

    assert queue_without_run(drafted(model="qwen3:4b"))[0].reason == "it is a draft (qwen3:4b) that nobody has accepted"
    assert [drafted_part(drafted(part=part).queries[0]) for part in ("answer", "question")] == ["answer", "question"]
    assert drafted_part(dataset.queries[2]) == "question"


def test_an_accepted_answer_names_the_configurations_that_gave_it(session) -> None:
    session().answer("All night", "fixed-256, bm25")
    (action,) = session().labels.of("answer", "q2")
    assert (action.value, action.source) == ("All night", "fixed-256, bm25")


def test_a_number_beyond_the_questions_is_the_first_or_the_last(session) -> None:
    ann = session()
    assert [(ann.go(place), ann.query.query_id)[1] for place in (1, 99, -1)] == ["q3", "q1", "q2"]


def test_the_next_open_question_after_the_last_one_is_the_first(session) -> None:
    ann = session()
    ann.go(99)
    ann.go_to_open()
    assert (ann.place, ann.query.query_id) == (0, "q2")


def test_every_action_is_in_the_file_and_another_session_finds_it(session, labels) -> None:
    ann = session()
    ann.judge("bread", 2)
    ann.judge("bees", -1)
    ann.mark(Span("bread", 0, 13))
    ann.answer("  Fourteen hours ")
    ann.set_answerable(True)
    again = session()
    assert again.query.query_id == "q2"
    assert [again.grade(doc_id) for doc_id in TEXTS] == [None, None, 2, -1]
    assert again.labels.value("answer", "q2") == "Fourteen hours"
    assert again.labels.value("answerable", "q2") is True
    assert [(mark.span, mark.piece, mark.own) for mark in again.evidence()] == [(Span("bread", 0, 13), 1, True)]
    assert again.progress("q2") == (2, 4)
    assert labels()["ann"].actions == ann.labels.actions


def test_a_reload_goes_to_the_first_question_with_something_left(session) -> None:
    ann = session()
    for doc_id in TEXTS:
        ann.judge(doc_id, 0)
    assert str(ann.totals()) == "0 of 1 draft reviewed, 1 of 2 other questions finished"
    assert session().query.query_id == "q3"
    ann.go_to_open()
    ann.accept(True)
    assert ann.progress("q3") == (1, 1)
    assert ann.judged("q3") == (1, 4)
    assert str(ann.totals()) == "1 of 1 draft reviewed, 1 of 2 other questions finished"
    assert session("bob").query.query_id == "q2"


def test_a_grade_that_equals_one_of_the_scale_is_kept_and_a_flag_is_refused(session) -> None:
    ann = session()
    ann.judge("bread", 1.0)
    ann.judge("bees", np.int64(2))
    assert (session().grade("bread"), session().grade("bees")) == (1, 2)
    for grade in (True, 1.5, "1"):
        with pytest.raises(InputError, match=f"there is no grade {grade}; choose one of 2, 1, 0, -1"):
            ann.judge("ferry", grade)
    with pytest.raises(InputError, match="the answer is of type int; give a text"):
        ann.answer(5)
    with pytest.raises(InputError, match="takes true or false"):
        ann.set_answerable(1)


def test_a_name_with_half_of_a_character_is_refused(session) -> None:
    with pytest.raises(InputError, match="has half of a character"):
        session("ann\ud83d")


def test_a_span_is_cut_to_its_words_and_counts_code_points(session) -> None:
    ann = session()
    ann.go_to("q1")
    assert ann.mark(Span("ferry", 1, 12)) == Span("ferry", 2, 11)
    action = ann.file.actions[-1]
    assert (action.text, action.value) == ("The ferry", 2)


def test_a_span_is_an_alternative_of_a_piece_of_the_dataset_or_a_new_piece(session) -> None:
    ann = session()
    ann.go_to("q1")
    ann.mark(Span("old", 0, 13), 1)
    ann.mark(Span("old", 14, 29))
    assert [(mark.piece, mark.own) for mark in ann.evidence()] == [(1, False), (1, True), (2, True)]
    ann.unmark(Span("ferry", 2, 29))
    ann.unmark(Span("old", 14, 29))
    assert [(mark.span, mark.own) for mark in ann.evidence()] == [(Span("old", 0, 13), True)]
    ann.undo()
    ann.undo()
    assert [(mark.piece, mark.own) for mark in ann.evidence()] == [(1, False), (1, True), (2, True)]


def test_a_label_that_does_not_fit_is_one_line_and_writes_nothing(session, wording) -> None:
    ann = session()
    acts = {
        "an unknown grade": lambda ann: ann.judge("bread", 3),
        "an unknown document": lambda ann: ann.judge("bred", 1),
        "a span beyond the document": lambda ann: ann.mark(Span("bread", 0, 99)),
        "a blank span": lambda ann: ann.mark(Span("bread", 3, 4)),
        "an unknown piece": lambda ann: ann.mark(Span("bread", 0, 3), 1),
        "accepting a question that is not synthetic": lambda ann: ann.accept(True),
        "an empty question": lambda ann: ann.rewrite(" \n"),
        "the same question": lambda ann: ann.rewrite(" How long does dough rest? "),
        "an unknown answer": lambda ann: ann.accept_answer(0),
        "an unknown question": lambda ann: ann.go_to("q9"),
    }
    wording(lambda act: act(ann), acts)
    assert ann.file.actions == []


def test_undo_goes_to_the_question_that_it_changes(session) -> None:
    ann = session()
    ann.judge("bread", 2)
    ann.go_to("q1")
    assert ann.undoable
    assert ann.undo().doc_id == "bread"
    assert ann.query.query_id == "q2"
    assert not ann.undoable
    assert ann.undo() is None


def test_a_rewrite_is_saved_with_its_author_and_time_and_another_session_shows_it(session, tmp_path) -> None:
    ann = session()
    ann.go_to("q3")
    ann.rewrite("  May I feed honey from elsewhere? ")
    row = json.loads((tmp_path / "labels.jsonl").read_text("utf-8").splitlines()[-1])
    assert (row["kind"], row["by"], row["query_id"], row["value"]) == ("rewrite", "ann", "q3", "May I feed honey from elsewhere?")
    assert row["at"].endswith("+00:00")
    again = session()
    again.go_to("q3")
    assert (again.text, again.query.text) == ("May I feed honey from elsewhere?", "Which honey is bad?")
    with pytest.raises(InputError, match="the question already has this text"):
        again.rewrite("May I feed honey from elsewhere?")
    bob = session("bob")
    bob.go_to("q3")
    assert bob.text == "Which honey is bad?"
    assert again.undo().kind == "rewrite"
    assert again.text == "Which honey is bad?"


def test_the_newest_rewrite_holds_and_the_text_of_the_dataset_or_none_removes_it(session) -> None:
    ann = session()
    ann.go_to("q3")
    ann.rewrite("Which honey harms bees?")
    ann.rewrite("Which honey must bees not get?")
    assert ann.text == "Which honey must bees not get?"
    ann.rewrite("Which honey is bad?")
    assert (ann.text, ann.labels.decision("q3")) == ("Which honey is bad?", None)
    ann.undo()
    assert ann.text == "Which honey must bees not get?"
    ann.rewrite(None)
    assert ann.text == "Which honey is bad?"


def test_a_draft_is_reviewed_by_accepting_rewriting_or_refusing_it_and_the_latest_decision_holds(session) -> None:
    ann = session()
    ann.go_to("q3")
    assert (ann.progress("q3"), ann.labels.decision("q3")) == ((0, 1), None)
    for act, decision in (
        (lambda: ann.rewrite("Which honey harms bees?"), True),
        (lambda: ann.accept(False), False),
        (lambda: ann.rewrite("Which honey must bees not get?"), True),
    ):
        act()
        assert (ann.progress("q3"), ann.labels.decision("q3")) == ((1, 1), decision)
    for _ in range(3):
        ann.undo()
    assert ann.progress("q3") == (0, 1)


def test_a_question_is_finished_when_the_person_says_that_no_document_answers_it(session) -> None:
    ann = session()
    ann.set_answerable(False)
    assert ann.progress("q2") == (1, 1)
    ann.go_to_open()
    assert ann.query.query_id == "q3"
    ann.go_to("q2")
    ann.set_answerable(True)
    assert ann.progress("q2") == (0, 4)


def test_a_question_without_a_document_to_judge_is_open_until_one_is_judged(dataset, checker, tmp_path) -> None:
    task = LabellingTask(dataset, LabelPool({}, {}), queue_without_run(dataset), CandidateSearch((), 10))
    ann = LabellingSession(task, checker, LabelFile.begin(tmp_path / "labels.jsonl", checker.header), "ann")
    assert ann.query.query_id == "q2"
    assert ann.progress("q2") == (0, 1)
    ann.judge("bread", 2)
    assert ann.progress("q2") == (1, 1)


def test_a_draft_begins_with_the_document_of_its_evidence_and_judging_again_hides_which_it_is(session) -> None:
    ann = session()
    ann.go_to("q3")
    assert [each.doc_id for each in ann.documents] == ["bees", "ferry", "old", "bread"]
    ann.go_to("q1")
    assert [each.doc_id for each in ann.documents] == list(TEXTS)
    blind = session("bob", again=True)
    blind.go_to("q3")
    assert [each.doc_id for each in blind.documents] == list(TEXTS)


def test_judging_again_hides_what_the_dataset_says(session) -> None:
    assert session().dataset_grade("ferry", "q1") == 2
    assert session().progress("q1") == (1, 4)
    blind = session("bob", again=True)
    assert blind.dataset_grade("ferry", "q1") is None
    assert blind.progress("q1") == (0, 4)


def test_an_annotator_needs_a_name(session) -> None:
    with pytest.raises(InputError, match="the annotator has no name"):
        session(" ")


def test_lines_that_do_not_fit_are_skipped_with_their_number_and_kept_in_the_file(session, tmp_path) -> None:
    ann = session()
    ann.judge("bread", 2)
    ann.mark(Span("bread", 0, 13))
    path = tmp_path / "labels.jsonl"
    judged, good = (json.loads(line) for line in path.read_text("utf-8").splitlines()[1:])
    wrong = [
        {"query_id": "q7"},
        {"question": "0" * 12},
        {"doc_id": "bred"},
        {"end": 99},
        {"text": "Let the bread"},
        {"value": -5},
        {"value": 10**30},
        *({**judged, "value": value} for value in (99, -7, 2**63, 10**400)),
    ]
    with path.open("a") as stream:
        for number, change in enumerate(wrong, 3):
            stream.write(json.dumps(good | {"n": number} | change) + "\n")
    before = path.read_bytes()
    again = session()
    assert [str(fault) for fault in again.faults] == [
        "line 4 labels question 'q7', which is not in the dataset",
        "line 5 labels question 'q2', whose text has changed since",
        "line 6 labels document 'bred', but this document does not exist (did you mean 'bread'?)",
        "line 7 marks [0, 99) in document 'bread' of 38 characters",
        "line 8 marks [0, 13) in document 'bread', whose text there has changed since",
        "line 9 gives document 'bread' as evidence the piece -5, which is not from 0 to 100000",
        "line 10 gives document 'bread' as evidence the piece 10000000000…, which is not from 0 to 100000",
        "line 11 gives document 'bread' the grade 99, which is not from -1 to 2",
        "line 12 gives document 'bread' the grade -7, which is not from -1 to 2",
        "line 13 gives document 'bread' the grade 92233720368…, which is not from -1 to 2",
        "line 14 gives document 'bread' the grade 10000000000…, which is not from -1 to 2",
    ]
    assert len(again.labels.actions) == 2
    assert path.read_bytes() == before


def test_labels_of_another_dataset_are_refused_and_those_of_an_edited_one_are_checked_one_by_one(session, dataset, tmp_path) -> None:
    ann = session()
    ann.judge("bread", 2)
    ann.judge("bees", 0)
    file = LabelFile(tmp_path / "labels.jsonl")
    edited = [Document(each.doc_id, each.text + "!") if each.doc_id == "bees" else each for each in dataset.documents]
    fitting, faults = LabelChecker(Dataset("sea", tuple(edited), dataset.queries, ())).checked(file)
    assert [action.doc_id for action in fitting] == ["bread"]
    assert [str(fault) for fault in faults] == ["line 3 labels document 'bees', whose text has changed since"]
    other = Dataset("land", (Document("hill", "A hill."),), dataset.queries, ())
    with pytest.raises(
        InputError, match=r"has labels of another dataset \(sea; this one is land, with other documents\); name another file"
    ):
        LabelChecker(other).checked(file)


def test_the_reason_for_a_question_follows_its_labels(session) -> None:
    ann = session()
    assert (ann.query.query_id, ann.reason) == ("q2", "no document is labelled relevant yet")
    ann.judge("bread", 2)
    assert ann.reason == "you have labelled it, and 3 of 4 documents are not judged"
    for doc_id in ("ferry", "old", "bees"):
        ann.judge(doc_id, 0)
    assert ann.reason == "you have labelled it, and all its documents are judged"
    ann.go_to("q3")
    assert ann.reason == "it is a draft that nobody has accepted"
    ann.rewrite("Which honey harms bees?")
    assert ann.reason == "you have reviewed it; nothing has to be labelled"


def test_a_long_document_opens_at_three_passages() -> None:
    documents = (Document("long", "The ferry leaves at seven. " * 600), Document("short", "A ferry."))
    dataset = Dataset("sea", documents, (Query("q", "When does the ferry leave?"),), ())
    pool = CandidateSearch(documents, 10).pool(dataset).documents["q"]
    found = {each.doc_id: sum(end - start for start, end in each.passages) for each in pool}
    assert found.keys() == {"long", "short"}
    assert 0 < found["long"] < len(documents[0].text) / 2
