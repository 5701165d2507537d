"""The pool of a run and the order of its questions, on a small sweep of two configurations."""

import io
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import workbench as wb
from workbench.core.records import Document, Qrel
from workbench.core.text.formatting import signed
from workbench.people.labelling import pooling
from workbench.people.labelling.applying import judged_dataset
from workbench.people.labelling.checking import LabelChecker, read_label_files
from workbench.people.labelling.pooling import CandidateSearch, document_rankings, merged, pool_of_run
from workbench.people.labelling.priority import deciding_metric, leading_bounds, queue, rivals
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

K = 5


@pytest.fixture(scope="module")
def truth(handbook_few: Path) -> wb.Dataset:
    return wb.load_dataset(handbook_few)


@pytest.fixture(scope="module")
def folder(truth: wb.Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the dataset with the relevant documents alone: the other judgements are what people still have to give."""
    folder, relevant = tmp_path_factory.mktemp("order"), tuple(qrel for qrel in truth.qrels if qrel.relevance > 0)
    wb.save_dataset(replace(truth, qrels=relevant), folder / "partial")
    return folder


@pytest.fixture(scope="module")
def partial(folder: Path) -> wb.Dataset:
    return wb.load_dataset(folder / "partial")


@pytest.fixture(scope="module")
def results(folder: Path) -> wb.Results:
    settings = {
        "name": "order",
        "dataset": {"kind": "golden", "path": str(folder / "partial")},
        "pipeline": {"retrieval": {"kind": "bm25", "k": 10}},
        "sweep": {"chunking": [{"kind": "fixed", "size": 32}, {"kind": "whole"}]},
        "metrics": ["precision@5", "recall@3"],
    }
    outcome = run_experiment(experiment_of(settings, "here"), folder / "outputs", lambda _: None)
    write_outputs(outcome)
    return wb.load(outcome.folder)


@pytest.fixture(scope="module")
def rankings(results: wb.Results) -> dict[str, dict[str, list[str]]]:
    return document_rankings(results.tables, results.folder)


def test_the_pool_is_the_union_of_the_first_documents_and_the_relevant_ones(partial, results, rankings) -> None:
    pool = pool_of_run(partial, results.tables, rankings, K)
    relevant = {(qrel.query_id, qrel.doc_id) for qrel in partial.qrels}
    for query in partial.queries:
        first = {doc_id for ranked in rankings.values() for doc_id in ranked.get(query.query_id, [])[:K]}
        expected = first | {doc_id for query_id, doc_id in relevant if query_id == query.query_id}
        assert {each.doc_id for each in pool.documents[query.query_id]} == expected


def test_the_order_of_a_pool_is_that_of_its_seed_and_not_of_a_ranking(partial, results, rankings) -> None:
    pool = pool_of_run(partial, results.tables, rankings, K)
    assert pool == pool_of_run(partial, results.tables, dict(reversed(rankings.items())), K)
    assert pool.documents != pool_of_run(partial, results.tables, rankings, K, seed=1).documents
    places = [
        ranked[query_id].index(each.doc_id) - place
        for query_id, documents in pool.documents.items()
        for place, each in enumerate(documents)
        for ranked in [next(iter(rankings.values()))]
        if each.doc_id in ranked.get(query_id, [])[:K]
    ]
    assert len(set(places)) > 3


def test_passages_are_those_that_were_found_and_hits_stand_in_for_a_missing_file(partial, results, rankings, tmp_path) -> None:
    pool = pool_of_run(partial, results.tables, rankings, K)
    documents = {document.doc_id: document for document in partial.documents}
    passages = [(each.doc_id, slice_) for each in pool.documents[partial.queries[0].query_id] for slice_ in each.passages]
    assert all(0 <= start < end <= len(documents[doc_id].text) for doc_id, (start, end) in passages)
    fallback = document_rankings(results.tables, tmp_path)
    assert {name: {key: ranked[:1] for key, ranked in own.items()} for name, own in fallback.items()} == {
        name: {key: ranked[:1] for key, ranked in own.items()} for name, own in rankings.items()
    }


def test_slices_that_overlap_or_touch_are_one_passage() -> None:
    document = Document("d", "x" * 50)
    assert merged([(10, 20), (0, 5), (15, 30), (30, 32), (40, 99)], document) == ((0, 5), (10, 32), (40, 50))
    assert merged([], document) == ((0, 50),)


def test_without_a_run_words_find_the_documents(truth) -> None:
    pool = CandidateSearch(truth.corpus, 3).pool(truth)
    relevant = {(qrel.query_id, qrel.doc_id) for qrel in truth.qrels if qrel.relevance > 0}
    sizes = {query.query_id: len(pool.documents[query.query_id]) for query in truth.queries}
    assert all(1 <= size <= 3 + sum(query_id == own for own, _ in relevant) for query_id, size in sizes.items())


def test_bounds_contain_the_true_difference_and_close_with_the_labels(truth, partial, results, rankings) -> None:
    metric, (a, b) = deciding_metric(results.tables), rivals(results.tables)[:2]
    assert str(metric) == "precision@5"
    low, high = leading_bounds(partial, rankings, metric, a, b)
    exact = leading_bounds(truth, rankings, metric, a, b)
    assert (high - low).max() > 0
    judged = {(qrel.query_id, qrel.doc_id) for qrel in truth.qrels}
    closed = [
        all((query.query_id, doc_id) in judged for name in (a, b) for doc_id in rankings[name].get(query.query_id, [])[:5])
        for query in truth.queries
    ]
    assert any(closed)
    assert np.allclose(exact[0][closed], exact[1][closed])
    assert (low - 1e-12 <= exact[0]).all()
    assert (exact[1] <= high + 1e-12).all()
    assert (high - low)[[not query.answerable for query in partial.queries]].sum() == 0


def test_questions_that_can_change_the_difference_most_come_first_with_the_reason(partial, results, rankings) -> None:
    order = queue(partial, results.tables, rankings)
    assert {each.query_id for each in order} == {query.query_id for query in partial.queries}
    widths = [each.width for each in order]
    assert widths == sorted(widths, reverse=True)
    a, b = rivals(results.tables)[:2]
    place = [query.query_id for query in partial.queries].index(order[0].query_id)
    low, high = (bound[place] for bound in leading_bounds(partial, rankings, deciding_metric(results.tables), a, b))
    assert -1 <= low < high <= 1
    assert order[0].width == pytest.approx(high - low)
    between = f"between {signed(low, 2)} and {signed(high, 2)} for this question, depending on its unjudged documents"
    assert order[0].reason == f"precision@5 of {a} minus {b} is {between}"


def test_a_question_without_a_label_says_so_and_one_that_is_judged_is_the_last_to_label(partial, results, rankings) -> None:
    answerable = next(each.query_id for each in queue(partial, results.tables, rankings) if each.width > 0)
    bare = replace(partial, qrels=tuple(qrel for qrel in partial.qrels if qrel.query_id != answerable))
    queued = {each.query_id: each for each in queue(bare, results.tables, rankings)}
    place = [query.query_id for query in bare.queries].index(answerable)
    a, b = rivals(results.tables)[:2]
    low, high = (bound[place] for bound in leading_bounds(bare, rankings, deciding_metric(results.tables), a, b))
    assert queued[answerable].width == pytest.approx(high - low) != 0
    between = f"precision@5 of {a} minus {b} is between {signed(low, 2)} and {signed(high, 2)} for this question"
    assert queued[answerable].reason == f"no document is labelled relevant yet; {between}"
    known = {qrel.doc_id for qrel in partial.qrels if qrel.query_id == answerable}
    rest = [Qrel(answerable, document.doc_id, 0) for document in partial.documents if document.doc_id not in known]
    last = {each.query_id: each for each in queue(replace(partial, qrels=(*partial.qrels, *rest)), results.tables, rankings)}
    assert (last[answerable].width, last[answerable].reason) == (0, "its labels do not change the comparison")


def test_label_opens_on_a_run_and_labels_move_a_question_back(partial, results, tmp_path) -> None:
    labeller = wb.label(partial, results, annotator="ann", file=tmp_path / "labels.jsonl", k=K)
    first = labeller.session.query.query_id
    for each in labeller.session.documents:
        labeller.session.judge(each.doc_id, labeller.session.dataset_grade(each.doc_id) or 0)
    again = wb.label(partial, results, annotator="ann", file=tmp_path / "labels.jsonl", k=K)
    assert again.session.query.query_id != first
    assert next(each.width for each in again.session.task.queue if each.query_id == first) == 0
    labels, notes = read_label_files(LabelChecker(partial), [tmp_path / "labels.jsonl"])
    assert notes == []
    assert len(judged_dataset(partial, labels).queries) == len(partial.queries)


def test_a_run_on_other_questions_is_refused(truth, results, tmp_path) -> None:
    other = replace(truth, queries=(wb.Query("new", "Which?"),), qrels=(), needs=())
    with pytest.raises(wb.InputError, match="the run order has no question 'new'"):
        wb.label(other, results, file=tmp_path / "labels.jsonl")


def test_questions_and_documents_that_are_newer_than_the_run_are_labelled_too(partial, results, tmp_path) -> None:
    query = partial.queries[0]
    newer = wb.Document("newer", f"All about it. {query.text}")
    asked = wb.Query("later", "What is all about it?")
    grown = replace(partial, documents=(*partial.documents, newer), queries=(*partial.queries, asked))
    labels = tmp_path / "labels.jsonl"
    before = wb.label(partial, results, annotator="ann", file=labels, k=K).session
    before.go_to(query.query_id)
    for each in before.documents:
        before.judge(each.doc_id, before.dataset_grade(each.doc_id) or 0)
    done = before.judged(query.query_id)
    session = wb.label(grown, results, annotator="ann", file=labels, k=K).session
    assert session.faults == ()
    # All labels count, and the new document is the only one to judge.
    assert session.judged(query.query_id) == (done[0], done[1] + 1)
    session.go_to(query.query_id)
    assert [each.doc_id for each in session.documents if session.grade(each.doc_id) is None] == ["newer"]
    assert session.queue[-1].query_id == "later"
    session.go_to("later")
    assert session.reason == "it is newer than the run; no document is labelled relevant yet"
    assert "newer" in [each.doc_id for each in session.documents]
    session.judge("newer", 2)
    applied = wb.apply_labels(grown, labels)
    assert ("later", "newer") in {(qrel.query_id, qrel.doc_id) for qrel in applied.dataset.qrels}


def test_k_is_a_whole_number(truth, tmp_path, wording) -> None:
    wording(lambda k: wb.label(truth, k=k, file=tmp_path / "labels.jsonl"), [0, 2000, True, "5"])


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_preparing_many_questions_shows_a_bar_and_few_show_none(partial, results, monkeypatch) -> None:
    for fewest, shown in ((1, True), (10_000, False)):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setattr(pooling, "_FEW", fewest)
        document_rankings(results.tables, results.folder)
        CandidateSearch(partial.corpus, 3).pool(partial)
        assert [word in terminal.getvalue() for word in ("rankings", "search")] == [shown, shown]


def test_a_draft_says_so_before_what_its_documents_decide(partial, results, rankings) -> None:
    drafts = tuple(replace(query, metadata={**query.metadata, "synthetic": True}) for query in partial.queries)
    order = queue(replace(partial, queries=drafts), results.tables, rankings)
    assert order[0].reason.startswith("it is a draft that nobody has accepted; precision@5 of ")
    assert order[-1].reason == "it is a draft that nobody has accepted"
