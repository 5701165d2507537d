import datetime
import math
import re
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench
from tests.docs.conftest import DOCS, blocks
from tests.measures.metrics.reference import FORMULAS, ranked
from workbench.components.retrieval.rank import tie_breakers
from workbench.core.errors import InputError

ALL = ["recall@3", "precision@3", "success@3", "mrr@3", "ndcg@3", "map@3", "recall_cap@3", "judged@3", "irrelevant@3"]


@pytest.fixture
def lists() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "query_id": ["a", "b", "c"],
            "retrieved": [["d1", "d2", "d3", "d4"], ["d9"], []],
            "relevant": [{"d2": 2, "d4": 1, "d8": 1}, ["d9"], ["d7"]],
            "irrelevant": [["d1"], None, ["d1"]],
        }
    )


@pytest.fixture
def qrels() -> pd.DataFrame:
    rows = [("a", "d2", 2), ("a", "d4", 1), ("a", "d8", 1), ("b", "d9", 1), ("c", "d7", 1), ("a", "d1", 0), ("c", "d1", 0)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])


@pytest.fixture
def run() -> pd.DataFrame:
    rows = [("a", "d1", 1), ("a", "d2", 2), ("a", "d3", 3), ("a", "d4", 4), ("b", "d9", 1)]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "rank"])


def value(scores: workbench.Scores, query: object, metric: str) -> float:
    found = scores.queries
    return found.loc[(found["query_id"] == query) & (found["metric"] == metric), "value"].item()


def test_worked_by_hand(lists: pd.DataFrame) -> None:
    scores = workbench.score(lists, ALL)
    expected = {
        "recall@3": 1 / 3,
        "precision@3": 1 / 3,
        "success@3": 1,
        "mrr@3": 1 / 2,
        "ndcg@3": (2 / math.log2(3)) / (2 + 1 / math.log2(3) + 1 / 2),
        "map@3": (1 / 2) / 3,
        "recall_cap@3": 1 / 3,
        "judged@3": 2 / 3,
        "irrelevant@3": 1,
    }
    assert {metric: value(scores, "a", metric) for metric in ALL} == pytest.approx(expected)
    table = scores.table.set_index("metric")
    assert list(scores.table.columns) == ["metric", "value", "low", "high", "n", "clusters", "unscored", "attainable", "conditional"]
    assert list(scores.queries.columns) == ["query_id", "metric", "value", "state", "reason"]
    assert table.loc["recall@3", "value"] == pytest.approx((1 / 3 + 1 + 0) / 3)
    assert table.loc["precision@3", "attainable"] == pytest.approx((1 + 1 / 3 + 1 / 3) / 3)
    assert table.loc["irrelevant@3", ["value", "n"]].tolist() == [0.5, 2]


def test_a_query_without_results_scores_0_and_is_in_the_mean(lists: pd.DataFrame) -> None:
    scores = workbench.score(lists, ["recall@3"])
    assert value(scores, "c", "recall@3") == 0
    assert scores.table["n"].item() == 3
    assert "1 answerable question has no results: each counts as 0 in the mean." in scores.notes


def test_nothing_retrieved_at_all_scores_0() -> None:
    scores = workbench.score(pd.DataFrame({"retrieved": [[], []], "relevant": [["a"], ["b"]]}), ALL[:8])
    assert scores.table["value"].tolist() == [0] * 8
    assert scores.queries["query_id"].tolist()[:2] == [0, 1]


def test_both_shapes_say_the_same(lists: pd.DataFrame, run: pd.DataFrame, qrels: pd.DataFrame) -> None:
    expected = workbench.score(lists, ALL)
    from_zero = run.assign(rank=run["rank"] - 1)
    scored = run.assign(score=-run["rank"].astype(float)).drop(columns="rank")
    outer = run.merge(qrels, how="outer")
    cases = [
        workbench.score(run.sample(frac=1, random_state=1), ALL, qrels=qrels),
        workbench.score(from_zero, ALL, qrels=qrels),
        workbench.score(scored, ALL, qrels=qrels),
        workbench.score(outer, ALL, all_judged=True),
        workbench.score(lists[["query_id", "retrieved"]], ALL, qrels=qrels),
        workbench.score(lists[:2].rename(columns={"retrieved": "retrieved_doc_ids"})[["query_id", "retrieved_doc_ids"]], ALL, qrels=qrels),
    ]
    for scores in cases:
        pd.testing.assert_frame_equal(scores.table, expected.table)
        order = ["metric", "query_id"]
        ours = scores.queries.sort_values(order, ignore_index=True)
        pd.testing.assert_frame_equal(ours, expected.queries.sort_values(order, ignore_index=True))


