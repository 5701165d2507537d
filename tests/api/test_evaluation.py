from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pytest

import workbench as wb
from workbench.core.records import Hit
from workbench.runner.execution.local import Outcome

CONFIGURATIONS = ("fixed-128-0", "fixed-512-0", "hierarchical-64-256")
METRICS = ["span_recall@2000t", "need_recall@5", "recall@5", "precision@5", "success@3", "mrr@10", "ndcg@10", "map@10", "irrelevant@3"]


def values(scores: wb.Scores) -> pd.DataFrame:
    return scores.queries.set_index(["metric", "query_id"])[["value", "state"]].sort_index()


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_an_index_gets_the_scores_and_intervals_of_the_sweep(
    name: str, indexes: dict[str, wb.Index], outcome: Outcome, part: wb.Dataset
) -> None:
    metrics = [*METRICS, "margin", "span_precision_omega"]
    scores = wb.evaluate(indexes[name], part, metrics)
    swept = pd.read_parquet(outcome.folder / "queries.parquet").query("configuration == @name and metric in @metrics")
    pd.testing.assert_frame_equal(
        values(scores), swept.set_index(["metric", "query_id"])[["value", "state"]].sort_index(), check_dtype=False
    )
    means = pd.read_parquet(outcome.folder / "metrics.parquet").query("configuration == @name and slice == 'all' and metric in @metrics")
    columns = ["value", "low", "high", "n", "clusters"]
    pd.testing.assert_frame_equal(
        scores.table.set_index("metric")[columns], means.set_index("metric").loc[metrics, columns], check_dtype=False
    )


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_callable_with_the_same_hits_gets_the_same_scores(name: str, indexes: dict[str, wb.Index], part: wb.Dataset) -> None:
    few = replace(part, queries=part.queries[:15])
    ids = {query.query_id for query in few.queries}
    few = replace(few, qrels=tuple(q for q in few.qrels if q.query_id in ids), needs=tuple(n for n in few.needs if n.query_id in ids))
    index = indexes[name]
    pd.testing.assert_frame_equal(values(wb.evaluate(index.search, few, METRICS)), values(wb.evaluate(index, few, METRICS)))


@pytest.mark.parametrize(
    ("k", "message"), [(0, "k is 0"), (-1, "k is -1"), (1001, "k is 1001"), (2.5, "k is of type float"), (True, "k is True")]
)
def test_a_number_of_hits_that_no_search_accepts_is_one_line(k: Any, message: str, indexes: dict[str, wb.Index], part: wb.Dataset) -> None:
    index = indexes["fixed-128-0"]
    calls = (
        lambda: index.search("who", k=k),
        lambda: wb.evaluate(index.search, part, ["recall@5"], k=k),
        lambda: wb.compare({"a": index.search}, part, k=k),
    )
    for call in calls:
        with pytest.raises(wb.InputError, match=f"^{message}; "):
            call()


DOCUMENTS = (wb.Document("a", "one two three four"), wb.Document("b", "five six seven eight"), wb.Document("c.md", "nine ten"))
QUERIES = (wb.Query("q1", "first"), wb.Query("q2", "second"), wb.Query("q3", "third"))
QRELS = (wb.Qrel("q1", "a", 1), wb.Qrel("q2", "b", 1), wb.Qrel("q3", "c.md", 1))
NEEDS = (wb.Need("q1", (wb.Span("a", 4, 7),)), wb.Need("q2", (wb.Span("b", 0, 4),)), wb.Need("q3", (wb.Span("c.md", 0, 4),)))
DATASET = wb.Dataset("small", DOCUMENTS, QUERIES, QRELS, NEEDS)


@dataclass(frozen=True)
class Passage:
    doc_id: str
    start: int
    end: int


def answering(**rankings: list[Any]) -> Callable[[str, int], Iterable[Any]]:
    return lambda query, k: rankings[query][:k]


