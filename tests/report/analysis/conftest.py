"""Runs whose tables are written by hand: only what is asked of them is there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import pytest

from workbench.core.schemas import SCHEMAS
from workbench.report.results.run_tables import RunTables

MEASURE = {"k": None, "tokens": None, "higher_is_better": True, "proportion": True, "bounded_by_k": False, "definition": "", "source": ""}
_FILLED = {"str": "", "int64": 0, "float64": 0.0, "bool": False, "Int64": 0, "boolean": False}


@pytest.fixture
def tables() -> Callable[..., RunTables]:
    """Makes a run of a manifest and of tables by name, each a list of rows with some of their columns."""

    def make(manifest: Mapping[str, Any] | None = None, **rows: Sequence[Mapping[str, Any]]) -> RunTables:
        usual: dict[str, Any] = {
            "experiment": {"name": "by-hand"},
            "primary": "ndcg@10",
            "baseline": None,
            "average": "questions",
            "smallest_difference": 0.02,
            "failures": {},
            "configurations": {},
        }
        usual["dataset"] = {"name": "by-hand", "documents": 1, "queries": 1, "unanswerable": 0, "judgements": 1, "needs": 1}
        usual["metrics"] = {"ndcg@10": MEASURE | {"name": "ndcg", "family": "documents", "k": 10}}
        made = {name: _table(name, found) for name, found in rows.items()}
        return RunTables(usual | dict(manifest or {}), {name: lambda _, table=table: table for name, table in made.items()})

    return make


def _table(name: str, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    schema = SCHEMAS[name]
    filled = [{column: _FILLED[kind] for column, kind in schema.dtypes.items()} | dict(row) for row in rows]
    return pd.DataFrame(filled, columns=schema.names)