def test_other_names_of_columns_are_read(lists: pd.DataFrame, run: pd.DataFrame, qrels: pd.DataFrame) -> None:
    expected = workbench.score(lists, ["recall@3", "irrelevant@3"]).table
    theirs = {"retrieved": "retrieved_doc_ids", "relevant": "expected_doc_ids", "irrelevant": "irrelevant_doc_ids", "query_id": "qid"}
    pd.testing.assert_frame_equal(workbench.score(lists.rename(columns=theirs), ["recall@3", "irrelevant@3"]).table, expected)
    pyterrier = {"query_id": "qid", "doc_id": "docno", "relevance": "label"}
    renamed = workbench.score(run.rename(columns=pyterrier), ["recall@3", "irrelevant@3"], qrels=qrels.rename(columns=pyterrier))
    pd.testing.assert_frame_equal(renamed.table, expected)


GRADES = st.dictionaries(st.integers(0, 7), st.integers(-1, 3))
SCORES = st.dictionaries(st.integers(0, 9), st.sampled_from([0.25, 0.5, 0.75]))


@settings(max_examples=20)
@given(questions=st.lists(st.tuples(GRADES, SCORES), max_size=3), k=st.integers(1, 12))
def test_equal_to_the_formulas(questions: list, k: int) -> None:
    questions = [*questions, ({0: 2}, {0: 0.5, 1: 0.5})]
    judged = [{f"d{doc}": grade for doc, grade in (grades | {10: 1}).items()} for grades, _ in questions]
    scored = [{f"d{doc}": score for doc, score in scores.items()} for _, scores in questions]
    frame, qrels = (
        pd.DataFrame([(query, doc, value) for query, row in enumerate(rows) for doc, value in row.items()], columns=["qid", "docno", name])
        for name, rows in (("score", scored), ("label", judged))
    )
    table = workbench.score(frame, [f"{name}@{k}" for name in FORMULAS], qrels=qrels).queries
    found = {(query, metric): score for query, metric, score in table[["query_id", "metric", "value"]].itertuples(index=False)}
    assert found == pytest.approx(
        {
            (query, f"{name}@{k}"): formula(ranked(scored[query].items()), judged[query], k)
            for query in range(len(questions))
            for name, formula in FORMULAS.items()
        },
        abs=1e-12,
    )


def test_without_all_judgements_undefined_metrics_are_refused_or_not_shown(run: pd.DataFrame, qrels: pd.DataFrame) -> None:
    frame = run.merge(qrels, how="left")
    known = ["precision@3", "success@3", "mrr@3", "judged@3"]
    ours, full = workbench.score(frame, known), workbench.score(run, known, qrels=qrels[qrels["query_id"] != "c"])
    pd.testing.assert_frame_equal(ours.queries, full.queries)
    assert math.isnan(ours.table["attainable"][0])
    assert any("not retrieved are unknown" in note for note in ours.notes)
    for metric in ("recall@3", "recall_cap@3", "ndcg@3", "map@3", "irrelevant@3"):
        with pytest.raises(InputError, match="cannot be computed without the judged documents") as error:
            workbench.score(frame, [metric])
        assert "pass qrels=, or all_judged=True" in str(error.value)


def test_a_query_without_relevant_results_stays_in_the_mean() -> None:
    frame = pd.DataFrame({"query_id": [1, 1, 2], "doc_id": [1, 2, 1], "rank": [1, 2, 1], "relevance": [0, 1, np.nan]})
    assert workbench.score(frame, ["precision@1", "success@2"]).table["value"].tolist() == [0, 0.5]


def test_equal_scores_are_ordered_by_the_seeded_hash_in_any_order_of_rows() -> None:
    docs = [f"d{number}" for number in range(20)]
    first = docs[int(np.argmin(tie_breakers(docs)))]
    frame = pd.DataFrame({"query_id": "q", "doc_id": docs, "score": 0.5})
    qrels = pd.DataFrame({"query_id": ["q"], "doc_id": [first], "relevance": [1]})
    for seed in range(3):
        scores = workbench.score(frame.sample(frac=1, random_state=seed), ["mrr@20"], qrels=qrels)
        assert value(scores, "q", "mrr@20") == 1