@pytest.mark.parametrize(
    "hits",
    [
        ["b", "a"],
        [{"doc_id": "b"}, {"doc_id": "a"}],
        [{"doc_id": "b", "start": 0, "end": 4}, Passage("a", 0, 18)],
        [Hit(DOCUMENTS[1], 0, 4, 1, 0.9), Passage("b", 5, 8), Passage("b", 0, 4), Passage("a", 4, 7)],
    ],
)
def test_hits_of_any_form_rank_documents_by_their_best_hit(hits: list[Any]) -> None:
    scores = wb.evaluate(answering(first=hits, second=["b"], third=[]), DATASET, [wb.recall @ 1, wb.mrr @ 10])
    assert scores.queries["value"].tolist() == [0, 1, 0, 0.5, 1, 0]


def test_spans_are_cut_at_hits_and_at_tokens() -> None:
    system = answering(first=[Passage("a", 0, 3), Passage("a", 4, 7)], second=[Passage("b", 0, 20)], third=[Passage("c.md", 2, 8)])
    metrics = [wb.span_recall @ 1, wb.span_recall @ 2, wb.span_recall @ wb.tokens(1), wb.complete @ 2]
    table = wb.evaluate(system, DATASET, metrics).queries
    found = {metric: table[table["metric"] == str(metric)]["value"].tolist() for metric in metrics}
    assert found[metrics[0]] == [0, 1, 0.5]
    assert found[metrics[1]] == [1, 1, 0.5]
    assert found[metrics[2]] == [0, 1, 0.5]
    assert found[metrics[3]] == [1, 1, 0]


def test_a_question_on_which_the_system_fails_is_unscored_counted_and_shown() -> None:
    def system(query: str, _: int) -> list[str]:
        if query == "second":
            raise TimeoutError("the server did\nnot answer")
        return ["a"]

    scores = wb.evaluate(system, DATASET, "recall@5")
    assert scores.queries["state"].tolist() == ["scored", "unscored", "scored"]
    assert scores.queries["reason"][1] == "TimeoutError: the server did not answer"
    assert scores.table[["value", "n", "unscored"]].iloc[0].tolist() == [0.5, 2, 1]
    assert "1 question failed" in scores.notes[0]
    assert "TimeoutError" in scores._repr_html_()


def test_a_system_that_fails_on_every_question_is_an_error_and_no_score() -> None:
    def system(query: str, k: int) -> list[str]:
        raise TypeError(f"{k} for {query}")

    with pytest.raises(wb.RunError, match="failed on all of 3 requests, first with: TypeError: 10 for first"):
        wb.evaluate(system, DATASET, "recall@5")  # type: ignore[arg-type]  # its fault is the point


@pytest.mark.parametrize(
    ("hit", "metric", "says"),
    [
        ("c.m", "recall@5", r"no document has the id 'c.m' \(did you mean 'c.md'\?\); return the dataset's ids"),
        ("a", "span_recall@5", "span_recall@5: hits have neither start and end nor a text"),
        ("a", "margin", "needs the scores of all chunks"),
    ],
)
def test_hits_that_cannot_be_scored_are_an_input_error(hit: Any, metric: str, says: str) -> None:
    with pytest.raises(wb.InputError, match=says):
        wb.evaluate(answering(first=[hit], second=[hit], third=[hit]), DATASET, metric)


@pytest.mark.parametrize("hit", [Passage("a", 0, 19), Passage("a", 7, 4), {"doc_id": "a", "text": "not in it"}])
def test_a_hit_without_a_place_in_its_document_counts_for_documents_and_leaves_spans_unscored(hit: Any) -> None:
    scores = wb.evaluate(answering(first=[hit], second=["b"], third=[Passage("c.md", 0, 4)]), DATASET, ["recall@5", "span_recall@5"])
    recall, spans = (scores.queries[scores.queries["metric"] == name] for name in ("recall@5", "span_recall@5"))
    assert recall["value"].tolist() == [1, 1, 1]
    assert spans["state"].tolist() == ["unscored", "scored", "scored"]
    assert spans["reason"].iloc[0].startswith("a hit matched a document but not a place in it: ")
    assert scores.notes[0].startswith("1 of 3 hits could not be matched with a place in their document (first: q1: ")


