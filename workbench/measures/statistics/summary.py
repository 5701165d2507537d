"""Average per-query scores with intervals, over all queries and over slices."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.errors import InputError
from workbench.measures.metrics.coverage import Bools, Floats, ratio
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.clusters import Clusters, alike, query_slices
from workbench.measures.statistics.intervals import Interval, mean_intervals

_COLUMNS = ["metric", "slice", "value", "low", "high", "n", "clusters", "unscored", "attainable", "conditional"]
_NO_MEAN = asdict(Interval(np.nan, np.nan, np.nan, 0, 0)) | {"attainable": np.nan}


def summarise(
    queries: pd.DataFrame, clusters: Clusters, metadata: Sequence[Mapping[str, Any]] = (), crossed: Sequence[Sequence[str]] = ()
) -> pd.DataFrame:
    """Tabulate each metric and slice: `metric, slice, value, low, high, n, clusters, unscored, attainable, conditional`.

    `queries` is the output of `evaluate`, `clusters` (q) and `metadata` (q) are per query position. The slices are `all` and
    `field=value` for every metadata field with 2 to 20 distinct values, and the combinations of the fields that are `crossed`. The mean, its interval, `attainable` and `n` are over
    scored queries (`value` is NaN if there are none). `unscored` counts the others. A slice to which a metric never applies has no row.
    """
    if metadata and len(metadata) != len(clusters):
        raise InputError(f"metadata of {len(metadata)} queries for {len(clusters)} clusters", "give both for every query")
    codes, names = pd.factorize(queries["metric"])
    proportion = np.array([Metric.parse(name).proportion for name in names], dtype=np.bool_)

    def by_query(values: "pd.Series[Any]", missing: float | bool) -> NDArray[Any]:
        """Shape (metrics, queries)."""
        cells = np.full((len(names), len(clusters)), missing)
        cells[codes, queries["query"]] = values
        return cells

    value, attainable = (by_query(queries[column], np.nan) for column in ("value", "attainable"))
    scored, unscored = (by_query(queries["state"] == state, False) for state in ("scored", "unscored"))
    rows: dict[tuple[int, str], dict[str, Any]] = {}
    slices = query_slices(metadata, len(clusters), crossed)
    for label, members in slices.items():
        for index, count in enumerate((unscored & members).sum(axis=1).tolist()):
            rows[index, label] = {"metric": names[index], "slice": label} | _NO_MEAN | {"unscored": count}
        for places, chosen in alike(scored & members):
            if chosen.any():
                bounds = attainable[places][:, chosen]
                intervals = _intervals(value[places][:, chosen], bounds, clusters[chosen], proportion[places])
                each = clusters[chosen].averaged(bounds)[0]
                counts = (~np.isnan(each)).sum(axis=1)
                means = np.where(counts > 0, ratio(np.nansum(each, axis=1), counts), np.nan)
                for index, interval, most in zip(places.tolist(), intervals, means.tolist(), strict=True):
                    # `min` and `max` return their first argument beside NaN: no interval, or no known maximum.
                    high = min(interval.high, max(most, interval.value)) if proportion[index] else interval.high
                    rows[index, label] |= asdict(interval) | {"attainable": most, "high": high}
    ordered = (rows[index, label] for index in range(len(names)) for label in slices)
    return pd.DataFrame([row for row in ordered if row["slice"] == "all" or row["n"] or row["unscored"]], columns=_COLUMNS)


def _intervals(values: Floats, attainable: Floats, clusters: Clusters, proportion: Bools) -> list[Interval]:
    """The intervals of rows (r, n), those of proportions as shares of the highest attainable value.

    With one relevant document precision@5 is at most .2. Its interval is a fifth of the one of success@5.
    """
    highest = np.where(proportion, np.fmax.reduce(attainable, axis=1, initial=0.0), 1.0)
    scale = np.where(highest > 0, highest, 1.0)
    shares = np.where(proportion[:, None], np.minimum(values / scale[:, None], 1.0), values)
    means = np.nanmean(clusters.averaged(values)[0], axis=1).tolist()
    rows = zip(mean_intervals(shares, clusters, proportion=proportion), means, scale.tolist(), strict=True)
    return [replace(row, value=mean, low=row.low * most, high=row.high * most) for row, mean, most in rows]
