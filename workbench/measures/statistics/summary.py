"""Summaries of scores: means with intervals over slices, pooled repeats and their variance, and losses of answers."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.core.errors import InputError
from workbench.measures.metrics.coverage import Bools, Floats, ratio
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.clusters import Clusters, alike, query_slices
from workbench.measures.statistics.effects import Change, Effect, effects
from workbench.measures.statistics.intervals import Interval, mean_intervals
from workbench.measures.statistics.randomisation import FLIPS

_COLUMNS = ["metric", "slice", "value", "low", "high", "n", "clusters", "unscored", "attainable", "conditional"]
_NO_MEAN = asdict(Interval(np.nan, np.nan, np.nan, 0, 0)) | {"attainable": np.nan}


def summarise(
    queries: pd.DataFrame,
    clusters: Clusters,
    metadata: Sequence[Mapping[str, Any]] = (),
    crossed: Sequence[Sequence[str]] = (),
    by: Sequence[str] = (),
) -> pd.DataFrame:
    """Tabulate each metric and slice: `metric, slice, value, low, high, n, clusters, unscored, attainable, conditional`.

    `queries` is the output of `evaluate`, `clusters` (q) and `metadata` (q) are per query position. The slices are `all` and
    `field=value` for every metadata field with 2 to 20 distinct values, and the combinations of the fields that are `crossed`. The mean, its interval, `attainable` and `n` are over
    scored queries (`value` is NaN if there are none). `unscored` counts the others. A slice to which a metric never applies has no row.
    `by` names columns of `queries`, such as the configuration, with a table for each of their combinations.
    """
    if metadata and len(metadata) != len(clusters):
        raise InputError(f"metadata of {len(metadata)} queries for {len(clusters)} clusters", "give both for every query")
    keys = [*by, "metric"]
    codes, distinct = queries.groupby(keys, sort=False).ngroup().to_numpy(), queries[keys].drop_duplicates()
    names = [dict(zip(keys, values, strict=True)) for values in distinct.itertuples(index=False, name=None)]
    proportion = np.array([Metric.parse(name["metric"]).proportion for name in names], dtype=np.bool_)

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
            rows[index, label] = {**names[index], "slice": label} | _NO_MEAN | {"unscored": count}
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
    return pd.DataFrame([row for row in ordered if row["slice"] == "all" or row["n"] or row["unscored"]], columns=[*by, *_COLUMNS])


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


# The best state counts: a question with a value in any variant has one.
_STATES = ("scored", "unscored", "not_applicable")


def pooled(scores: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Return a row for each metric and question of one condition: `metric, query, value, state, reason, attainable`. `by`: see `summarise`.

    `scores` has `metric, query, variant, repeat, value, state, reason`. The repeats of a variant are averaged first, then the variants, so that
    missing repeats do not shift the weights of the variants. A question without any value is `unscored` if it is in some variant, else
    `not_applicable`, with the first reason of that state. Metrics keep their order.
    """
    keys = [*by, "metric", "query"]
    repeats = scores.groupby([*keys, "variant"], sort=False)["value"].mean()
    values = repeats.groupby(keys, sort=False).mean().rename("value")
    ranks = scores.assign(rank=scores["state"].map({state: rank for rank, state in enumerate(_STATES)}))
    first = ranks.sort_values("rank", kind="stable").drop_duplicates(keys)[[*keys, "state", "reason"]]
    table = values.reset_index().merge(first, on=keys, validate="one_to_one")
    return table.assign(attainable=np.nan)


@dataclass(frozen=True, slots=True)
class RepeatVariance:
    """The components of variance of a metric over `n` questions with at least two values each.

    `between_repeats` is the variance of one answer around the question's expected value, `between_questions` that of the expected values.
    `reliability` is the share of the variance of a single answer that is between questions, NaN if nothing varies. `changed` counts the questions with
    different values.
    """

    between_repeats: float
    between_questions: float
    reliability: float
    changed: int
    n: int


def repeat_variance(values: Floats) -> RepeatVariance | None:
    """Estimate the components from values (repeats, q; NaN if unscored) by one-way analysis of variance. None without two repeated questions.

    With r_i values of question i, N in total, s² between repeats is Σ (x_ij - x_i)² / (N - q), and s² between questions is
    (MS - s²) / r0, at least 0, where MS = Σ r_i (x_i - x)² / (q - 1) and r0 = (N - Σ r_i² / N) / (q - 1) (Searle, Casella and McCulloch 1992).
    """
    repeated = values[:, (~np.isnan(values)).sum(axis=0) >= 2]
    questions = repeated.shape[1]
    if questions < 2:
        return None
    counts = (~np.isnan(repeated)).sum(axis=0)
    total, means = int(counts.sum()), np.nanmean(repeated, axis=0)
    within = float(np.nansum((repeated - means) ** 2) / (total - questions))
    grand = float((counts * means).sum() / total)
    between = float((counts * (means - grand) ** 2).sum() / (questions - 1))
    size = (total - float((counts**2).sum()) / total) / (questions - 1)
    component = max(0.0, (between - within) / size)
    changed = int((np.nanmax(repeated, axis=0) > np.nanmin(repeated, axis=0)).sum())
    whole = component + within
    return RepeatVariance(within, component, component / whole if whole > 0 else np.nan, changed, questions)


# The range of a metric between 0 and 1.
_TOTAL = 1.0


def losses(pairs: Mapping[tuple[str, str], tuple[Floats, Floats]], clusters: Clusters, flips: int = FLIPS) -> dict[tuple[str, str], Effect]:
    """Estimate each loss from the values (q, NaN if unscored) in the clean and in the degraded context, by the names of both.

    A positive difference is a loss, and its `reading` is `loss` only if the corrected p is at most .05 with enough questions and documents.
    A pair without a question that has both values is left out.
    """
    changes = {names: clean - degraded for names, (clean, degraded) in pairs.items() if not np.isnan(clean - degraded).all()}
    estimated = effects([Change(each[None], sides) for sides, each in changes.items()], clusters, _TOTAL, sign=-1.0, flips=flips)
    return dict(zip(changes, estimated, strict=True))


def mean_interval(values: Floats, clusters: Clusters, proportion: bool) -> Interval | None:
    """The mean of values (q, NaN if unscored) with its 95 % interval, None without a value."""
    scored: Bools = ~np.isnan(values)
    return mean_intervals(values[None, scored], clusters[scored], proportion=np.array([proportion]))[0] if scored.any() else None


def mean_of_repeats(repeats: Floats) -> Floats:
    """The mean (q) of the rows of values (r, q), without their NaN; NaN where all are."""
    scored = ~np.isnan(repeats)
    counts = scored.sum(axis=0)
    return np.where(counts > 0, np.where(scored, repeats, 0.0).sum(axis=0) / np.maximum(counts, 1), np.nan)
