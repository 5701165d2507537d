"""The measures of a run's judges on labelled items, as a table and as the text of a badge."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.analysis.judging.items import YES, judge_of
from workbench.analysis.judging.labelled import LabelledRun, item_weights
from workbench.analysis.values import clusters, places
from workbench.core.formatting import interval, number, plural
from workbench.errors import InputError
from workbench.metrics.coverage import Floats
from workbench.results.judge_labels import LabelLine
from workbench.results.run_tables import RunTables, conform
from workbench.schemas import SCHEMAS
from workbench.statistics.judging.calibration import Calibration, CalibrationValue, JudgedLabels, agreement, calibration

Source = Literal["run", "elsewhere"]
# The measures that have a single value, in reading order.
MEASURES = ("balanced_accuracy", "auroc", "kappa", "sensitivity", "false_alarms", "length_bias", "position_bias")
NOT_MEASURED = "not measured"


def calibration_table(labelled: LabelledRun) -> pd.DataFrame:
    """Return the table `calibration` of a task, from labelled items of this run, or else from those of others.

    Raises
    ------
    InputError
        If no item is labelled, or labelled items of other runs come without the judge's verdict or score.
    """
    rows = labelled.labelled
    if len(rows):
        return _table(labelled, "run", _of_run(labelled), _people(labelled))
    if not labelled.elsewhere:
        raise InputError(
            f"no item of the task {labelled.task} is labelled", "fill in `label` in the lines that workbench judge sample wrote"
        )
    return _table(labelled, "elsewhere", _of_lines(labelled.elsewhere), None)


def badge(run: RunTables, task: str) -> str:
    """Return what is known about the judge of a task: `measured on 60 labels of this run: …`, `measured elsewhere …`, or `not measured`."""
    table = run.calibration
    rows = table[(table["task"] == task) & (table["measure"] == "balanced_accuracy")].to_dict("records")
    if not rows:
        return NOT_MEASURED
    row = rows[0]
    labels, source = int(row["labels"]), str(row["source"])
    value = f"balanced accuracy {number(row['value'], 2)} {interval(row['low'], row['high'], 2)}"
    if source == "elsewhere":
        return f"measured elsewhere, on {plural(labels, 'label')}: {value}"
    return f"measured on {plural(labels, 'label')} of this run: {value}"


def _of_run(labelled: LabelledRun) -> JudgedLabels:
    """The labelled items, each with the number of items of its configuration and verdict that it represents."""
    items = labelled.items
    classes = items["yes"].fillna(2)
    weights = np.concatenate([item_weights(rows) for _, rows in items.groupby("configuration", sort=False)])
    order = np.concatenate([rows.index.to_numpy() for _, rows in items.groupby("configuration", sort=False)])
    weight = pd.Series(weights, index=order).reindex(items.index)
    keys = [items["configuration"], classes]
    chosen = items["label"] != ""
    of_class, counted = weight.groupby(keys).transform("sum"), chosen.groupby(keys).transform("sum")
    rows = items[chosen]
    codes = clusters(labelled.run).codes[places(labelled.run, rows["query_id"])]
    text = rows["claim"] if labelled.task == "support" else rows["answer"]
    return JudgedLabels(
        _numbers(rows["yes"]),
        _approved(rows["label"]),
        _numbers(rows["score"]),
        _numbers((of_class / counted)[chosen]),
        codes,
        _numbers(text.str.len()),
        _numbers(rows["passage"].mask(rows["passage"] < 0)),
    )


def _of_lines(lines: Sequence[LabelLine]) -> JudgedLabels:
    """Labels with the verdict or score that their lines have. The question is the cluster."""
    blind = sum(not line.verdict and line.score is None for line in lines)
    if blind:
        reason = f"{plural(blind, 'labelled item is', 'labelled items are')} not of this run and without the judge's `verdict` or `score`"
        raise InputError(reason, "label items of this run, or add the judge's verdict to each line")
    scores = np.array([np.nan if line.score is None else line.score for line in lines], dtype=np.float64)
    verdicts = np.array([float(line.verdict in ("supported", "yes")) if line.verdict else np.nan for line in lines])
    judged = np.where(np.isnan(verdicts), (scores >= YES).astype(np.float64), verdicts)
    codes = np.unique([line.query_id for line in lines], return_inverse=True)[1].astype(np.int64)
    lengths = np.array([len(line.claim or line.answer) for line in lines], dtype=np.float64)
    labels = _approved(pd.Series([line.label for line in lines], dtype="str"))
    return JudgedLabels(judged, labels, scores, np.ones(len(lines)), codes, lengths, np.full(len(lines), np.nan))


def _numbers(column: "pd.Series[Any]") -> Floats:
    return np.asarray(column, dtype=np.float64)


def _approved(labels: "pd.Series[str]") -> Floats:
    return np.asarray(labels.isin(["supported", "yes"]), dtype=np.float64)


def _people(labelled: LabelledRun) -> tuple[CalibrationValue, CalibrationValue] | None:
    """The agreement of two people, None if no item has two labels."""
    rows = labelled.items[labelled.items["second"] != ""]
    if rows.empty:
        return None
    codes = clusters(labelled.run).codes[places(labelled.run, rows["query_id"])]
    return agreement(_approved(rows["first"]), _approved(rows["second"]), codes)


def _table(
    labelled: LabelledRun, source: Source, items: JudgedLabels, people: tuple[CalibrationValue, CalibrationValue] | None
) -> pd.DataFrame:
    found = calibration(items)
    rows = [*_measures(found, people)]
    named = {"task": labelled.task, "judge": judge_of(labelled.run, labelled.task), "labels": found.labels, "source": source}
    return conform(SCHEMAS["calibration"], pd.DataFrame([{"at": np.nan, **row, **named} for row in rows]))


def _measures(found: Calibration, people: tuple[CalibrationValue, CalibrationValue] | None) -> Iterator[dict[str, Any]]:
    values: dict[str, CalibrationValue] = {name: getattr(found, name) for name in MEASURES}
    if people:
        values |= {"human_agreement": people[0], "human_kappa": people[1]}
    for name, value in values.items():
        yield {"measure": name} | _columns(value)
    yield {"measure": "unparsed", "value": float(found.unparsed), "low": np.nan, "high": np.nan, "n": found.labels}
    for each in found.curve:
        yield {"measure": "curve", "at": each.score} | _columns(each.good)
    for place in found.positions:
        for name, share in (("position_judged", place.judged), ("position_labelled", place.good)):
            yield {"measure": name, "at": float(place.position), "value": share, "low": np.nan, "high": np.nan, "n": place.n}


def _columns(value: CalibrationValue) -> dict[str, Any]:
    return {"value": value.value, "low": value.low, "high": value.high, "n": value.n}
