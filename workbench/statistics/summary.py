"""Per-query scores as means with intervals, over all queries and over slices of them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.metrics.names import Metric
from workbench.statistics.clusters import alike
from workbench.statistics.intervals import Interval, mean_intervals
from workbench.statistics.slices import query_slices

NAN = float("nan")
COLUMNS = ["metric", "slice", "value", "low", "high", "n", "clusters", "unscored", "attainable"]


def summarise(queries: pd.DataFrame, clusters: Ints, metadata: Sequence[Mapping[str, Any]] = ()) -> pd.DataFrame:
    """A row for each metric and slice: `metric, slice, value, low, high, n, clusters, unscored, attainable`.

    `queries` is what `evaluate` returns; `clusters` (q) and `metadata` (q) are per query position. The slices are `all` and
    `field=value` for every metadata field with 2 to 20 distinct values. The mean, its interval, `attainable` and `n` are over
    scored queries; `unscored` counts those that are not. Where none is scored, `value` is NaN and `n` 0; where the metric
    applies to no query of a slice other than `all`, there is no row.
    """
    if metadata and len(metadata) != len(clusters):
        raise InputError(f"metadata of {len(metadata)} queries for {len(clusters)} clusters", "give both for every query")
    known = _Known.of(queries, len(clusters))
    found = {label: _rows(known, members, clusters) for label, members in query_slices(metadata, len(clusters)).items()}
    rows: list[dict[str, Any]] = []
    for place, name in enumerate(known.names):
        told = {label: rows_of[place] for label, rows_of in found.items()}
        rows += [{"metric": name, "slice": label, **row} for label, row in told.items() if label == "all" or row["n"] or row["unscored"]]
    return pd.DataFrame(rows, columns=COLUMNS)


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known of m metrics and q queries: all (m, q), NaN and False where a metric says nothing of a query."""

    names: list[str]
    value: Floats
    attainable: Floats
    scored: Bools
    unscored: Bools

    @classmethod
    def of(cls, queries: pd.DataFrame, count: int) -> "_Known":
        codes, names = pd.factorize(queries["metric"])
        places, shape = (codes, queries["query"].to_numpy(np.int64)), (len(names), count)
        numbers, states = np.full((2, *shape), np.nan), np.zeros((2, *shape), dtype=np.bool_)
        for place, column in enumerate(("value", "attainable")):
            numbers[place][places] = queries[column].to_numpy(np.float64)
        for place, state in enumerate(("scored", "unscored")):
            states[place][places] = (queries["state"] == state).to_numpy(np.bool_)
        return cls([str(name) for name in names], *numbers, *states)


def _rows(known: _Known, members: Bools, clusters: Ints) -> list[dict[str, float]]:
    """A row for each metric over the queries that are members (q)."""
    unscored = (known.unscored & members).sum(axis=1).tolist()
    nothing = asdict(Interval(NAN, NAN, NAN, 0, 0)) | {"attainable": NAN}
    rows = [nothing | {"unscored": count} for count in unscored]
    proportion = np.array([Metric.parse(name).proportion for name in known.names], dtype=np.bool_)
    for places, here in alike(known.scored & members):
        if here.any():
            intervals = mean_intervals(known.value[places][:, here], clusters[here], proportion=proportion[places])
            attainable = _means(known.attainable[places][:, here])
            for place, interval, most in zip(places.tolist(), intervals, attainable.tolist(), strict=True):
                rows[place] |= asdict(interval) | {"attainable": most}
    return rows


def _means(values: Floats) -> Floats:
    """(r) the means of the numbers in each row (r, n); NaN where there is none."""
    counts = (~np.isnan(values)).sum(axis=1)
    found: Floats = np.divide(np.nansum(values, axis=1), counts, out=np.full(len(values), np.nan), where=counts > 0)
    return found