def test_scores_however_close_are_not_ties() -> None:
    frame = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [1e-12, 2e-12], "relevance": [0, 1]})
    assert workbench.score(frame, ["mrr@2"], all_judged=True).table["value"].item() == 1


def test_unanswerable_queries_are_not_applicable_except_to_irrelevant(lists: pd.DataFrame) -> None:
    frame = lists.assign(answerable=[True, True, False], relevant=[["d2"], ["d9"], None], retrieved=[["d2"], ["d9"], ["d1"]])
    scores = workbench.score(frame, ["recall@3", "irrelevant@3"])
    state = scores.queries.set_index(["query_id", "metric"])
    assert state.loc[("c", "recall@3"), ["state", "reason"]].tolist() == ["not_applicable", "unanswerable"]
    assert value(scores, "c", "irrelevant@3") == 1
    assert scores.table["n"].tolist() == [2, 2]


def test_clusters_are_as_given_else_by_the_relevant_documents() -> None:
    frame = pd.DataFrame({"retrieved": [["x"], ["y"], ["x"], ["z"]], "relevant": [["x"], ["x"], ["x", "z"], ["z"]]})
    # Three clusters (x, the third question, z), but only two documents.
    assert workbench.score(frame, ["recall@1"]).table["clusters"].item() == 2
    given = workbench.score(frame.assign(cluster=["m", "m", "n", "n"]), ["recall@1"])
    assert given.table["clusters"].item() == 2
    assert given.table["value"].item() == workbench.score(frame, ["recall@1"]).table["value"].item()


def test_numbers_and_text_are_the_same_id_and_come_back_as_given() -> None:
    run = pd.DataFrame({"query_id": [7, 7], "doc_id": ["1", "2"], "rank": [1, 2]})
    qrels = pd.DataFrame({"query_id": ["7"], "doc_id": [2], "relevance": [1]})
    scores = workbench.score(run, ["mrr@2"], qrels=qrels)
    assert scores.table["value"].item() == 0.5
    assert scores.queries["query_id"].tolist() == [7]


def test_ids_that_never_match_and_short_rankings_are_noted() -> None:
    scores = workbench.score(pd.DataFrame({"retrieved": [["a.md"]], "relevant": [["a"]]}), ["recall@1", "recall@5"])
    assert any("do the ids" in note for note in scores.notes)
    assert any("more than 1 document: recall@5" in note for note in scores.notes)


def test_it_is_shown_as_a_table_and_escaped(lists: pd.DataFrame) -> None:
    scores = workbench.score(lists.assign(query_id=["<script>", "b", "c"]), ["recall@3", "precision@3"])
    html = scores._repr_html_()
    assert "<script" not in html
    assert re.search(r'<th scope="row"[^>]*>recall@3</th>', html)
    assert "no results: each counts as 0" in html
    assert re.search(r"recall@3 +0\.444 +\[documents: 3\]", repr(scores))
    assert "no results: each counts as 0" in repr(scores)


def test_the_frame_is_left_as_it_was(lists: pd.DataFrame, run: pd.DataFrame, qrels: pd.DataFrame) -> None:
    before = lists.copy(deep=True), run.copy(), qrels.copy()
    workbench.score(lists, ["recall@3"])
    workbench.score(run, ["recall@3"], qrels=qrels)
    for frame, old in zip((lists, run, qrels), before, strict=True):
        pd.testing.assert_frame_equal(frame, old)


ONE = {"retrieved": [["a"]], "relevant": [["a"]]}
ROW = {"query_id": ["q", "q"], "doc_id": ["a", "b"], "rank": [1, 2], "relevance": [1, 0]}
JUDGED = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "relevance": [1]})


