"""The judges of a run: measured by labels, corrected by them, and how far each can be trusted."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from workbench.components.judging.base import TASKS, Task
from workbench.core.errors import InputError
from workbench.core.memo import memoised
from workbench.core.schemas import SCHEMAS
from workbench.core.text.formatting import aligned, interval, listed, number, plural
from workbench.measures.metrics.coverage import Floats
from workbench.measures.statistics.judge_calibration import Calibration, CalibrationValue, JudgedLabels, agreement, calibration
from workbench.measures.statistics.judge_corrections import FEWEST_LABELS, TARGETS, LabelledItems, corrected_difference, corrected_mean
from workbench.report.analysis.labels import METRICS_OF, YES, LabelledRun, item_weights, judge_of, labelled_run, lines_of_run
from workbench.report.analysis.values import clusters, places
from workbench.report.results.judge_labels import LabelLine
from workbench.report.results.run_tables import RunTables

# The measures that have a single value, in reading order.
MEASURES = ("balanced_accuracy", "auroc", "kappa", "sensitivity", "false_alarms", "length_bias", "position_bias")

NOT_MEASURED = "not measured"

_SCHEMA = SCHEMAS["corrected"]

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

OVERLAP = "overlap"

# The tasks for which the error of a judge was measured on other data (docs/judges.md), by a part of its label.
_MEASURED_ELSEWHERE: Mapping[str, tuple[Task, ...]] = {
    OVERLAP: ("support", "context_relevance", "answer_relevance", "correctness"),
    "qwen2.5-coder-1.5b": ("support",),
}


def calibration_table(labelled: LabelledRun) -> pd.DataFrame:
    """Return the table `calibration` of a task, from labelled items of this run, or else from those of others.

    Raises
    ------
    InputError
        If no item is labelled, or labelled items of other runs come without the judge's verdict or score.
    """
    own = len(labelled.labelled) > 0
    if not own and not labelled.elsewhere:
        raise InputError(
            f"no item of the task {labelled.task} is labelled", "fill in `label` in the lines that workbench judge sample wrote"
        )
    calibrated = calibration(_of_run(labelled) if own else _of_lines(labelled.elsewhere))
    named = {"task": labelled.task, "judge": judge_of(labelled.run, labelled.task), "labels": calibrated.labels}
    usual = {"at": np.nan, "low": np.nan, "high": np.nan, "source": "run" if own else "elsewhere"}
    people: dict[str, CalibrationValue] = {}
    pairs = labelled.items[labelled.items["second"] != ""]
    if own and not pairs.empty:
        codes = clusters(labelled.run).codes[places(labelled.run, pairs["query_id"])]
        agreed = agreement(_approved(pairs["first"]), _approved(pairs["second"]), codes)
        people = dict(zip(("human_agreement", "human_kappa"), agreed, strict=True))
    rows = [usual | row | named for row in _measures(calibrated, people)]
    return SCHEMAS["calibration"].conform(pd.DataFrame(rows))


def badge(run: RunTables, task: str) -> str:
    """Describe the measurement of the judge of a task: `measured on 60 labels of this run: …`, `measured elsewhere …`, or `not measured`."""
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


def _measures(calibrated: Calibration, people: dict[str, CalibrationValue]) -> Iterator[dict[str, Any]]:
    for name, value in ({name: getattr(calibrated, name) for name in MEASURES} | people).items():
        yield {"measure": name, **asdict(value)}
    yield {"measure": "unparsed", "value": float(calibrated.unparsed), "n": calibrated.labels}
    for score, good in calibrated.curve:
        yield {"measure": "curve", "at": score, **asdict(good)}
    for position, n, judged, approved in calibrated.positions:
        for name, share in (("position_judged", judged), ("position_labelled", approved)):
            yield {"measure": name, "at": position, "value": share, "n": n}


def corrections(labelled: LabelledRun) -> pd.DataFrame:
    """Return the table `corrected` of a task: the mean of every configuration with at least 50 labels, and the difference of every two.

    Differences need 50 questions with labels of both configurations.
    """
    rows: list[dict[str, Any]] = []
    for metric in METRICS_OF[labelled.task]:
        items = {name: labelled.of(name, metric) for name in labelled.configurations}
        for name, each in items.items():
            rows += _rows(metric, name, "", [each])
        for a, b in itertools.combinations(items, 2):
            rows += _rows(metric, a, b, [items[a], items[b]])
    return _SCHEMA.conform(pd.DataFrame(rows)) if rows else _SCHEMA.empty()


def _refusal(labelled: LabelledRun) -> str:
    """Say why a configuration has no corrected mean, and how many labels are of other runs. Empty if neither is so."""
    counts = {name: int(labelled.of(name, METRICS_OF[labelled.task][0]).labelled.sum()) for name in labelled.configurations}
    few = ", ".join(f"{name} {count}" for name, count in counts.items() if count < FEWEST_LABELS)
    reason = f"a correction needs {FEWEST_LABELS} labels of drawn items of each configuration; too few: {few}" if few else ""
    others = len(labelled.elsewhere)
    left_out = f"; {plural(others, 'label')} of other runs correct nothing" if others else ""
    return f"{labelled.task}: {reason}{left_out}" if reason or left_out else ""


def _rows(metric: str, name: str, other: str, items: list[LabelledItems]) -> list[dict[str, Any]]:
    rows = []
    for target in TARGETS:
        # Too few labels: `refusal` says so.
        with suppress(InputError):
            value = corrected_difference(items[0], items[1], target) if other else corrected_mean(items[0], target)
            scope = "difference" if other else "mean"
            rows.append(asdict(value) | {"scope": scope, "metric": metric, "configuration": name, "other": other})
    return rows


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
        pd.concat([_labels(each, lines_of_run(run, each.task, condition, lines)) for each in joined], ignore_index=True),
        pd.concat([calibration_table(each) for each in joined], ignore_index=True),
        pd.concat(whole, ignore_index=True) if whole else SCHEMAS["corrected"].empty(),
        tuple(filter(None, map(_refusal, joined))),
    )


def _labels(labelled: LabelledRun, lines: Sequence[LabelLine]) -> pd.DataFrame:
    columns = ["item_id", "configuration", "condition", "query_id", "repeat", "number"]
    given = [{"item_id": line.item_id, "label": line.label, "annotator": line.annotator} for line in lines if line.label]
    rows = labelled.items[columns].merge(pd.DataFrame(given, columns=["item_id", "label", "annotator"]), on="item_id")
    return SCHEMAS["labels"].conform(rows.assign(task=labelled.task))


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


@dataclass(frozen=True)
class JudgeTrust:
    """A judge of a task. Its `role` is `judge`, or `score` for the given `reason`.

    `badge` says by which labels it was measured: `measured on 60 labels of this run: …`, `measured elsewhere …` or `not measured`.

    `auroc`, `always_yes` and `repeatability` are of its test on known answers, NaN without one, with the numbers of answers that `passed`, `failed` or were
    `untested` because it failed. Of `judged` items of the run, `unscored` have no judgement.
    """

    task: Task
    judge: str
    role: str
    reason: str
    auroc: float
    always_yes: float
    repeatability: float
    passed: int
    failed: int
    untested: int
    badge: str
    judged: int
    unscored: int

    @property
    def is_score(self) -> bool:
        """True for a score that is no judge, and feeds no metric named faithfulness."""
        return self.role == "score"

    @property
    def tested(self) -> bool:
        """True if it was tested on known answers."""
        return self.passed + self.failed + self.untested > 0


def has_judges(run: RunTables) -> bool:
    """Check that the answers of the run were judged."""
    return bool(run.judging) and len(run.answers) > 0


@memoised(1)
def judge_trust(run: RunTables) -> tuple[JudgeTrust, ...]:
    """Return the judge of each task of a run, in the order of the tasks. Empty without judges."""
    rows, trusts = {str(row["task"]): row for row in run.judges.to_dict("records")}, []
    for task in (task for task in TASKS if task in rows):
        row, judgements = rows[task], run.claims if task == "support" else run.answer_judgements[run.answer_judgements["task"] == task]
        known = {name: row[name] for name in ("judge", "role", "reason", "auroc", "always_yes", "repeatability", "passed", "failed")}
        counts = {"untested": row["unscored"], "judged": len(judgements), "unscored": int((judgements["error"] != "").sum())}
        trusts.append(JudgeTrust(task=task, **known, **counts, badge=_badge(run, task, row["judge"])))
    return tuple(trusts)


def _badge(run: RunTables, task: Task, judge: str) -> str:
    known = badge(run, task)
    elsewhere = any(part in judge.casefold() and task in tasks for part, tasks in _MEASURED_ELSEWHERE.items())
    return "measured elsewhere" if known == NOT_MEASURED and elsewhere else known
