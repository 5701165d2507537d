"""Agreement of judges with people: calibration, disagreements to read first, and corrected means."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from workbench.components.judging.base import TASKS
from workbench.core.errors import InputError
from workbench.core.text.formatting import count, interval, listed, number, plural, share, signed
from workbench.report.analysis.answer_values import condition_mean
from workbench.report.analysis.labels import judged_items
from workbench.report.canvas import FAINT, LINES, MUTED, canvas, own_style
from workbench.report.cells import UNKNOWN, count_cell, described, mean_cell, opened, text, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Figure, Prose, Row, Table
from workbench.report.results.run_tables import RETRIEVED, RunTables

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_DISAGREEING = ["configuration", "query_id", "claim", "answer", "verdict", "label", "confidence", "score", "passage", "item_id"]
TASK_TEXTS: dict[str, str] = {
    "support": "the support of claims",
    "context_relevance": "the relevance of passages",
    "answer_relevance": "the relevance of answers",
    "correctness": "the correctness of answers",
    "rubric": "answers by a rubric",
}
# The title of each measure where it is not its name, and its meaning.
_NAMES = {"auroc": "AUROC", "unparsed": "without a verdict"}
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


@dataclass(frozen=True, eq=False)
class JudgeCalibration:
    """The rows of `calibration` about the judge of a task, on `labels` of the run or from elsewhere. `curve` has the lowest score first."""

    task: str
    judge: str
    source: str
    labels: int
    measures: pd.DataFrame
    curve: pd.DataFrame


def calibrations(run: RunTables) -> list[JudgeCalibration]:
    """Return the calibration of the judge of each task with labels. Empty without labels."""
    results = []
    for task, rows in sorted(run.calibration.groupby("task"), key=lambda group: TASKS.index(group[0])):
        first, placed = rows.iloc[0], rows["measure"].isin(["curve", "position_judged", "position_labelled"])
        curve = rows[rows["measure"] == "curve"].sort_values("at")
        results.append(JudgeCalibration(str(task), str(first["judge"]), str(first["source"]), int(first["labels"]), rows[~placed], curve))
    return results


def labelled_configurations(run: RunTables, task: str) -> dict[str, tuple[int, int]]:
    """Count the labels of each configuration in the order of the run, and those of items that the judge decides differently."""
    rows = run.labels[run.labels["task"] == task].drop_duplicates("item_id")
    labels, different = rows["configuration"].value_counts(), disagreements(run, task)["configuration"].value_counts()
    return {name: (int(labels[name]), int(different.get(name, 0))) for name in run.names if name in labels.index}


def disagreements(run: RunTables, task: str) -> pd.DataFrame:
    """Return the labelled items of the run's table `labels` whose verdict differs from the label, in the order in which to read them.

    They are ordered by the judge's confidence, or, if it reports none, by how far its score is from 0.5. `verdict` is `yes` or `no` for a judge that
    only scores, and where the label is right about another class the row is left out: `absent` and `contradicted` both mean no.
    """
    tables = [pd.DataFrame(columns=_DISAGREEING)]
    for condition, labels in run.labels[run.labels["task"] == task].groupby("condition", sort=False):
        try:
            items = judged_items(run, task, str(condition))
        except InputError:
            continue
        rows = items.merge(labels.drop_duplicates("item_id")[["item_id", "label"]], on="item_id")
        approved = rows["label"].isin(["supported", "yes"]).astype(float)
        rows = rows[rows["yes"].notna() & (rows["yes"] != approved)]
        surest = rows["confidence"].fillna((rows["score"] - 0.5).abs() * 2).fillna(0.0)
        order = surest.sort_values(ascending=False, kind="stable").index
        verdict = rows["verdict"].where(rows["verdict"] != "", rows["yes"].map({1.0: "yes", 0.0: "no"}))
        tables.append(rows.assign(verdict=verdict).loc[order, _DISAGREEING])
    return pd.concat(tables[1:] or tables, ignore_index=True)


def calibration_blocks(run: RunTables) -> list[Block]:
    """Show the calibration of each judge with labels: curve, measures, agreement by configuration. Empty without labels."""
    blocks: list[Block] = []
    for calibration in calibrations(run):
        figure, by_configuration = calibration_figure(calibration), _configurations(run, calibration.task)
        blocks += [*([figure] if figure else []), _measures(calibration), *(opened(by_configuration) if by_configuration else [])]
    return blocks


def calibration_figure(calibration: JudgeCalibration) -> Figure | None:
    """Plot the share labelled as good against the judge's score. None if the judge reports no scores."""
    if calibration.curve.empty:
        return None
    points = calibration.curve.to_dict("records")
    rows = [Row([Cell(number(each["at"], 2), sort=each["at"]), _value(each), count_cell(each["n"])]) for each in points]
    columns = [Column("mean score"), Column("labelled as good", note="95 % interval"), Column("labels")]
    table = Table(f"Calibration of {calibration.judge} for {TASK_TEXTS[calibration.task]}", columns, rows)
    return Figure(f"calibration-{calibration.task}", described(table), _CURVE, calibration_drawing(calibration.curve), table)


