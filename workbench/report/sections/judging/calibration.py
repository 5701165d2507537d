"""How a judge agrees with people: its measures and its calibration curve, by configuration, and disagreements to read first."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.analysis.judging.calibration_curves import CalibrationMeasure, JudgeCalibration, calibrations, labelled_configurations
from workbench.analysis.judging.disagreements import disagreements
from workbench.core.formatting import count, interval, number, plural, share
from workbench.report.cells import count_cell, described, text, value_cell, words
from workbench.report.figures import judging_plots
from workbench.report.model import Block, Cell, Column, Figure, Prose, Row, Table
from workbench.report.sections.answers.long_tables import opened
from workbench.report.text.judges import task_text
from workbench.results.run_tables import RunTables

# What each measure means.
_MEASURES = {
    "balanced_accuracy": "mean of the shares of good and of bad items that the judge decides as people do; 0.5 is chance",
    "auroc": "probability that an item labelled as good scores higher than one labelled as bad; 0.5 is chance",
    "kappa": "agreement beyond chance; 0 is chance",
    "sensitivity": "share of items labelled as good that the judge approves",
    "false_alarms": "share of items labelled as bad that the judge approves",
    "length_bias": "rank correlation of verdict − label with the length of the text; 0 is no bias",
    "position_bias": "rank correlation of verdict − label with the place of the deciding passage; 0 is no bias",
    "human_agreement": "share of items that two people label equally",
    "human_kappa": "agreement of two people beyond chance",
    "unparsed": "labelled items without a verdict, which count in none of the measures",
}
_COUNTS = ("unparsed",)
_CURVE = (
    "Items with similar scores: the mean score of the judge, and the share of them that people labelled as good with 95 % intervals. On the dashed line a "
    "score is a probability. A rising curve elsewhere still orders items well, but a threshold on it has to be chosen from labels."
)
_LONGEST = 400


def calibration_blocks(run: RunTables) -> list[Block]:
    """Show the calibration of each judge with labels: curve, measures, agreement by configuration. Empty without labels."""
    blocks: list[Block] = []
    for found in calibrations(run):
        figure = calibration_figure(found)
        by_configuration = configurations_table(run, found.task)
        blocks += [*([figure] if figure else []), measures_table(found), *(opened(by_configuration) if by_configuration else [])]
    return blocks


def calibration_figure(found: JudgeCalibration) -> Figure | None:
    """Plot the share labelled as good against the judge's score. None if the judge reports no scores."""
    if not found.curve:
        return None
    pairs = list(zip(found.scores, found.curve, strict=True))
    points = [judging_plots.CalibrationPoint(score, each.value, each.low, each.high, each.n) for score, each in pairs]
    rows = [Row([Cell(number(score, 2), sort=score), _value(each), count_cell(each.n)]) for score, each in pairs]
    columns = [Column("mean score"), Column("labelled as good", note="95 % interval"), Column("labels")]
    table = Table(f"Calibration of {found.judge} for {task_text(found.task)}", columns, rows)
    return Figure(f"calibration-{found.task}", described(table), _CURVE, judging_plots.calibration([(found.judge, points)]), table)


def measures_table(found: JudgeCalibration) -> Table:
    """Tabulate the measures of a judge on labels."""
    where = "this run" if found.source == "run" else "elsewhere, which say little about this run"
    rows = [
        Row([Cell(each.name.replace("_", " ")), _value(each), count_cell(each.n), Cell(_MEASURES.get(each.name, ""))])
        for each in found.measures
    ]
    columns = [words("measure"), Column("value", note="95 % interval"), Column("labels"), text("meaning")]
    return Table(f"{found.judge} for {task_text(found.task)}, on {plural(found.labels, 'label')} of {where}", columns, rows)


def configurations_table(run: RunTables, task: str) -> Table | None:
    """Tabulate by configuration how often the judge decides differently from people. None without labels of this run."""
    rows = [
        Row(
            [
                Cell(each.configuration),
                count_cell(each.labels),
                count_cell(each.different),
                value_cell(each.different / each.labels, shown=share(each.different, each.labels)),
            ]
        )
        for each in labelled_configurations(run, task)
    ]
    note = "If the shares differ, the judge errs differently on the configurations, and uncorrected differences between them are biased."
    columns = [words("configuration"), Column("labels"), Column("decided differently"), Column("share")]
    return Table(f"Disagreements about {task_text(task)} by configuration", columns, rows, note) if rows else None


def disagreement_blocks(run: RunTables, most: int) -> list[Block]:
    """List the labelled items on which the judges and people disagree, the ones that the judge is surest of first. Empty without labels."""
    blocks: list[Block] = []
    for found in calibrations(run):
        if found.source == "run":
            rows = disagreements(run, found.task)
            shown = f"the first {count(most)} of {count(len(rows))}" if len(rows) > most else "all"
            table = Table(
                f"Disagreements about {task_text(found.task)} ({shown})",
                _columns(found.task),
                _rows(rows.head(most).to_dict("records"), found.task),
            )
            blocks.append(
                table if len(rows) else Prose(f"{found.judge} and people agree on {task_text(found.task)} of every labelled item.")
            )
    return blocks


def _columns(task: str) -> list[Column]:
    return [
        words("question"),
        words("configuration"),
        text("claim" if task == "support" else "answer"),
        words("judge"),
        words("label"),
        Column("confidence"),
        Column("score"),
    ]


def _rows(records: Sequence[Mapping[Any, Any]], task: str) -> list[Row]:
    rows = []
    for row in records:
        said = str(row["claim"] if task == "support" else row["answer"])
        values = [value_cell(float(row[name]), 2) for name in ("confidence", "score")]
        names = [Cell("", str(row["query_id"]), queries=(str(row["query_id"]),)), Cell(str(row["configuration"]))]
        rows.append(
            Row(
                [
                    *names,
                    Cell(said if len(said) <= _LONGEST else f"{said[:_LONGEST]} …"),
                    Cell(str(row["verdict"])),
                    Cell(str(row["label"])),
                    *values,
                ]
            )
        )
    return rows


def _value(each: CalibrationMeasure) -> Cell:
    if each.name in _COUNTS:
        return count_cell(each.value)
    return value_cell(each.value, note=interval(each.low, each.high) if not math.isnan(each.low) else "no interval")
