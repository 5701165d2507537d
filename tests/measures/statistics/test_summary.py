import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from workbench.core.errors import InputError
from workbench.measures.statistics.clusters import Clusters, query_slices
from workbench.measures.statistics.intervals import bounds_text, mean_intervals
from workbench.measures.statistics.summary import summarise

NAN = math.nan
METADATA = [{"type": "factoid"}, {"type": "multi-hop"}, {"type": "factoid"}, {"type": "unanswerable"}, {"type": "multi-hop"}]


@pytest.fixture
def queries() -> pd.DataFrame:
    columns = ["query", "metric", "value", "state", "attainable"]
    rows = [
        *[
            (q, "recall@5", v, s, a)
            for q, v, s, a in zip(
                range(5), (1, 0.5, 0, NAN, 1), ["scored"] * 3 + ["not_applicable", "scored"], (1, 0.5, 1, NAN, 1), strict=True
            )
        ],
        *[
            (q, "margin", v, s, NAN)
            for q, v, s in zip(
                range(5), (1.5, NAN, -3.5, NAN, NAN), ["scored", "unscored", "scored", "not_applicable", "unscored"], strict=True
            )
        ],
    ]
    return pd.DataFrame(rows, columns=columns)


def test_a_row_for_each_metric_and_slice(queries) -> None:
    table = summarise(queries, Clusters.of([0, 0, 1, 2, 3]), METADATA).set_index(["metric", "slice"])
    assert list(table.loc["recall@5"].index) == ["all", "type=factoid", "type=multi-hop"]
    row = table.loc["recall@5", "all"]
    assert row[["value", "n", "clusters", "unscored", "attainable"]].tolist() == [2.5 / 4, 4, 3, 0, 3.5 / 4]
    assert bounds_text(row["low"], row["high"], row["clusters"]) == "[documents: 3]"
    assert row["conditional"] == ""
    assert table.loc[("recall@5", "type=multi-hop"), "attainable"] == 0.75


def test_slices_are_crossed_where_questions_have_both_values(queries) -> None:
    metadata = [
        record | {"domain": domain, "tags": [domain]} for record, domain in zip(METADATA, ("hr", "it", "it", "hr", "it"), strict=True)
    ]
    crossed = [("type", "domain"), ("domain", "type"), ("type", "tags")]
    members = query_slices(metadata, 5, crossed)
    assert np.flatnonzero(members["type=multi-hop&domain=it"]).tolist() == [1, 4]
    assert "type=multi-hop&domain=hr" not in members
    assert members["domain=it&type=factoid"].tolist() == members["type=factoid&domain=it"].tolist()
    assert not any("tags" in name for name in members)
    table = summarise(queries, Clusters.of(range(5)), metadata, crossed).set_index(["metric", "slice"])
    assert table.loc[("recall@5", "type=multi-hop&domain=it"), "value"] == 0.75
    assert ("recall@5", "type=unanswerable&domain=hr") not in table.index


def test_unscored_queries_are_counted_and_left_out(queries) -> None:
    table = summarise(queries, Clusters.of(range(5)), METADATA).set_index(["metric", "slice"])
    row = table.loc["margin", "all"]
    assert row[["value", "n", "unscored"]].tolist() == [-1, 2, 2]
    nothing = table.loc["margin", "type=multi-hop"]
    assert nothing[["n", "clusters", "unscored"]].tolist() == [0, 0, 2]
    assert math.isnan(nothing["value"])


def test_a_proportion_has_the_interval_of_its_share_of_the_attainable() -> None:
    values = np.array([1, 0, 0, 1, 1, 1, 1, 1, 1, 1] * 2, dtype=float)
    scored = {"query": range(20), "state": "scored"}
    success = pd.DataFrame(scored | {"metric": "success@5", "value": values, "attainable": 1.0})
    precision = pd.DataFrame(scored | {"metric": "precision@5", "value": values / 5, "attainable": 0.2})
    one, fifth = summarise(pd.concat([success, precision]), Clusters.of(range(20))).to_dict("records")
    assert [fifth["value"], fifth["low"], fifth["high"]] == pytest.approx([one["value"] / 5, one["low"] / 5, one["high"] / 5])


def test_a_margin_is_no_proportion() -> None:
    values = [1.5, -3.5, -0.5, 0.25, -1, -2]
    margins = pd.DataFrame({"query": range(6), "metric": "margin", "value": values, "state": "scored", "attainable": NAN})
    (row,) = summarise(margins, Clusters.of(range(6))).to_dict("records")
    assert row["low"] < row["value"] - 1
    (expected,) = mean_intervals(np.array([values]), range(6), proportion=np.array([False]))
    assert (row["low"], row["high"]) == (expected.low, expected.high)


def test_a_metric_that_never_applies_keeps_its_row_for_all_queries() -> None:
    queries = pd.DataFrame({"query": [0, 1], "metric": "span_recall@5", "value": NAN, "state": "not_applicable", "attainable": NAN})
    table = summarise(queries, Clusters.of(range(2)), [{"type": "a"}, {"type": "b"}])
    assert table["slice"].tolist() == ["all"]
    assert table["n"].tolist() == [0]


