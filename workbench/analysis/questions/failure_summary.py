"""The failures of one configuration: the queries that miss something by each cause, and its worst slice."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from workbench.analysis.pairwise import FEWEST_QUERIES
from workbench.analysis.questions.miss_causes import causes_by_query
from workbench.analysis.slice_means import slice_means_of
from workbench.analysis.standings import Mean, mean_of
from workbench.analysis.values import per_query
from workbench.attribution.causes import CAUSE_NAMES
from workbench.results.run_tables import RunTables


class Weakest(NamedTuple):
    """The slice (`field=value`) with the worst mean of a metric."""

    slice: str
    mean: Mean


@dataclass(frozen=True)
class FailureSummary:
    """Of `of` scored queries those that miss something by each cause: (queries, share), the most frequent first.

    `weakest` is None where no slice has 20 scored queries.
    """

    of: int
    causes: dict[str, tuple[int, float]]
    weakest: Weakest | None


def faults_of(run: RunTables, configuration: str) -> FailureSummary:
    """The faults of a configuration as the primary metric sees them."""
    scored = ~np.isnan(per_query(run, configuration, str(run.primary)))
    counts, of = Counter(causes_by_query(run, configuration)[scored].tolist()), int(scored.sum())
    ordered = sorted((cause for cause in CAUSE_NAMES if counts[cause]), key=lambda cause: -counts[cause])
    return FailureSummary(of, {cause: (counts[cause], counts[cause] / of) for cause in ordered}, weakest_slice(run, configuration))


def weakest_slice(run: RunTables, configuration: str) -> Weakest | None:
    """The slice with the worst mean among those of 20 scored queries or more; the first of equals."""
    table = slice_means_of(run, configuration)
    large = table[(table["slice"] != "all") & (table["n"] >= FEWEST_QUERIES)]
    if large.empty:
        return None
    row = large.sort_values("value", ascending=run.primary.higher_is_better, kind="stable").iloc[0]
    return Weakest(str(row["slice"]), mean_of(row))
