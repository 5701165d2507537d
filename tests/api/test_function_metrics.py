"""`@wb.metric`: a function of hits or of answers as a metric of evaluate, compare and sweep."""

# ruff: noqa: ARG001, ARG005  # the names of the arguments say what a metric reads

from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.measures.metrics.registry import METRICS
from workbench.testing import METRIC_LAWS


def relevant_of(dataset: wb.Dataset) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for qrel in dataset.qrels:
        if qrel.relevance > 0:
            found.setdefault(qrel.query_id, set()).add(qrel.doc_id)
    return found


def test_a_function_of_hits_gets_the_values_of_the_builtin_metric_that_it_repeats(indexes: dict[str, wb.Index], part: wb.Dataset) -> None:
    relevant = relevant_of(part)

    @wb.metric
    def share_found(query: wb.Query, hits: list[wb.Hit]) -> float:
        """The share of the relevant documents among those of the hits."""
        return len({hit.doc_id for hit in hits} & relevant[query.query_id]) / len(relevant[query.query_id])

    for index in indexes.values():
        for system in (index, index.search):
            scores = wb.evaluate(system, part, [share_found @ 5, share_found @ 2, "hit_recall@5", "hit_recall@2"])
            for k in (2, 5):
                assert scores[f"share_found@{k}"] == scores[f"hit_recall@{k}"]
    assert METRICS["share_found"].definition == "The share of the relevant documents among those of the hits"


def test_hits_are_the_first_distinct_chunks_with_their_ranks_and_scores(indexes: dict[str, wb.Index], part: wb.Dataset) -> None:
    index, seen = indexes["fixed-128-0"], {}

    @wb.metric
    def looked_at(query: wb.Query, hits: list[wb.Hit]) -> bool:
        seen[query.query_id] = hits
        return True

    wb.evaluate(index, part, looked_at @ 4)
    answerable = [query for query in part.queries if query.answerable]
    assert list(seen) == [query.query_id for query in answerable]
    for query in answerable[:10]:
        hits, alone = seen[query.query_id], index.search(query.text, k=4)
        assert [(hit.rank, hit.doc_id, hit.start, hit.end) for hit in hits] == [(hit.rank, hit.doc_id, hit.start, hit.end) for hit in alone]
        # A question that is encoded alone can differ from one of a batch in its last digits, on some processors.
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in alone], abs=1e-5)


def test_a_function_of_answers_scores_the_answers_of_a_function(part: wb.Dataset) -> None:
    @wb.metric(proportion=False, higher_is_better=False)
    def words(query: wb.Query, answer: str) -> int | None:
        return None if query.text.startswith("Who") else len(answer.split())

    def answered(query: str) -> str:
        return f"Of {query} the handbook says a lot."

    scores = wb.evaluate(answered, part, [words, "answer_recall"])
    rows = scores.queries.query("metric == 'words'").set_index("query_id")
    for query in part.queries:
        row = rows.loc[query.query_id]
        if not query.answerable:
            assert row["state"] == "not_applicable"
        elif query.text.startswith("Who"):
            assert (row["state"], row["reason"]) == ("unscored", "the function returns None")
        else:
            assert row["value"] == len(query.text.split()) + 6


def test_a_comparison_is_read_by_a_process_without_the_function(part: wb.Dataset, tmp_path: Path) -> None:
    @wb.metric
    def three_hits(query: wb.Query, hits: list[wb.Hit]) -> bool:
        return len(hits) == 3

    systems = {
        name: wb.Pipeline(chunking=wb.FixedChunker(size=size), retrieval=wb.BM25Retriever()) for name, size in (("a", 64), ("b", 128))
    }
    made = wb.compare(systems, part, metrics=[three_hits @ 3, "recall@5"], outputs=tmp_path)
    (tables,) = tmp_path.glob("*/queries.parquet")
    METRICS.defined.clear()
    read = wb.load(tables.parent)
    assert read.leaderboard()["three_hits@3"].tolist() == made.leaderboard()["three_hits@3"].tolist() == [1.0, 1.0]
    read.to_html(tmp_path / "again.html")


def test_a_function_is_computed_anew_by_each_call(part: wb.Dataset, tmp_path: Path) -> None:
    systems = {
        "a": wb.Pipeline(retrieval=wb.BM25Retriever()),
        "b": wb.Pipeline(chunking=wb.FixedChunker(size=64), retrieval=wb.BM25Retriever()),
    }
    value = 0.25

    @wb.metric
    def constant(query: wb.Query, hits: list[wb.Hit]) -> float:
        return value

    # What it reads changes, and the function does not.
    for value in (0.25, 0.75):
        found = wb.compare(systems, part, metrics=[constant @ 3], outputs=tmp_path)
        assert found.leaderboard()["constant@3"].tolist() == [value, value]

    @wb.metric
    def constant(query: wb.Query, hits: list[wb.Hit]) -> float:
        return 0.5

    assert wb.compare(systems, part, metrics=[constant @ 3], outputs=tmp_path).leaderboard()["constant@3"].tolist() == [0.5, 0.5]


