import math

import numpy as np
import pandas as pd
import pytest

from workbench.errors import InputError
from workbench.statistics.clusters import Clusters, query_slices
from workbench.statistics.intervals import bounds_text
from workbench.statistics.summary import summarise

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


def test_a_metric_that_never_applies_keeps_its_row_for_all_queries() -> None:
    queries = pd.DataFrame({"query": [0, 1], "metric": "span_recall@5", "value": NAN, "state": "not_applicable", "attainable": NAN})
    table = summarise(queries, Clusters.of(range(2)), [{"type": "a"}, {"type": "b"}])
    assert table["slice"].tolist() == ["all"]
    assert table["n"].tolist() == [0]


def test_slices_are_fields_of_2_to_20_values() -> None:
    metadata = [{"type": "a" if q % 2 else "b", "id": q, "one": 1, "tags": ["x"], "year": q // 10 if q > 9 else None} for q in range(40)]
    slices = query_slices(metadata, 40)
    assert list(slices) == ["all", "type=a", "type=b", "year=1", "year=2", "year=3"]
    assert slices["year=2"].sum() == 10
    assert list(query_slices((), 3)) == ["all"]


def test_metadata_must_fit(queries) -> None:
    with pytest.raises(InputError, match="metadata of 2 queries"):
        summarise(queries, np.arange(5), [{}, {}])