def test_invalid_input_is_an_error_of_one_line_with_a_fix(wording) -> None:
    wrong = {
        "an unknown metric": (ONE, {"metrics": ["recal@5"]}),
        "no metric": (ONE, {"metrics": []}),
        "a metric of spans": (ONE, {"metrics": ["span_recall@5"]}),
        "a metric of all scores": (ONE, {"metrics": ["margin"]}),
        "all_judged for lists": (ONE, {"all_judged": True}),
        "qrels and relevant": (ONE, {"qrels": JUDGED}),
        "no columns": ({}, {}),
        "neither question nor document": ({"text": ["x"]}, {}),
        "no relevant": ({"retrieved": [["a"]]}, {}),
        "two columns of relevant documents": (ONE | {"relevant_doc_ids": [["a"]]}, {}),
        "a list as text": (ONE | {"retrieved": ["['a']"]}, {}),
        "no list": (ONE | {"retrieved": [None]}, {}),
        "a set": (ONE | {"retrieved": [{"a"}]}, {}),
        "a document twice": (ONE | {"retrieved": [["a", "b", "a"]]}, {}),
        "a number as id": (ONE | {"retrieved": [[1.0]]}, {}),
        "an empty id": (ONE | {"retrieved": [[""]]}, {}),
        "no relevant document": (ONE | {"relevant": [[]]}, {}),
        "not answerable with a relevant document": (ONE | {"answerable": [False]}, {}),
        "answerable as text": (ONE | {"answerable": ["no"]}, {}),
        "no cluster": (ONE | {"cluster": [None]}, {}),
        "relevant and irrelevant": (ONE | {"irrelevant": [["a"]]}, {}),
        "a grade that is no whole number": (ONE | {"relevant": [{"a": 0.5}]}, {}),
        "a grade as text": (ONE | {"relevant": [{"a": "high"}]}, {}),
        "an infinite grade": (ONE | {"relevant": [{"a": math.inf}]}, {}),
        "a huge grade": (ONE | {"relevant": [{"a": 10**9}]}, {}),
        "a grade that no float can express": (ONE | {"relevant": [{"a": 10**400}]}, {}),
        "a negative grade": (ONE | {"relevant": [{"a": -1}]}, {}),
        "no grade": (ONE | {"relevant": [{"a": None}]}, {}),
        "a negative grade of a row": (ROW | {"relevance": [-1, None]}, {"all_judged": True}),
        "an id that is a duration": (ONE | {"retrieved": [[np.timedelta64(1, "D")]]}, {}),
        "a question twice": ({"query_id": ["q", "q"], "retrieved": [[], []], "relevant": [["a"], ["a"]]}, {}),
        "no rank": (ROW | {"rank": [1, None]}, {}),
        "a rank that is left out": (ROW | {"rank": [1, 3]}, {}),
        "a rank twice": (ROW | {"rank": [1, 1]}, {}),
        "a rank between two": (ROW | {"rank": [1, 1.5]}, {}),
        "a rank as text": (ROW | {"rank": ["1", "second"]}, {}),
        "an infinite rank": (ROW | {"rank": [1, math.inf]}, {}),
        "a row twice": (ROW | {"doc_id": ["a", "a"], "relevance": [1, 1]}, {"all_judged": True}),
        "two clusters of a question": (ROW | {"cluster": ["x", "y"]}, {}),
        "no score": ({key: ROW[key] for key in ("query_id", "doc_id", "relevance")}, {}),
        "no relevance": ({key: ROW[key] for key in ("query_id", "doc_id", "rank")}, {}),
        "qrels and relevance": (ROW, {"qrels": JUDGED}),
        "qrels as a list": (ROW, {"qrels": [("q", "a", 1)]}),
        "qrels as a mapping": ({key: ROW[key] for key in ("query_id", "doc_id", "rank")}, {"qrels": {"q": {"a": 1}}}),
        "no cluster of a question of the qrels": (
            {"query_id": ["p"], "doc_id": ["a"], "rank": [1], "cluster": ["x"]},
            {"qrels": pd.concat([JUDGED, JUDGED.assign(query_id="p")])},
        ),
    }
    wording(lambda case: workbench.score(pd.DataFrame(case[0]), **{"metrics": ["precision@5"]} | case[1]), wrong)


NO_NUMBERS = {
    "a duration": [datetime.timedelta(2), datetime.timedelta(1)],
    "a day": [datetime.date(2026, 1, 2), datetime.date(2026, 1, 1)],
    "a moment": [datetime.datetime(2026, 1, 2), datetime.datetime(2026, 1, 1)],
    "a time of day": [datetime.time(2), datetime.time(1)],
    "bytes": [b"2", b"1"],
}


