"""Build the rows of answer metrics from the scores of a finished configuration."""

import numpy as np
import pandas as pd

from workbench.execution.result import Result
from workbench.execution.slice_fields import slice_fields
from workbench.pipeline.context import RunContext
from workbench.statistics.answers.pooling import pooled
from workbench.statistics.clusters import query_clusters, weighted
from workbench.statistics.summary import summarise

# The stages whose scores are of answers, in the order of a run's metrics.
SCORES = ("answer_scores", "judged_scores")


def answer_scores(result: Result) -> pd.DataFrame:
    """Return metric, condition, variant, repeat, query, value, state, reason of all metrics of answers, then of those of judgements.

    Empty without answers.
    """
    entries = (entry for stage in SCORES for entry in result.entries.get(stage, {}).items())
    tables = [entry.table("scores").assign(metric=name) for name, entry in entries]
    columns = ["metric", "condition", "variant", "repeat", "query", "value", "state", "reason"]
    return pd.concat(tables, ignore_index=True)[columns] if tables else pd.DataFrame(columns=columns)


def answer_queries_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return every answer metric of every question in every variant."""
    scores = answer_scores(result)
    return scores.assign(query_id=context.query_ids[scores["query"].to_numpy(np.int64)]).drop(columns="query")


def answer_metrics_table(context: RunContext, result: Result) -> pd.DataFrame:
    """Return the mean of each answer metric by condition, over all questions and over each slice.

    The repeats and perturbations of a condition are averaged within each question first. A metric that never applies in a condition has no row.
    """
    scores, metadata = answer_scores(result), [slice_fields(query) for query in context.dataset.queries]
    clusters = weighted(query_clusters(context.labels), context.average)
    means = [
        summarise(pooled(rows), clusters, metadata, context.slices).assign(condition=condition)
        for condition, rows in scores.groupby("condition", sort=False)
    ]
    table = pd.concat(means, ignore_index=True) if means else pd.DataFrame(columns=["metric", "condition"])
    return table[(table["n"] > 0) | (table["unscored"] > 0)].reset_index(drop=True) if means else table
