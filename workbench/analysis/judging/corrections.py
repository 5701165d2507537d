"""Means and differences of the configurations of a run, corrected by labels."""

import itertools
from typing import Any

import numpy as np
import pandas as pd

from workbench.analysis.judging.items import METRICS_OF
from workbench.analysis.judging.labelled import LabelledRun
from workbench.errors import InputError
from workbench.results.run_tables import conform, empty
from workbench.schemas import SCHEMAS
from workbench.statistics.judging.items import FEWEST_LABELS, TARGETS, CorrectedValue, LabelledItems
from workbench.statistics.judging.post_stratified import corrected_mean
from workbench.statistics.judging.rectified import corrected_difference

_SCHEMA = SCHEMAS["corrected"]


def corrections(labelled: LabelledRun) -> pd.DataFrame:
    """Return the table `corrected` of a task: the mean of every configuration with at least 50 labels, and the difference of every two.

    Differences need 50 questions with labels of both configurations.
    """
    rows: list[dict[str, Any]] = []
    for metric in METRICS_OF[labelled.task]:
        items = {name: labelled.of(name, metric) for name in labelled.configurations}
        for name, each in items.items():
            rows += _rows("mean", metric, name, "", [each])
        for a, b in itertools.combinations(items, 2):
            rows += _rows("difference", metric, a, b, [items[a], items[b]])
    return conform(_SCHEMA, pd.DataFrame(rows)) if rows else empty(_SCHEMA)


def refusal(labelled: LabelledRun) -> str:
    """Say why a configuration has no corrected mean, empty if all have one."""
    counts = {name: int(labelled.of(name, METRICS_OF[labelled.task][0]).labelled.sum()) for name in labelled.configurations}
    few = {name: count for name, count in counts.items() if count < FEWEST_LABELS}
    if not few:
        return ""
    listed = ", ".join(f"{name} {count}" for name, count in few.items())
    return f"a correction needs {FEWEST_LABELS} labels of drawn items of each configuration; too few: {listed}"


def _rows(scope: str, metric: str, name: str, other: str, items: list[LabelledItems]) -> list[dict[str, Any]]:
    found = []
    for target in TARGETS:
        try:
            value = corrected_mean(items[0], target) if scope == "mean" else corrected_difference(items[0], items[1], target)
        except InputError:
            # Too few labels: `refusal` says so.
            continue
        found.append(_row(value) | {"scope": scope, "metric": metric, "configuration": name, "other": other})
    return found


def _row(value: CorrectedValue) -> dict[str, Any]:
    names = ("value", "low", "high", "labels", "n", "target", "method")
    return {name: np.nan if (part := getattr(value, name)) is None else part for name in names}
