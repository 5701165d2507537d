"""The answers of a configuration as rows of the table `answers`, and shares of them with intervals."""

from functools import lru_cache

import numpy as np
import pandas as pd

from workbench.analysis.standings import standings
from workbench.analysis.values import clusters, places
from workbench.results.run_tables import RunTables
from workbench.statistics.answers.losses import mean_interval
from workbench.statistics.intervals import Interval

# The reason of a metric that says nothing about answers that are copied from the context.
VERBATIM = "verbatim by construction"


@lru_cache(maxsize=4)
def answering(run: RunTables) -> tuple[str, ...]:
    """Return the finished configurations that have answers, in the order of the ranking, then those that are not ranked."""
    present = set(run.answers["configuration"])
    return tuple(standing.name for standing in standings(run).finished if standing.name in present)


@lru_cache(maxsize=64)
def answers_of(run: RunTables, configuration: str) -> pd.DataFrame:
    """Return a configuration's rows of `answers`. Callers must not change them."""
    return run.of("answers", configuration)


def is_verbatim(run: RunTables, configuration: str) -> bool:
    """Return whether the answers are copied from the context, so that they can neither be unfaithful nor obey it."""
    return configuration in _verbatim(run)


def question_share(run: RunTables, rows: pd.DataFrame, happened: "pd.Series[bool]") -> Interval | None:
    """Return the share of answers in which something `happened`, the mean over questions with its interval. None without rows.

    Repeats and variants of a question are averaged first.
    """
    shares = happened.astype(np.float64).groupby(rows["query_id"], sort=False).mean()
    values = np.full(len(run.questions), np.nan)
    values[places(run, pd.Series(shares.index, dtype="str"))] = shares.to_numpy(np.float64)
    return mean_interval(values, clusters(run), True)


@lru_cache(maxsize=4)
def _verbatim(run: RunTables) -> frozenset[str]:
    rows = run.queries
    return frozenset(rows.loc[rows["reason"] == VERBATIM, "configuration"])
