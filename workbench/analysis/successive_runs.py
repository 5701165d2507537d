"""Compare successive different runs of a configuration on the same questions."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from workbench.statistics.clusters import Clusters
from workbench.statistics.comparison import paired_difference
from workbench.statistics.intervals import Interval
from workbench.statistics.pairs import all_pairs


@dataclass(frozen=True)
class RunDifference:
    """A run minus the run before it, paired by question, with the p of the clustered paired t test (NaN if it does not vary).

    `difference` is None if the runs cannot be paired, for the reason in `refusal`.
    """

    before: str
    run: str
    difference: Interval | None = None
    p: float = np.nan
    refusal: str = ""


def run_differences(runs: pd.DataFrame, scores: Mapping[str, pd.DataFrame]) -> list[RunDifference]:
    """Compare each run whose result differs from the run before, oldest first.

    `runs` is a table of `results.history.changes`, `scores` contains the sets of `results.question_scores.read_scores`. p is not corrected
    for the number of runs.
    """
    rows = runs.to_dict("records")
    return [_compared(before, after, scores) for before, after in itertools.pairwise(rows) if before["result"] != after["result"]]


def _compared(before: Mapping[Any, Any], after: Mapping[Any, Any], scores: Mapping[str, pd.DataFrame]) -> RunDifference:
    ids = str(before["run"]), str(after["run"])
    missing = not all(isinstance(row["scores"], str) for row in (before, after))
    dropped = not {before["scores"], after["scores"]} <= scores.keys()
    if "questions" in after["changed"].split(", "):
        return RunDifference(*ids, refusal="other questions")
    if missing or dropped:
        return RunDifference(*ids, refusal="no scores by question" if missing else "scores by question no longer kept")
    first, last = scores[before["scores"]], scores[after["scores"]]
    if first["query_id"].tolist() != last["query_id"].tolist():
        return RunDifference(*ids, refusal="other question ids")
    values = np.array([last["value"], first["value"]], dtype=np.float64)
    both, clusters = np.asarray(~np.isnan(values).any(axis=0)), Clusters.of_table(last)
    if not both.any():
        return RunDifference(*ids, refusal="no question scored in both")
    pairs = all_pairs(values[:, both], clusters[both])
    return RunDifference(*ids, paired_difference(values[0], values[1], clusters), float(pairs.t_p[0]))
