"""Everything that a file of labels says about the judges of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workbench.analysis.judging.calibrations import calibration_table
from workbench.analysis.judging.corrections import corrections, refusal
from workbench.analysis.judging.items import METRICS_OF
from workbench.analysis.judging.labelled import LabelledRun, labelled_run
from workbench.core.formatting import aligned, interval, listed, number, plural
from workbench.errors import InputError
from workbench.results.judge_labels import LabelLine
from workbench.results.run_tables import RunTables, conform, empty
from workbench.schemas import SCHEMAS

_TITLES = {
    "balanced_accuracy": "balanced accuracy",
    "auroc": "AUROC",
    "kappa": "Cohen's kappa",
    "sensitivity": "true positives of good items",
    "false_alarms": "false positives of bad items",
    "length_bias": "correlation of verdict - label with length",
    "position_bias": "correlation of verdict - label with passage",
    "human_agreement": "agreement of two people",
    "human_kappa": "kappa of two people",
}


@dataclass(frozen=True, eq=False)
class LabelledTasks:
    """The tables `labels`, `calibration` and `corrected` of a run, and for each task why nothing is corrected."""

    labels: pd.DataFrame
    calibration: pd.DataFrame
    corrected: pd.DataFrame
    refusals: tuple[str, ...]

    def report(self) -> Iterator[str]:
        """Yield the tables as lines for a terminal."""
        for task, rows in self.calibration.groupby("task", sort=False):
            first = rows.iloc[0]
            where = "of this run" if first["source"] == "run" else "from elsewhere"
            yield f"{task}: {first['judge'] or 'the judge'}, on {plural(int(first['labels']), 'label')} {where}"
            yield from _values(rows)
            yield from _curve(rows)
        yield from _corrected(self.corrected)
        yield from self.refusals


def labelled_tasks(run: RunTables, lines: Sequence[LabelLine], condition: str) -> LabelledTasks:
    """Measure the judge of every task that the lines have labels of, and correct its metrics.

    Raises
    ------
    InputError
        If no line has a label, or a task is unknown.
    """
    tasks = list(dict.fromkeys(line.task for line in lines if line.label))
    unknown = [task for task in tasks if task not in METRICS_OF]
    if unknown:
        raise InputError(f"{listed(unknown)} cannot be labelled", f"label {listed(list(METRICS_OF))}")
    if not tasks:
        raise InputError("no item is labelled", "fill in `label` in the lines that workbench judge sample wrote")
    joined = [labelled_run(run, task, condition, lines) for task in tasks]
    corrected = [corrections(each) for each in joined]
    whole = [table for table in corrected if len(table)]
    return LabelledTasks(
        pd.concat([_labels(each, lines) for each in joined], ignore_index=True),
        pd.concat([calibration_table(each) for each in joined], ignore_index=True),
        pd.concat(whole, ignore_index=True) if whole else empty(SCHEMAS["corrected"]),
        tuple(_refusal(each) for each in joined if _refusal(each)),
    )


def _refusal(labelled: LabelledRun) -> str:
    others = len(labelled.elsewhere)
    left_out = f"; {plural(others, 'label')} of other runs correct nothing" if others else ""
    reason = refusal(labelled)
    return f"{labelled.task}: {reason}{left_out}" if reason or left_out else ""


def _labels(labelled: LabelledRun, lines: Sequence[LabelLine]) -> pd.DataFrame:
    columns = ["item_id", "configuration", "condition", "query_id", "repeat", "number"]
    given = [{"item_id": line.item_id, "label": line.label, "annotator": line.annotator} for line in lines if line.label]
    rows = labelled.items[columns].merge(pd.DataFrame(given, columns=["item_id", "label", "annotator"]), on="item_id")
    return conform(SCHEMAS["labels"], rows.assign(task=labelled.task))


def _values(rows: pd.DataFrame) -> list[str]:
    chosen: list[dict[str, Any]] = [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]
    shown = [row for row in chosen if row["measure"] in _TITLES]
    unparsed = next(int(row["value"]) for row in chosen if row["measure"] == "unparsed")
    known = [[_TITLES[row["measure"]], number(row["value"], 2), interval(row["low"], row["high"], 2), str(int(row["n"]))] for row in shown]
    lines = aligned([["", "value", "95 % interval", "labels"], *known])
    return [*lines, *([f"{plural(unparsed, 'labelled item has', 'labelled items have')} no verdict"] if unparsed else [])]


def _curve(rows: pd.DataFrame) -> list[str]:
    curve = rows[rows["measure"] == "curve"].to_dict("records")
    lines = [[number(row["at"], 2), number(row["value"], 2), interval(row["low"], row["high"], 2), str(int(row["n"]))] for row in curve]
    return aligned([["mean score", "labelled good", "95 % interval", "labels"], *lines])


def _corrected(table: pd.DataFrame) -> list[str]:
    rows = [["corrected", "", "value", "95 % interval", "covers", "labels"]]
    for row in table.to_dict("records"):
        name = f"{row['configuration']} - {row['other']}" if row["other"] else str(row["configuration"])
        values = [number(row["value"]), interval(row["low"], row["high"]), str(row["target"]), str(int(row["labels"]))]
        rows.append([str(row["metric"]), name, *values])
    return aligned(rows) if len(rows) > 1 else []