def test_slices_are_fields_of_2_to_20_values() -> None:
    metadata = [
        {"type": "a" if q % 2 else "b", "id": q, "one": 1, "tags": ["x"] if q % 2 else ["y"], "year": q // 10 if q > 9 else None}
        for q in range(40)
    ]
    slices = query_slices(metadata, 40)
    assert list(slices) == ["all", "type=a", "type=b", "year=1", "year=2", "year=3"]
    assert slices["year=2"].sum() == 10
    assert list(query_slices((), 3)) == ["all"]


def test_metadata_must_fit(queries) -> None:
    with pytest.raises(InputError, match="metadata of 2 queries"):
        summarise(queries, np.arange(5), [{}, {}])


def scored(metric: str, values: Sequence[float], attainable: Sequence[float] | float) -> pd.DataFrame:
    return pd.DataFrame({"query": range(len(values)), "metric": metric, "value": values, "state": "scored", "attainable": attainable})


def test_the_columns_are_those_documented(queries) -> None:
    documented = ["metric", "slice", "value", "low", "high", "n", "clusters", "unscored", "attainable", "conditional"]
    assert list(summarise(queries, Clusters.of(range(5))).columns) == documented
    assert list(summarise(queries[:0], Clusters.of(range(5))).columns) == documented


def test_the_tables_of_configurations_are_those_of_each_alone() -> None:
    tables = {name: scored("recall@5", values, 1.0) for name, values in {"a": [1, 0, 1, 1, 0], "b": [0, 0, 1, 0.5, 1]}.items()}
    together = pd.concat([table.assign(configuration=name) for name, table in tables.items()])
    found = summarise(together, Clusters.of(range(5)), by=["configuration"])
    assert found["configuration"].tolist() == ["a", "b"]
    for name, table in tables.items():
        own = found[found["configuration"] == name].drop(columns="configuration").reset_index(drop=True)
        pd.testing.assert_frame_equal(own, summarise(table, Clusters.of(range(5))))


def test_no_mean_is_above_the_mean_attainable_value() -> None:
    # One question could reach 1, the nineteen others .2: a mean of .24 at most.
    values, attainable = [0.8, *[0.2] * 19], [1, *[0.2] * 19]
    (row,) = summarise(scored("precision@5", values, attainable), Clusters.of(range(20))).to_dict("records")
    assert row["attainable"] == pytest.approx(0.24)
    assert row["low"] < row["value"] == pytest.approx(0.23)
    assert row["high"] == row["attainable"]


def test_where_nothing_is_attainable_the_mean_is_certain() -> None:
    (row,) = summarise(scored("span_recall@5", [0.0] * 12, 0.0), Clusters.of(range(12))).to_dict("records")
    assert (row["value"], row["low"], row["high"], row["attainable"]) == (0, 0, 0, 0)


def test_each_metric_has_its_own_attainable_mean() -> None:
    # `irrelevant` has no maximum, and one question of recall has none.
    values = [1, 0, 0, 1, 1, 0]
    tables = [scored("irrelevant@5", values, NAN), scored("recall@5", values, [1, 1, 0.5, 1, 1, NAN]), scored("success@5", values, 1)]
    rows = summarise(pd.concat(tables), Clusters.of(range(6))).to_dict("records")
    assert [row["attainable"] for row in rows] == [pytest.approx(NAN, nan_ok=True), 0.9, 1]
    (expected,) = mean_intervals(np.array([values]), range(6), proportion=np.array([True]))
    assert (rows[0]["low"], rows[0]["high"]) == (expected.low, expected.high)


def test_a_slice_of_one_query_has_its_attainable_value() -> None:
    table = summarise(scored("recall@5", [1, 0.5, 0], [1, 0.5, 0.25]), Clusters.of(range(3)), [{"type": name} for name in "abb"])
    assert table["attainable"].tolist() == pytest.approx([1.75 / 3, 1, 0.375])


def test_a_value_above_the_attainable_one_by_rounding_is_all_of_it() -> None:
    (row,) = summarise(scored("precision@5", [0.1 + 0.2, 0.3, 0.3, 0.3, 0.3], 0.3), Clusters.of(range(5))).to_dict("records")
    assert row["high"] == pytest.approx(0.3)


@pytest.mark.parametrize(("distinct", "slices"), [(1, 1), (2, 3), (20, 21), (21, 1)])
def test_a_field_has_slices_from_2_to_20_values(distinct: int, slices: int) -> None:
    assert len(query_slices([{"type": place % distinct} for place in range(42)], 42)) == slices


def test_the_interval_of_a_margin_may_end_above_the_attainable_value() -> None:
    values = [1.5, -3.5, -0.5, 0.25, -1, -2]
    (row,) = summarise(scored("margin", values, -0.5), Clusters.of(range(6))).to_dict("records")
    (expected,) = mean_intervals(np.array([values]), range(6), proportion=np.array([False]))
    assert row["high"] == expected.high > row["attainable"] == -0.5
