"""What mostly goes wrong with one configuration: how many queries miss evidence by which cause, and the slice it serves worst."""

from dataclasses import dataclass

import numpy as np

from workbench.analysis.pairwise import FEWEST_QUERIES, Examined, examined
from workbench.analysis.slice_means import slice_means_of
from workbench.attribution.causes import CAUSE_NAMES
from workbench.results.run_tables import RunTables
from workbench.statistics.intervals import Interval


@dataclass(frozen=True)
class Weakest:
    """The slice (`field=value`) with the worst mean of a metric."""

    slice: str
    mean: Interval


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
    return FailureSummary(*counted_causes(examined(run, configuration)), weakest_slice(run, configuration))


def counted_causes(looked: Examined) -> tuple[int, dict[str, tuple[int, float]]]:
    """How many queries are scored, and (queries, share) of them by the cause of what they miss, the most frequent first."""
    found = looked.causes[~np.isnan(looked.values)]
    counts = {cause: int((found == cause).sum()) for cause in CAUSE_NAMES}
    ordered = sorted((cause for cause in counts if counts[cause]), key=lambda cause: -counts[cause])
    return len(found), {cause: (counts[cause], counts[cause] / len(found)) for cause in ordered}


def weakest_slice(run: RunTables, configuration: str) -> Weakest | None:
    """The slice with the worst mean among those of 20 scored queries or more; the first of equals."""
    table = slice_means_of(run, configuration)
    large = table[(table["slice"] != "all") & (table["n"] >= FEWEST_QUERIES)]
    if large.empty:
        return None
    row = large.sort_values("value", ascending=run.primary.higher_is_better, kind="stable").iloc[0]
    mean = Interval(float(row["value"]), float(row["low"]), float(row["high"]), int(row["n"]), int(row["clusters"]))
    return Weakest(str(row["slice"]), mean)
