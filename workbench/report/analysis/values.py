"""The values of a run as arrays over its questions, in the order of the table `questions`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.memo import memoised
from workbench.core.records import is_draft
from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.clusters import Clusters, query_slices, weighted
from workbench.report.results.run_tables import RETRIEVED, RunTables, retrieved_values

# Fewer are not conclusive.
FEWEST_QUERIES, FEWEST_CLUSTERS = 20, 5


def per_query(run: RunTables, configuration: str, metric: str) -> Floats:
    """The metric's values. Shape (queries,), NaN for a query without one."""
    return _values(run).get((configuration, metric), np.full(len(run.questions), np.nan))


def unscored_queries(run: RunTables, configuration: str, metric: str) -> Bools:
    """Mark the questions that have no value of a metric although it applies. Shape (queries,)."""
    rows = _unscored(run, configuration, metric)
    return run.questions["query_id"].isin(rows["query_id"]).to_numpy(np.bool_)


def unscored_reasons(run: RunTables, configuration: str, metric: str) -> list[str]:
    """The reasons for which a metric has no value although it applies, with the number of questions, the most frequent first."""
    reasons = _unscored(run, configuration, metric)["reason"]
    return [f"{count} × {reason}" for reason, count in reasons.value_counts().items()]


def _unscored(run: RunTables, configuration: str, metric: str) -> pd.DataFrame:
    rows = run.of("queries", configuration)
    return rows[(rows["metric"] == metric) & (rows["condition"] == RETRIEVED) & (rows["state"] == "unscored")]


def detail(run: RunTables, configuration: str, name: str) -> Floats:
    """A column of `query_details`. Shape (queries,)."""
    rows = run.of("query_details", configuration).set_index("query_id")
    return rows[name].reindex(run.questions["query_id"]).to_numpy(np.float64)


@memoised(1)
def clusters(run: RunTables) -> Clusters:
    """The source documents of each question, since questions on one document are not independent. Shape (queries,).

    Nothing is tested on questions some of which are drafts that nobody has accepted.
    """
    return replace(weighted(Clusters.of_table(run.questions), run.average), tested=not any(map(is_draft, metadata(run))))


@memoised(1)
def metadata(run: RunTables) -> Sequence[Mapping[str, Any]]:
    """The metadata of each question, whose fields define the slices."""
    return [json.loads(text) for text in run.questions["metadata"]]


@memoised(1)
def slices(run: RunTables) -> Mapping[str, Bools]:
    """Boolean masks of `all` and of every slice, crossed ones last. Shape (queries,)."""
    return query_slices(metadata(run), len(run.questions), run.manifest["experiment"].get("slices", ()))


def rewrites(run: RunTables, configuration: str) -> dict[str, list[str]]:
    """The texts searched in place of each question, by its id. Empty without a rewriter."""
    texts: dict[str, list[str]] = {}
    rows = run.of("rewrites", configuration)
    for query_id, text in zip(rows["query_id"], rows["text"], strict=True):
        texts.setdefault(query_id, []).append(text)
    return texts


def holding_half(run: RunTables, metric: str) -> int | None:
    """The number of documents that half of the questions scored by a metric are about, if they are few: the rest counts little in means.

    None if documents count equally, or if their effective number (Kish 1965), n² / Σ n_g², is at least half of their number.
    """
    groups = clusters(run)
    scored = ~np.isnan([per_query(run, name, metric) for name in run.names]).all(axis=0)
    sizes = np.sort(np.bincount(groups.codes[scored]))[::-1]
    sizes = sizes[sizes > 0]
    if groups.equal or len(sizes) < FEWEST_CLUSTERS or sizes.sum() ** 2 / (sizes**2).sum() >= len(sizes) / 2:
        return None
    return int(np.searchsorted(np.cumsum(sizes), sizes.sum() / 2)) + 1


def small(groups: Clusters) -> str:
    """Say why the queries in the clusters `groups` (n) are too few to be conclusive. Empty if they are enough."""
    few = [f"fewer than {FEWEST_QUERIES} questions"] if len(groups) < FEWEST_QUERIES else []
    few += [f"from fewer than {FEWEST_CLUSTERS} documents"] if groups.count < FEWEST_CLUSTERS else []
    return ", ".join(few)


def places(run: RunTables, query_ids: "pd.Series[str]") -> Ints:
    """The position of each query id among the questions. Shape (query_ids,)."""
    positions: Ints = pd.Index(run.questions["query_id"]).get_indexer(pd.Index(query_ids)).astype(np.int64)
    return positions


@memoised(1)
def _values(run: RunTables) -> dict[tuple[str, str], Floats]:
    table = retrieved_values(run.queries)
    query, value = places(run, table["query_id"]), table["value"].to_numpy(np.float64)
    codes, names = pd.factorize(pd.MultiIndex.from_frame(table[["configuration", "metric"]]))
    cube = np.full((len(names), len(run.questions)), np.nan)
    cube[codes, query] = value
    return {(str(name), str(metric)): row for (name, metric), row in zip(names, cube, strict=True)}
