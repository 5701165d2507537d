"""The rows of a table by question, found without reading the others."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from workbench.results.run_tables import RunTables


@dataclass(frozen=True, eq=False)
class QueryRows:
    """A table whose rows are ordered by question, with the first and the last row of each."""

    table: pd.DataFrame
    bounds: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, table: pd.DataFrame) -> "QueryRows":
        """Order a table by question, keeping the order of a question's rows."""
        codes, query_ids = pd.factorize(table["query_id"])
        if np.any(np.diff(codes) < 0):
            order = np.argsort(codes, kind="stable")
            table, codes = table.iloc[order], codes[order]
        places = np.searchsorted(codes, np.arange(len(query_ids) + 1)).tolist()
        return cls(table, {str(query_id): (places[at], places[at + 1]) for at, query_id in enumerate(query_ids)})

    def frame(self, query_id: str) -> pd.DataFrame:
        """The rows of a question, none if the table does not have it."""
        low, high = self.bounds.get(query_id, (0, 0))
        return self.table.iloc[low:high]

    def records(self, query_id: str) -> list[dict[str, Any]]:
        """The rows of a question as mappings by column."""
        return [{str(name): value for name, value in row.items()} for row in self.frame(query_id).to_dict("records")]


@lru_cache(maxsize=96)
def rows_of(run: RunTables, table: str, configuration: str) -> QueryRows:
    """The rows of one configuration by question."""
    return QueryRows.of(run.of(table, configuration))


@lru_cache(maxsize=16)
def rows_of_run(run: RunTables, table: str) -> QueryRows:
    """The rows of a table without configurations by question."""
    return QueryRows.of(run.table(table))
