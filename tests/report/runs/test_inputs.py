"""What differs between the inputs of two sides."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from workbench.report.results.run_tables import RunTables
from workbench.report.runs.inputs import (
    QuestionPrint,
    changed_documents,
    changed_questions,
    changed_settings,
    document_prints,
    question_prints,
)
from workbench.runner.execution.local import Outcome


@pytest.fixture
def run(few: Outcome) -> RunTables:
    return RunTables.read(few.folder)


def test_changed_texts_and_questions_on_one_side_are_questions_and_changed_labels_are_labels():
    before = {
        "same": QuestionPrint("a", "1"),
        "text": QuestionPrint("b", "1"),
        "label": QuestionPrint("c", "1"),
        "field": QuestionPrint("f", "1", "x"),
        "old": QuestionPrint("o", "1"),
        "gone": QuestionPrint("d", "1"),
    }
    after = {
        "same": QuestionPrint("a", "1"),
        "text": QuestionPrint("x", "2"),
        "label": QuestionPrint("c", "2", "y"),
        "field": QuestionPrint("f", "1", "y"),
        "old": QuestionPrint("o", "1", "y"),
        "new": QuestionPrint("e", "1"),
    }
    assert changed_questions(before, after) == (("text", "gone", "new"), ("label",), ("field",))
    assert changed_questions(before, before) == ((), (), ())


def test_documents_are_added_removed_and_changed():
    assert changed_documents({"a": "1", "b": "1", "c": "1"}, {"b": "2", "c": "1", "d": "1"}) == (("d",), ("a",), ("b",))


def test_every_document_of_a_run_has_a_fingerprint(few: Outcome, run: RunTables):
    prints = document_prints(run)
    assert list(prints) == [document.doc_id for document in few.run.dataset.documents]
    assert len(set(prints.values())) == len(prints)
    assert document_prints(replace(run, sources={name: make for name, make in run.sources.items() if name != "documents"})) == {}


@pytest.mark.parametrize(
    ("table", "column", "value"), [("judgements", "relevance", 7), ("evidence", "start", 0), ("questions", "answer", "other")]
)
def test_a_changed_label_changes_the_question_that_has_it_alone(run: RunTables, table: str, column: str, value: object):
    rows = run.table(table).copy()
    row = rows.index[rows[column] != value][0]
    rows.loc[row, column] = value
    changed = replace(run, sources={**run.sources, table: lambda _: rows})
    assert changed_questions(question_prints(run), question_prints(changed)) == ((), (rows.loc[row, "query_id"],), ())


def test_the_order_of_judgements_is_no_difference(run: RunTables):
    rows = run.judgements.iloc[::-1].reset_index(drop=True)
    changed = replace(run, sources={**run.sources, "judgements": lambda _: rows})
    assert changed_questions(question_prints(run), question_prints(changed)) == ((), (), ())


def test_other_numbers_of_needs_and_another_order_of_questions_are_no_difference(run: RunTables):
    evidence = run.evidence.assign(need=run.evidence["need"] + 7)
    questions = run.questions.iloc[::-1].reset_index(drop=True)
    changed = replace(run, sources={**run.sources, "evidence": lambda _: evidence, "questions": lambda _: questions})
    assert changed_questions(question_prints(run), question_prints(changed)) == ((), (), ())


def test_a_line_added_before_evidence_moves_it_and_changes_no_label(run: RunTables):
    doc_id = run.evidence["doc_id"].iloc[0]
    line = "A line that an editor added.\n"

    def moved(rows: pd.DataFrame) -> pd.DataFrame:
        columns = rows.columns.intersection(["start", "end"])
        return rows.assign(**{name: rows[name] + len(line) * (rows["doc_id"] == doc_id) for name in columns})

    tables = {"evidence": moved(run.evidence), "passages": moved(run.passages)}
    edited = replace(run, sources={**run.sources, **{name: lambda _, rows=rows: rows for name, rows in tables.items()}})
    assert edited.evidence["start"].gt(run.evidence["start"]).any()
    assert changed_questions(question_prints(run), question_prints(edited)) == ((), (), ())


def test_a_filter_on_documents_is_a_label_and_another_field_is_none(run: RunTables):
    def changed(**fields: object) -> tuple[tuple[str, ...], ...]:
        questions = run.questions.copy()
        questions.loc[0, "metadata"] = json.dumps(json.loads(questions.loc[0, "metadata"]) | fields)
        return changed_questions(
            question_prints(run), question_prints(replace(run, sources={**run.sources, "questions": lambda _: questions}))
        )

    name = run.questions.loc[0, "query_id"]
    assert changed(where={"doc_id": "gold"}) == ((), (name,), ())
    assert changed(type="easy") == ((), (), (name,))


def test_changed_settings_have_both_values():
    before = {"retrieval": {"kind": "dense", "k": 10}, "chunking": {"kind": "fixed", "size": 64}, "rerank": None}
    after = {"retrieval": {"kind": "dense", "k": 2}, "chunking": {"kind": "sentence", "size": 64}, "rerank": {"kind": "mmr"}}
    assert changed_settings(before, after) == ("retrieval.k 10 → 2", "chunking fixed → sentence", "rerank none → mmr")
    assert changed_settings(before, before) == ()
