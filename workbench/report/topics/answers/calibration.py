"""Agreement of judges with people: calibration, disagreements to read first, and corrected means."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from workbench.analysis.answer_values import condition_mean
from workbench.analysis.judging.labels import judged_items
from workbench.core.formatting import count, interval, listed, number, plural, share, signed
from workbench.errors import InputError
from workbench.judging.base import TASKS
from workbench.report.cells import count_cell, described, mean_cell, opened, text, value_cell, words
from workbench.report.figures import judging_plots
from workbench.report.model import Block, Cell, Collapsible, Column, Figure, Prose, Row, Table
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.statistics.intervals import Interval

COLUMNS = ("configuration", "query_id", "claim", "answer", "verdict", "label", "confidence", "score", "passage", "item_id")

_TASKS: dict[str, str] = {
    "support": "the support of claims",
    "context_relevance": "the relevance of passages",
    "answer_relevance": "the relevance of answers",
    "correctness": "the correctness of answers",
    "rubric": "answers by a rubric",
}

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

_NAMES = {"auroc": "AUROC", "unparsed": "without a verdict"}

_COUNTS = ("unparsed",)

_CURVE = (
    "Items with similar scores: the mean score of the judge, and the share of them that people labelled as good with 95 % intervals. On the dashed line a "
    "score is a probability. A rising curve elsewhere still orders items well, but a threshold on it has to be chosen from labels."
)

_LONGEST = 400

_CORRECTED = (
    "Corrected values are estimated from the labels and the judgements of all items, with 95 % intervals. One about these items says what people would "
    "have labelled if they had read all of them; one about the population holds for the questions and documents that those of the run come from. They are "
    "about answers that were judged: refusals are left out, while the mean of the run counts a refusal as 0."
)

_TARGETS = {"items": "these items", "population": "the population"}

_BASIS = [
    *(Column(f"corrected, {title}", note="95 % interval") for title in _TARGETS.values()),
    Column("labels"),
    Column("questions"),
    words("method"),
]


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


def disagreements(run: RunTables, task: str) -> pd.DataFrame:
    """Return the labelled items of the run's table `labels` whose verdict differs from the label, in the order in which to read them.

    They are ordered by the judge's confidence, or, if it reports none, by how far its score is from 0.5. `verdict` is `yes` or `no` for a judge that
    only scores, and where the label is right about another class the row is left out: `absent` and `contradicted` both mean no.
    """
    rows = [_joined(run, task, str(condition), labels) for condition, labels in run.labels.groupby("condition", sort=False)]
    table = pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(COLUMNS))
    return table[list(COLUMNS)].reset_index(drop=True)


def _joined(run: RunTables, task: str, condition: str, labels: pd.DataFrame) -> pd.DataFrame:
    labels = labels[labels["task"] == task].drop_duplicates("item_id")
    try:
        items = judged_items(run, task, condition)
    except InputError:
        return pd.DataFrame(columns=list(COLUMNS))
    rows = items.merge(labels[["item_id", "label"]], on="item_id")
    approved = rows["label"].isin(["supported", "yes"]).astype(float)
    rows = rows[rows["yes"].notna() & (rows["yes"] != approved)]
    said = rows["yes"].map({1.0: "yes", 0.0: "no"})
    surest = rows["confidence"].fillna((rows["score"] - 0.5).abs() * 2).fillna(0.0)
    order = surest.sort_values(ascending=False, kind="stable").index
    return rows.assign(verdict=rows["verdict"].where(rows["verdict"] != "", said)).loc[order]


@dataclass(frozen=True)
class CorrectedScore:
    """A corrected mean of a configuration, or its difference from `other`, from `labels` labels on `n` questions.

    `uncorrected` is the mean by the judge alone, None for a difference or if the run has none. `target` is `items` or `population`.
    """

    metric: str
    configuration: str
    other: str
    value: float
    low: float
    high: float
    labels: int
    n: int
    target: str
    method: str
    uncorrected: Interval | None


def corrected_means(run: RunTables) -> list[CorrectedScore]:
    """Return the corrected means in the order of the table. Empty without labels."""
    return [each for each in _scores(run) if not each.other]


def corrected_differences(run: RunTables) -> list[CorrectedScore]:
    """Return the corrected differences in the order of the table. Empty without labels."""
    return [each for each in _scores(run) if each.other]


def _scores(run: RunTables) -> list[CorrectedScore]:
    rows = run.corrected.to_dict("records")
    return [
        CorrectedScore(
            str(row["metric"]),
            str(row["configuration"]),
            str(row["other"]),
            float(row["value"]),
            float(row["low"]),
            float(row["high"]),
            int(row["labels"]),
            int(row["n"]),
            str(row["target"]),
            str(row["method"]),
            None if row["other"] else condition_mean(run, str(row["configuration"]), str(row["metric"]), RETRIEVED),
        )
        for row in rows
    ]


def task_text(task: str) -> str:
    """Name what is judged in a task."""
    return _TASKS[task]


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
        Row(
            [Cell(_NAMES.get(each.name, each.name.replace("_", " "))), _value(each), count_cell(each.n), Cell(_MEASURES.get(each.name, ""))]
        )
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


def corrected_blocks(run: RunTables) -> list[Block]:
    """Show corrected means beside uncorrected ones, and corrected differences. Empty without labels."""
    means, differences = corrected_means(run), corrected_differences(run)
    blocks: list[Block] = opened(means_table(means)) if means else []
    return [
        *blocks,
        *([Collapsible("Corrected differences between configurations", [differences_table(differences)])] if differences else []),
    ]


def means_table(scores: Sequence[CorrectedScore]) -> Table:
    """Tabulate means by the judge alone and corrected ones about each target."""
    columns = [words("configuration"), words("metric"), Column("mean of the run", note="by the judge, with refusals"), *_BASIS]
    rows = []
    for group in _groups(scores):
        alone = mean_cell(group[0].uncorrected) if group[0].uncorrected else Cell("–", sort=math.nan)
        rows.append(Row([Cell(group[0].configuration), Cell(group[0].metric), alone, *_basis(group)]))
    return Table("Means corrected by labels", columns, rows, _CORRECTED)


def differences_table(scores: Sequence[CorrectedScore]) -> Table:
    """Tabulate corrected differences between configurations about each target."""
    columns = [words("configuration"), words("minus"), words("metric"), *_BASIS]
    rows = [Row([Cell(group[0].configuration), Cell(group[0].other), Cell(group[0].metric), *_basis(group)]) for group in _groups(scores)]
    return Table("Differences corrected by labels of both on the same questions", columns, rows)


def _groups(scores: Sequence[CorrectedScore]) -> list[list[CorrectedScore]]:
    """The values of each mean or difference about every target, in the order of the scores."""
    groups: dict[tuple[str, str, str], list[CorrectedScore]] = {}
    for each in scores:
        groups.setdefault((each.metric, each.configuration, each.other), []).append(each)
    return list(groups.values())


def _basis(group: Sequence[CorrectedScore]) -> list[Cell]:
    known = {each.target: each for each in group}
    values = [_corrected_value(known[target]) if target in known else Cell("–", sort=math.nan) for target in _TARGETS]
    return [*values, count_cell(group[0].labels), count_cell(group[0].n), Cell(listed(list(dict.fromkeys(each.method for each in group))))]


def _corrected_value(score: CorrectedScore) -> Cell:
    bounds = interval(score.low, score.high) if not math.isnan(score.low) else "too few documents for an interval"
    return value_cell(score.value, shown=signed(score.value) if score.other else None, note=bounds)