@pytest.mark.parametrize(
    "library", [pd.DataFrame, pl.DataFrame, pa.table, lambda rows: pa.table(rows).to_pandas(types_mapper=pd.ArrowDtype)]
)
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_a_time_and_bytes_are_no_score_no_rank_and_no_grade(library: Callable[[object], pd.DataFrame], kind: str) -> None:
    rows = {"query_id": ["q", "q"], "doc_id": ["a", "b"]}
    for column in ("score", "rank"):
        with pytest.raises(InputError, match=rf"^{column} contains .* \(\w+\); give finite numbers$"):
            workbench.score(library(rows | {column: NO_NUMBERS[kind]}), ["precision@1"], qrels=JUDGED)
    with pytest.raises(InputError, match=r"^document 'a' of question 'q' has the relevance .* \(\w+\); grades are whole numbers"):
        workbench.score(library(ROW | {"relevance": NO_NUMBERS[kind]}), ["precision@1"])


@pytest.mark.parametrize("value", [np.timedelta64(2, "D"), np.timedelta64(2, "ns"), 2 + 0j, 10**400, "2_0", "nan"])
def test_other_values_are_no_score_and_no_grade(value: object) -> None:
    column = pd.Series([value, 1], dtype=object)
    with pytest.raises(InputError, match=r"^score contains .*; give finite numbers$"):
        workbench.score(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": column}), ["precision@1"], qrels=JUDGED)
    with pytest.raises(InputError, match=r"has the relevance .*; grades are whole numbers"):
        workbench.score(pd.DataFrame(ROW | {"relevance": column}), ["precision@1"])


@pytest.mark.parametrize("kind", [int, float, str, Decimal, np.int8, np.float32])
def test_numbers_of_every_kind_are_scores_and_grades(kind: Callable[[int], object]) -> None:
    values = pd.Series([kind(1), kind(2)], dtype=object)
    for column in (values, values.infer_objects()):
        frame = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": column, "relevance": column})
        assert workbench.score(frame, ["ndcg@2"], all_judged=True).table["value"].item() == 1


def test_no_document_is_no_id_whatever_pandas_makes_of_it() -> None:
    with pytest.raises(InputError, match=r"doc_id contains '(nan|None)' .*, which is not an id; give text or whole numbers"):
        workbench.score(pd.DataFrame(ROW | {"doc_id": ["a", None]}), ["precision@5"])


def test_other_types_than_dataframes_are_refused() -> None:
    with pytest.raises(InputError, match="the dataframe is of type list; make it a pandas DataFrame"):
        workbench.score([{"retrieved": ["a"], "relevant": ["a"]}], ["recall@5"])  # type: ignore[arg-type]  # wrong on purpose


def test_scoring_loads_no_model_and_no_index(run_python) -> None:
    script = """
import sys, workbench
assert not {"pandas", "numpy", "workbench.api.scoring.score"} & set(sys.modules)
import pandas as pd
scores = workbench.score(pd.DataFrame({"retrieved": [["a"]], "relevant": [["a"]]}), ["recall@5"])
repr(scores), scores._repr_html_()
heavy = {"torch", "chromadb", "sentence_transformers", "transformers", "tokenizers", "matplotlib", "workbench.runner.experiment"}
print(scores.table["value"].item(), *sorted(heavy & set(sys.modules)))
"""
    assert run_python(script) == "1.0"


def test_the_page_runs_as_it_is_written() -> None:
    examples = blocks(DOCS / "how-to" / "evaluate_your_system.md", "python", "A table of rankings")
    assert len(examples) == 2
    names: dict = {}
    values = []
    for example in examples:
        exec(compile(example, "block", "exec"), names)
        values.append(names["scores"].table["value"].tolist())
    assert values[0][0] == 1
    assert values[0][2:] == [0.75, 1]
    assert values[1:] == [[0.5, 0.25]]


def test_questions_that_share_too_many_documents_limit_the_interval_to_this_corpus() -> None:
    # Twelve documents, of which every question has the first and another one.
    relevant = [["d0", f"d{1 + place % 11}"] for place in range(44)]
    frame = pd.DataFrame({"retrieved": [["d0", f"d{1 + place % 7}"] for place in range(44)], "relevant": relevant})
    scores = workbench.score(frame, ["recall@5"])
    (row,) = scores.table.to_dict("records")
    assert (row["conditional"], row["clusters"]) == ("this corpus, other questions", 12)
    assert "] this corpus" in repr(scores)
    assert "covers other questions on the same documents only" in scores.notes[-1]