def test_one_name_is_one_metric() -> None:
    def made(value: float) -> object:
        @wb.metric
        def share(query: wb.Query, hits: list[wb.Hit]) -> float:
            return value

        return share

    made(0.2)
    with pytest.raises(wb.InputError, match=r"there is a metric share already, of the same lines; name each: function.__name__ = "):
        made(0.3)


def test_workers_refuse_a_function(part: wb.Dataset, tmp_path: Path) -> None:
    @wb.metric
    def any_hit(query: wb.Query, hits: list[wb.Hit]) -> bool:
        return bool(hits)

    experiment = wb.Experiment("workers", part, sweep={"retrieval": [wb.BM25Retriever()]}, metrics=[any_hit @ 5])
    with pytest.raises(wb.InputError, match="any_hit@5 is a function of this process, which workers do not have"):
        wb.sweep(experiment, tmp_path, jobs=2)


def test_a_function_of_hits_keeps_the_laws() -> None:
    @wb.metric
    def first_document(query: wb.Query, hits: list[wb.Hit]) -> bool:
        return bool(hits) and hits[0].start == 0

    for law in METRIC_LAWS:
        law(METRICS["first_document"])


def fails(query: Any, hits: Any) -> Any:
    raise RuntimeError("no network\nat all")


def gives_text(query: Any, hits: Any) -> Any:
    return "high"


def gives_nan(query: Any, hits: Any) -> Any:
    return float("nan")


def overflows(query: Any, hits: Any) -> Any:
    return 10**400


def is_too_large(query: Any, hits: Any) -> Any:
    return 1e308


def cannot_be_printed(query: Any, hits: Any) -> Any:
    class Silent:
        def __repr__(self) -> str:
            raise ValueError("no text")

    return Silent()


def counts(query: Any, hits: Any) -> Any:
    return len(hits)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (overflows, "returns 1000"),
        (is_too_large, "returns 1e\\+308; return a number of at most 1e\\+100"),
        (cannot_be_printed, "returns a value of type Silent; return a number"),
        (gives_text, "returns 'high'; return a number of at most"),
        (gives_nan, "returns nan; return a number"),
        (counts, r"returns 5, which is not between 0 and 1; write @wb.metric\(proportion=False\)"),
    ],
)
def test_what_a_function_cannot_return_names_the_question(
    function: Any, message: str, indexes: dict[str, wb.Index], part: wb.Dataset
) -> None:
    with pytest.raises(wb.InputError, match=rf"the metric {function.__name__}, on the question '\S+', {message}"):
        wb.evaluate(indexes["fixed-128-0"], part, wb.metric(function) @ 5)  # type: ignore[operator]  # of hits


def test_a_question_on_which_a_function_fails_is_unscored_and_the_others_count(indexes: dict[str, wb.Index], part: wb.Dataset) -> None:
    asked = [query.query_id for query in part.queries if query.answerable]

    @wb.metric
    def fragile(query: wb.Query, hits: list[wb.Hit]) -> bool:
        if query.query_id in asked[:3]:
            raise KeyError(query.query_id)
        return True

    scores = wb.evaluate(indexes["fixed-128-0"], part, [fragile @ 5, "recall@5"])
    (row,) = scores.table.query("metric == 'fragile@5'").to_dict("records")
    assert (row["value"], row["n"], row["unscored"]) == (1.0, len(asked) - 3, 3)
    lost = scores.queries.query("metric == 'fragile@5' and state == 'unscored'").set_index("query_id")["reason"]
    assert lost.to_dict() == {name: f"the metric fragile raises KeyError({name!r})" for name in asked[:3]}
    with pytest.raises(wb.InputError, match=r"the metric fails raises RuntimeError\('no network.*, and fails on every question; mend"):
        wb.evaluate(indexes["fixed-128-0"], part, wb.metric(fails) @ 5)  # type: ignore[operator]  # of hits


def recall(query: Any, hits: Any) -> float:
    return 1.0


def Recall(query: Any, hits: Any) -> float:  # noqa: N802  # another name but for its capital
    return 1.0


async def later(query: Any, hits: Any) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda query, hits: 1, "which is no function with a name"),
        (recall, "there is a metric recall already"),
        (Recall, "there is a metric recall already"),
        (later, "the metric later is a coroutine or a generator; return its value"),
        (len, r"the metric len takes \(obj\); write def my_metric"),
        ("recall", "'recall', which is no function"),
    ],
)
def test_what_is_no_metric_is_refused(given: Any, message: str) -> None:
    with pytest.raises(wb.InputError, match=message):
        wb.metric(given)


def test_a_metric_of_answers_takes_no_cut() -> None:
    def words(query: Any, answer: Any) -> int:
        return len(answer.split())

    with pytest.raises(wb.InputError, match="the metric words takes no cut; write words"):
        wb.metric(words) @ 3  # type: ignore[operator]  # its fault is the point


def test_a_plain_function_is_told_about_the_decorator(indexes: dict[str, wb.Index], part: wb.Dataset) -> None:
    with pytest.raises(wb.InputError, match=r"the function counts is no metric; write @wb.metric above it"):
        wb.evaluate(indexes["fixed-128-0"], part, [counts])  # type: ignore[list-item]  # on purpose
