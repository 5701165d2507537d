import math

import numpy as np
import pandas as pd
import pytest

from workbench.core.errors import InputError
from workbench.measures.metrics.case import Case
from workbench.measures.metrics.evaluate import evaluate, unjudged_values
from workbench.measures.metrics.inputs import Retrieved
from workbench.measures.metrics.names import Metric
from workbench.measures.metrics.registry import METRICS

EVERY = [Metric(name, k=None if kind.cut == "none" else 2) for name, kind in METRICS.items() if not kind.of_answers]


@pytest.fixture
def labels(make_labels):
    return make_labels(
        ["alpha beta", "gamma delta"],
        {"qrels": {0: 1}, "needs": [[(0, 0, 5)]]},
        {"qrels": {1: 0}, "answerable": False},
        {"qrels": {1: 1}},
        {"qrels": {0: 0}},
    )


@pytest.fixture
def chunks():
    return [(0, 0, 10), (1, 0, 11)]


def _states(table: pd.DataFrame, query: int) -> dict[str, tuple[str, str]]:
    rows = table[table["query"] == query]
    return {name.partition("@")[0]: (state, why) for name, state, why in zip(rows["metric"], rows["state"], rows["reason"], strict=True)}


def test_a_row_for_each_metric_and_query(labels, make_retrieved, chunks) -> None:
    table = evaluate(labels, make_retrieved(chunks, [0], [1], [1], [0]), [*EVERY, EVERY[0]])
    assert list(table.columns) == ["query", "metric", "value", "state", "reason", "attainable"]
    assert list(dict.fromkeys(table["metric"])) == [str(metric) for metric in EVERY]
    assert len(table) == len(EVERY) * 4
    assert table["value"].notna().equals(table["state"] == "scored")
    assert (table["reason"] == "").equals(table["state"] == "scored")
    assert table["attainable"][table["state"] == "not_applicable"].isna().all()


def test_unanswerable_queries_are_not_applicable_but_for_irrelevant(labels, make_retrieved, chunks) -> None:
    states = _states(evaluate(labels, make_retrieved(chunks, [0], [1], [1], [0]), EVERY), 1)
    assert states.pop("irrelevant") == ("scored", "")
    assert set(states.values()) == {("not_applicable", "unanswerable")}


def test_what_labels_do_not_allow_is_not_applicable(labels, make_retrieved, chunks) -> None:
    table = evaluate(labels, make_retrieved(chunks, [0], [1], [1], [0]), EVERY)
    without_evidence, unjudged = _states(table, 2), _states(table, 3)
    assert without_evidence["span_recall"] == without_evidence["span_precision_omega"] == ("not_applicable", "no evidence spans")
    assert without_evidence["chunk_precision"] == without_evidence["recall"] == ("scored", "")
    assert without_evidence["irrelevant"] == ("not_applicable", "no known-irrelevant document")
    assert unjudged["recall"] == unjudged["chunk_precision"] == ("not_applicable", "no relevant document")
    assert unjudged["irrelevant"] == ("scored", "")


def test_no_results_score_0(labels, make_retrieved, chunks) -> None:
    table = evaluate(labels, make_retrieved(chunks, [], [], [], []), EVERY)
    scored = table[table["state"] == "scored"]
    assert (scored["value"][scored["metric"] != "span_precision_omega"] == 0).all()
    assert set(table["metric"][table["state"] == "unscored"]) == {"margin", "margin_spread"}
    assert len(scored[scored["query"] == 0]) == len(EVERY) - 3


def test_a_corpus_without_evidence_or_chunks(make_labels, make_retrieved) -> None:
    table = evaluate(make_labels(["a"], {"qrels": {0: 1}}), make_retrieved([], []), EVERY)
    assert math.isnan(table.set_index("metric")["value"]["span_recall@2"])
    assert table.set_index("metric")["value"]["recall@2"] == 0


def test_an_unknown_definition_is_refused(labels, make_retrieved, chunks) -> None:
    with pytest.raises(InputError, match="choose exact or chroma"):
        evaluate(labels, make_retrieved(chunks, [0], [1], [1], [0]), EVERY, "chrome")


def test_malformed_tables_are_refused(make_retrieved, chunks) -> None:
    good = make_retrieved(chunks, [0, 1], [1], [], [])
    with pytest.raises(InputError, match="hits has no column score"):
        Retrieved(good.chunks, good.hits.drop(columns="score"), good.ranking, good.spread)
    with pytest.raises(InputError, match="sort it by query, rank"):
        Retrieved(good.chunks, good.hits[::-1], good.ranking, good.spread)


def test_unjudged_documents_count_0_and_1(make_labels, make_retrieved) -> None:
    # Document 0 is relevant, 1 judged and not, 2 and 3 unjudged; the second query is unanswerable.
    labels = make_labels(["aaaa"] * 4, {"qrels": {0: 1, 1: 0}}, {"answerable": False})
    retrieved = make_retrieved([(doc, 0, 4) for doc in range(4)], [2, 1, 0, 3], [0, 1])
    case = Case(labels, retrieved, "exact")
    low, high = unjudged_values(case, Metric.parse("precision@2"))
    assert (low[0], high[0]) == (0, 0.5)
    assert np.isnan([low[1], high[1]]).all()
    low, high = unjudged_values(case, Metric.parse("mrr@10"))
    assert (low[0], high[0]) == (pytest.approx(1 / 3), 1)
    low, high = unjudged_values(case, Metric.parse("recall@2"))
    assert (low[0], high[0]) == (0, 0.5)


def test_metrics_of_chunks_are_refused(make_labels, make_retrieved) -> None:
    labels, retrieved = make_labels(["aaaa"], {"qrels": {0: 1}}), make_retrieved([(0, 0, 4)], [0])
    with pytest.raises(InputError, match="is not over documents"):
        unjudged_values(Case(labels, retrieved, "exact"), Metric.parse("hit_recall@2"))


def test_a_query_without_a_relevant_document_has_no_bounds_over_unjudged_ones(make_labels, make_retrieved) -> None:
    # Graded 1, the unjudged document would be its only relevant one.
    labels, retrieved = make_labels(["aaaa"] * 2, {"qrels": {0: 0}}), make_retrieved([(0, 0, 4), (1, 0, 4)], [1, 0])
    low, high = unjudged_values(Case(labels, retrieved, "exact"), Metric.parse("recall@2"))
    assert np.isnan([low[0], high[0]]).all()


def test_no_metrics_are_an_empty_table_with_its_columns(labels, make_retrieved, chunks) -> None:
    table = evaluate(labels, make_retrieved(chunks, [0], [1], [1], [0]), [])
    assert table.empty
    assert list(table.columns) == ["query", "metric", "value", "state", "reason", "attainable"]
