"""Tables of polars and pyarrow are taken wherever a DataFrame of pandas is."""

from pathlib import Path
from typing import Any

import pandas as pd
import polars
import pyarrow as pa
import pytest

import workbench as wb
from tests.systems.callable.conftest import searched
from workbench.core.errors import InputError
from workbench.core.records import TargetHit
from workbench.core.schemas import pandas_frame
from workbench.data.formats.trec import read_run, write_run
from workbench.systems.callable.target import PythonTarget

RANKINGS = {"query_id": ["q1", "q2"], "retrieved": [["a", "b"], ["c"]], "relevant": [["b"], ["d"]], "irrelevant": [["a"], []]}
RUN = {"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "c"], "rank": [1, 2, 1], "score": [0.5, 0.25, 1.0]}
QRELS = {"query_id": ["q1", "q2"], "doc_id": ["b", "d"], "relevance": [2, 1]}


class Streamed:
    """A table that has Arrow's interface alone, as those of many libraries."""

    def __init__(self, rows: dict[str, Any]) -> None:
        self.table, self.columns = pa.table(rows), list(rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.fixture(params=[polars.DataFrame, pa.table, Streamed], ids=["polars", "pyarrow", "arrow"])
def frame(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_rankings_and_judgements_have_the_same_scores(frame: Any) -> None:
    metrics = ["recall@2", "mrr@2", "ndcg@2"]
    for rows, qrels in ((RANKINGS, None), (RUN, QRELS)):
        found = wb.score(frame(rows), metrics, qrels=frame(qrels) if qrels else None)
        expected = wb.score(pd.DataFrame(rows), metrics, qrels=pd.DataFrame(qrels) if qrels else None)
        pd.testing.assert_frame_equal(found.table, expected.table)


def test_hits_are_the_rows(frame: Any) -> None:
    target = PythonTarget(name="mine", search=lambda _: frame({"doc_id": ["a", "b"], "score": [0.5, 0.25]}))
    assert searched(target, k=1) == [TargetHit("a", score=0.5)]


def test_a_run_is_written(frame: Any, tmp_path: Path) -> None:
    write_run(tmp_path / "a.run", frame(RUN), "tag")
    assert read_run(tmp_path / "a.run")["doc_id"].tolist() == ["a", "b", "c"]


def test_a_table_is_no_system(frame: Any) -> None:
    dataset = wb.Dataset("d", (wb.Document("a", "x"),), (wb.Query("q", "x"),), (wb.Qrel("q", "a", 1),))
    with pytest.raises(InputError, match=r"is a DataFrame; score its rankings with wb\.score"):
        wb.evaluate(frame(RANKINGS), dataset, ["recall@1"])


def test_other_values_and_lazy_frames_are_unchanged() -> None:
    lazy = polars.LazyFrame(RUN)
    for value in (lazy, pd.DataFrame(RUN), pd.DataFrame, [1], None):
        assert pandas_frame(value) is value
    with pytest.raises(InputError, match="the dataframe is of type LazyFrame"):
        wb.score(lazy, ["recall@2"])
