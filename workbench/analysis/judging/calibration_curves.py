"""The calibration of judges as values to show: the curve, the measures, and the agreement with labels by configuration."""

from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from workbench.analysis.judging.disagreements import disagreements
from workbench.judging.base import TASKS
from workbench.results.run_tables import RunTables


class CalibrationMeasure(NamedTuple):
    """A measure of a judge with its 95 % interval (NaN without one), from `n` labels."""

    name: str
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class JudgeCalibration:
    """The measures of the judge of a task on labels.

    The points of `curve` are (mean score, share labelled as good with its bounds, number of labels), the lowest score first. `source` is `run` or
    `elsewhere`.
    """

    task: str
    judge: str
    source: str
    labels: int
    measures: tuple[CalibrationMeasure, ...]
    curve: tuple[CalibrationMeasure, ...]
    scores: tuple[float, ...]


class LabelledConfiguration(NamedTuple):
    """The labels of a configuration's items, and how many of these items the judge decides differently."""

    configuration: str
    labels: int
    different: int


def calibrations(run: RunTables) -> tuple[JudgeCalibration, ...]:
    """Return the calibration of the judge of each task with labels. Empty without labels."""
    present = set(run.calibration["task"])
    return tuple(_calibration(task, run.calibration[run.calibration["task"] == task]) for task in TASKS if task in present)


def labelled_configurations(run: RunTables, task: str) -> list[LabelledConfiguration]:
    """Count labels and disagreements of each configuration, in the order of the run. Empty without labels of this run."""
    rows = run.labels[run.labels["task"] == task].drop_duplicates("item_id")
    labels, different = rows["configuration"].value_counts(), disagreements(run, task)["configuration"].value_counts()
    return [LabelledConfiguration(name, int(labels[name]), int(different.get(name, 0))) for name in run.names if name in labels.index]


def _calibration(task: str, rows: pd.DataFrame) -> JudgeCalibration:
    curve = rows[rows["measure"] == "curve"].sort_values("at")
    placed = ("curve", "position_judged", "position_labelled")
    first = rows.iloc[0]
    return JudgeCalibration(
        task,
        str(first["judge"]),
        str(first["source"]),
        int(first["labels"]),
        _measures(rows[~rows["measure"].isin(placed)]),
        _measures(curve),
        tuple(curve["at"].tolist()),
    )


def _measures(rows: pd.DataFrame) -> tuple[CalibrationMeasure, ...]:
    columns = ["measure", "value", "low", "high", "n"]
    return tuple(CalibrationMeasure(*each) for each in rows[columns].itertuples(index=False, name=None))