@own_style()
def calibration_drawing(curve: pd.DataFrame) -> "Drawing":
    """Plot the share that people labelled as good against the judge's score. On the dashed line, scores are probabilities."""
    figure, (axes,) = canvas(3.4)
    axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle="--", zorder=1)
    for each in curve.to_dict("records"):
        axes.plot([each["at"]] * 2, [each["low"], each["high"]], color=LINES[0], linewidth=1)
    axes.plot(curve["at"].tolist(), curve["value"].tolist(), color=LINES[0], linewidth=1.4, marker="o", markersize=4.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_xlabel("score of the judge")
    axes.set_ylabel("share labelled as good")
    return figure


def _measures(calibration: JudgeCalibration) -> Table:
    where = "this run" if calibration.source == "run" else "elsewhere, which say little about this run"
    rows = []
    for each in calibration.measures.to_dict("records"):
        name = str(each["measure"])
        title = Cell(_NAMES.get(name, name.replace("_", " ")))
        value = count_cell(each["value"]) if name == "unparsed" else _value(each)
        rows.append(Row([title, value, count_cell(each["n"]), Cell(_MEASURES.get(name, ""))]))
    columns = [words("measure"), Column("value", note="95 % interval"), Column("labels"), text("meaning")]
    return Table(
        f"{calibration.judge} for {TASK_TEXTS[calibration.task]}, on {plural(calibration.labels, 'label')} of {where}", columns, rows
    )


def _configurations(run: RunTables, task: str) -> Table | None:
    """Tabulate by configuration how often the judge decides differently from people. None without labels of this run."""
    rows = [
        Row([Cell(name), count_cell(labels), count_cell(different), value_cell(different / labels, shown=share(different, labels))])
        for name, (labels, different) in labelled_configurations(run, task).items()
    ]
    note = "If the shares differ, the judge errs differently on the configurations, and uncorrected differences between them are biased."
    columns = [words("configuration"), Column("labels"), Column("decided differently"), Column("share")]
    return Table(f"Disagreements about {TASK_TEXTS[task]} by configuration", columns, rows, note) if rows else None


def disagreement_blocks(run: RunTables, most: int) -> list[Block]:
    """List the labelled items on which the judges and people disagree, the ones that the judge is surest of first. Empty without labels."""
    blocks: list[Block] = []
    for calibration in [each for each in calibrations(run) if each.source == "run"]:
        table, said, rows = disagreements(run, calibration.task), "claim" if calibration.task == "support" else "answer", []
        shown = f"the first {count(most)} of {count(len(table))}" if len(table) > most else "all"
        columns = [
            words("question"),
            words("configuration"),
            text(said),
            words("judge"),
            words("label"),
            Column("confidence"),
            Column("score"),
        ]
        for row in table.head(most).to_dict("records"):
            names = [Cell("", str(row["query_id"]), queries=(str(row["query_id"]),)), Cell(str(row["configuration"]))]
            judged = str(row[said]) if len(str(row[said])) <= _LONGEST else f"{str(row[said])[:_LONGEST]} …"
            values = [value_cell(float(row[name]), 2) for name in ("confidence", "score")]
            rows.append(Row([*names, Cell(judged), Cell(str(row["verdict"])), Cell(str(row["label"])), *values]))
        agreed = Prose(f"{calibration.judge} and people agree on {TASK_TEXTS[calibration.task]} of every labelled item.")
        blocks.append(Table(f"Disagreements about {TASK_TEXTS[calibration.task]} ({shown})", columns, rows) if rows else agreed)
    return blocks


def _value(row: Mapping[Any, Any]) -> Cell:
    return value_cell(row["value"], note=interval(row["low"], row["high"]) if not math.isnan(row["low"]) else "no interval")


def corrected_blocks(run: RunTables) -> list[Block]:
    """Show corrected means beside uncorrected ones, and corrected differences. Empty without labels."""
    groups = [rows.to_dict("records") for _, rows in run.corrected.groupby(["metric", "configuration", "other"], sort=False)]
    means, differences = ([group for group in groups if bool(group[0]["other"]) == other] for other in (False, True))
    blocks: list[Block] = []
    if means:
        columns = [words("configuration"), words("metric"), Column("mean of the run", note="by the judge, with refusals"), *_BASIS]
        rows = []
        for group in means:
            name, metric = group[0]["configuration"], group[0]["metric"]
            rows.append(Row([Cell(name), Cell(metric), mean_cell(condition_mean(run, name, metric, RETRIEVED)), *_basis(group)]))
        blocks += opened(Table("Means corrected by labels", columns, rows, _CORRECTED))
    if differences:
        columns = [words("configuration"), words("minus"), words("metric"), *_BASIS]
        rows = [Row([*(Cell(group[0][name]) for name in ("configuration", "other", "metric")), *_basis(group)]) for group in differences]
        table = Table("Differences corrected by labels of both on the same questions", columns, rows)
        blocks.append(Collapsible("Corrected differences between configurations", [table]))
    return blocks


def _basis(group: Sequence[Mapping[Any, Any]]) -> list[Cell]:
    """The values of a mean or difference about each target, with the labels, questions and methods behind them."""
    known = {each["target"]: each for each in group}
    values = [_corrected(known[target]) if target in known else UNKNOWN for target in _TARGETS]
    methods = listed(list(dict.fromkeys(str(each["method"]) for each in group)))
    return [*values, count_cell(group[0]["labels"]), count_cell(group[0]["n"]), Cell(methods)]


def _corrected(row: Mapping[Any, Any]) -> Cell:
    bounds = interval(row["low"], row["high"]) if not math.isnan(row["low"]) else "too few documents for an interval"
    return value_cell(row["value"], shown=signed(row["value"]) if row["other"] else None, note=bounds)