def test_a_system_is_asked_for_more_until_the_metric_is_reached_and_never_without_end() -> None:
    asked: list[int] = []

    def chunks(_: str, k: int) -> list[Passage]:
        asked.append(k)
        return [Passage("a", 0, 1 + rank % 18) for rank in range(k)]

    wb.evaluate(chunks, replace(DATASET, queries=QUERIES[:1], qrels=QRELS[:1], needs=NEEDS[:1]), "recall@5")
    assert asked == [10, 20, 40, 80, 160, 320, 640, 1000]
    asked.clear()
    wb.evaluate(chunks, DATASET, "recall@5", k=7)
    assert asked == [7, 7, 7]
    with pytest.raises(wb.InputError, match="reads more than the k = 3 hits"):
        wb.evaluate(chunks, DATASET, "recall@5", k=3)


def test_an_index_of_other_documents_is_refused(indexes: dict[str, wb.Index]) -> None:
    with pytest.raises(wb.InputError, match="other documents"):
        wb.evaluate(indexes["fixed-128-0"], DATASET, "recall@5")


@pytest.mark.parametrize("metrics", [[], ["recal@5"]])
def test_metrics_are_required_and_named(metrics: list[str]) -> None:
    with pytest.raises(wb.InputError, match=r"no metric is given|did you mean recall@5"):
        wb.evaluate(answering(first=[], second=[], third=[]), DATASET, metrics)


def test_an_error_of_workbench_inside_the_system_leaves_its_question_unscored(indexes: dict[str, wb.Index], part: wb.Dataset) -> None:
    few = part.subset([query.query_id for query in part.queries[:6]])
    index = indexes["fixed-128-0"]
    scores = wb.evaluate(lambda query, k: index.search(" " if query == few.queries[0].text else query, k), few, "recall@5")
    assert scores.queries["reason"][0] == "the question is empty; give a question"
    assert (scores.queries["state"] == "unscored").sum() == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (3, "the result is no list of hits but int"),
        ("a", "no list of hits but str"),
        ({"a", "b"}, "no list of hits but set; return a list, best first"),
        ([], "the system found nothing for any of the questions"),
        (None, "the system found nothing for any of the questions"),
    ],
)
def test_what_is_no_list_of_hits_for_any_question_is_an_error(answer: Any, says: str) -> None:
    with pytest.raises(wb.RunError, match=says):
        wb.evaluate(lambda *_: answer, DATASET, "recall@5")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"documents": (*DOCUMENTS, wb.Document("a", "again"))}, "repeats the document id 'a'"),
        ({"queries": (*QUERIES, QUERIES[0])}, "repeats the question id 'q1'"),
        ({"needs": (wb.Need("q1", (wb.Span("a", 4, 70),)),)}, r"\[4, 70\) in document 'a' of 18 characters"),
        ({"queries": QUERIES[:1]}, "judges question 'q2'"),
    ],
)
def test_a_dataset_made_in_python_is_checked(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(wb.DatasetError, match=says):
        wb.evaluate(answering(first=[], second=[], third=[]), replace(DATASET, **changes), "recall@5")


def test_a_subset_keeps_the_labels_of_its_questions() -> None:
    subset = DATASET.subset(["q3", "q1"])
    assert [query.query_id for query in subset.queries] == ["q1", "q3"]
    assert {qrel.query_id for qrel in subset.qrels} == {need.query_id for need in subset.needs} == {"q1", "q3"}
    assert subset.documents == DATASET.documents
    with pytest.raises(wb.InputError, match="no question 'q9'"):
        DATASET.subset(["q9"])


def test_scores_that_rise_with_the_rank_are_noted() -> None:
    def system(query: str, _: int) -> list[dict[str, Any]]:
        return [{"doc_id": "a", "score": 0.1}, {"doc_id": "b", "score": 0.9 if query == "first" else 0.0}]

    assert wb.evaluate(system, DATASET, "recall@5").notes == ("The scores of 1 ranking rise with the rank: are the best hits first?",)


def test_an_index_takes_no_k(indexes: dict[str, wb.Index], part: wb.Dataset) -> None:
    with pytest.raises(wb.InputError, match="leave k out"):
        wb.evaluate(indexes["fixed-128-0"], part, "recall@5", k=3)
