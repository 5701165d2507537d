"""Per-query scores as means with intervals, over all queries and over slices of them."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Ints
from workbench.metrics.names import Metric
from workbench.statistics.intervals import mean_interval

FEWEST_VALUES, MOST_VALUES = 2, 20
COLUMNS = ["metric", "slice", "value", "low", "high", "n", "clusters", "unscored", "attainable"]


def summarise(queries: pd.DataFrame, clusters: Ints, metadata: Sequence[Mapping[str, Any]] = (), level: float = 0.95) -> pd.DataFrame:
    """A row for each metric and slice: `metric, slice, value, low, high, n, clusters, unscored, attainable`.

    `queries` is what `evaluate` returns; `clusters` (q) and `metadata` (q) are per query position. The slices are `all` and
    `field=value` for every metadata field with 2 to 20 distinct values. The mean, its interval, `attainable` and `n` are over
    scored queries; `unscored` counts those that are not. Where none is scored, `value` is NaN and `n` 0; where the metric
    applies to no query of a slice other than `all`, there is no row.
    """
    if metadata and len(metadata) != len(clusters):
        raise InputError(f"metadata of {len(metadata)} queries for {len(clusters)} clusters", "give both for every query")
    slices = query_slices(metadata, len(clusters))
    rows = []
    for name, table in queries.groupby("metric", sort=False):
        position = table["query"].to_numpy()
        for label, members in slices.items():
            part = table[members[position]]
            if label == "all" or (part["state"] != "not_applicable").any():
                rows.append({"metric": name, "slice": label, **_row(part, clusters, Metric.parse(str(name)).proportion, level)})
    return pd.DataFrame(rows, columns=COLUMNS)


def query_slices(metadata: Sequence[Mapping[str, Any]], queries: int) -> dict[str, Bools]:
    """The members (queries) of `all` and of every `field=value`, fields in alphabetical order, values as text."""
    slices: dict[str, Bools] = {"all": np.ones(queries, dtype=np.bool_)}
    for field in sorted({field for record in metadata for field in record}):
        values = [record.get(field) for record in metadata]
        if not all(isinstance(value, Hashable) for value in values):
            continue
        texts = np.array(["" if value is None else str(value) for value in values])
        distinct = [text for text in np.unique(texts).tolist() if text]
        if FEWEST_VALUES <= len(distinct) <= MOST_VALUES:
            slices.update({f"{field}={text}": texts == text for text in distinct})
    return slices


def _row(table: pd.DataFrame, clusters: Ints, proportion: bool, level: float) -> dict[str, float]:
    scored = table[table["state"] == "scored"]
    row = {"n": 0, "clusters": 0, "unscored": int((table["state"] == "unscored").sum())}
    if scored.empty:
        return {**row, "value": float("nan"), "low": float("nan"), "high": float("nan"), "attainable": float("nan")}
    groups = clusters[scored["query"].to_numpy()]
    mean = mean_interval(scored["value"].to_numpy(), groups, level, proportion=proportion)
    row |= {"n": mean.n, "clusters": mean.clusters}
    return {**row, "value": mean.value, "low": mean.low, "high": mean.high, "attainable": float(scored["attainable"].mean())}
