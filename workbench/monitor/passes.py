"""One pass over a log: judge a sample, estimate, decide on alerts, and send them. A later pass continues where this one ended."""

import io
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ValidationError

from workbench.components.answering.base import AnswerResources
from workbench.components.embedding.static import StaticEmbedder
from workbench.core.errors import InputError
from workbench.core.files import read_regular, write_atomically, write_text
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import count, plural
from workbench.core.text.printable import printable_line
from workbench.data.sources import recognise
from workbench.gate.checklist import AlertEvidence, LogEvidence
from workbench.llm.session import CallResources
from workbench.measures.metrics.coverage import Bools
from workbench.measures.statistics.clusters import FEWEST_FOR_INTERVAL
from workbench.measures.statistics.samples import FEWEST_SCORES
from workbench.monitor.alerts.detect import DetectedAlerts, detect
from workbench.monitor.alerts.signals import COLUMNS as SIGNALS
from workbench.monitor.alerts.signals import ordered, signals, version_changes, version_names
from workbench.monitor.alerts.state import Alert, acknowledge, append_alert, deliver, lock, prometheus, read_state, update, write_state
from workbench.monitor.comparison import SUPPORT, compare_days
from workbench.monitor.judging import JudgeErrors, LogEstimate, estimate, evaluation_events, judge, judge_errors
from workbench.monitor.log.fields import FIELDS
from workbench.monitor.log.reading import LoggedQuestions
from workbench.monitor.log.summary import READ, summarise
from workbench.monitor.page import load_monitoring, write_monitoring
from workbench.monitor.pass_record import COMPARISON, PASS, STATE, SUMMARY, PassRecord, WorthLabelling
from workbench.monitor.sampling import COLUMNS, NO_BUDGET, draw, outline, select, skipped
from workbench.monitor.settings import MonitorSettings
from workbench.monitor.traces import read_traces
from workbench.people.generation.passages import EMBEDDER
from workbench.report.results.run_tables import MANIFEST, RunTables
from workbench.runner.pipeline.context import Workspace

NEWS, METRICS, EVALUATIONS, TRACES, EVENTS = "alerts.jsonl", "metrics.prom", "evaluations.parquet", "traces.jsonl", "evaluations.otlp.jsonl"
# The metrics of judged answers on which alerts are decided.
_ALERTED = {"faithfulness": "faithfulness", "support_overlap": "faithfulness", "refusal_rate": "refusal_rate"}
# The latest changes of versions that are kept. A made-up log can have one in each row.
_MOST_CHANGES = 100
# New questions that the page counts and proposes to label.
_TAKE = 24


@dataclass(frozen=True, eq=False)
class MonitoringPass:
    """The result of a pass over a log, which is also in the files of `folder`.

    `summary` is the table of `summarise`, `estimates` are those of judged metrics, `alerts` all so far, `news` those that were opened or resolved by this
    pass, and `failures` the channels that did not take them. `skipped` counts questions that were not judged by reason, and `left_out` are lines
    on whatever else is not in the numbers.
    """

    folder: Path
    summary: pd.DataFrame
    estimates: tuple[LogEstimate, ...]
    watch: DetectedAlerts
    alerts: tuple[Alert, ...]
    news: tuple[Alert, ...]
    failures: tuple[str, ...]
    skipped: Mapping[str, int]
    left_out: tuple[str, ...]

    @property
    def open(self) -> tuple[Alert, ...]:
        """Return the alerts that are open or acknowledged."""
        return tuple(alert for alert in self.alerts if alert.status != "resolved")

    def lines(self) -> list[str]:
        """Return the pass as lines for a terminal: counts, estimates, alerts, and whatever was left out."""
        whole = self.summary[self.summary["by"] == "all"]
        values = dict(zip(whole["measure"].tolist(), whole["value"].tolist(), strict=True))
        logged = dict(zip(whole["measure"].tolist(), whole["n"].tolist(), strict=True)).get("questions", 0)
        facts = [f"{label} {values[name]:.1%}" for label, name in _SHARES if name in values]
        lines = [", ".join([f"{plural(int(logged), 'question')} logged", *facts])]
        # What a service logs of its refusals is more than a sample tells.
        lines += [
            _estimated(estimated)
            for estimated in self.estimates
            if estimated.interval.n and (estimated.metric != "refusal_rate" or "refused" not in values)
        ]
        lines += [f"not judged: {plural(number, 'question')}, {reason}" for reason, number in self.skipped.items()]
        lines += [f"{alert.id}: {alert}" for alert in self.open] or ["no alert is open"]
        reasons = dict.fromkeys(test.untested for test in self.watch.tested if test.untested)
        lines += [f"not tested: {', '.join(test.alert for test in self.watch.tested if test.untested == why)} ({why})" for why in reasons]
        return [printable_line(line) for line in (*lines, *self.left_out, *self.failures)]


_SHARES = (("without results", "no_results"), ("failed", "error"), ("refused", "refused"))


def monitor(path: str | Path, folder: str | Path, settings: MonitorSettings | None = None) -> MonitoringPass:
    """Make one pass over a log or over traces, and write its results to a folder.

    Parameters
    ----------
    path
        A log that `QueryLog` wrote (a folder or a file), or traces in a form that `read_traces` knows.
    folder
        Where the results and the state of alerts are. Later passes over the longer log judge only what is new, and raise no alert twice.
    settings
        Those of monitor.yaml. Default: overlap judges 100 questions of a day.

    Raises
    ------
    InputError
        If nothing can be read, or if a setting is wrong.
    """
    settings, folder = settings or MonitorSettings(), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with lock(folder / STATE):
        _require_same_log(Path(path), folder)
        questions, remarks = open_log(Path(path), folder)
        summary, table, outlined = read_log(questions)
        counted = questions.counts.lines()
        drawn, evaluations, unread = _judged(questions, outlined, settings, folder)
        errors = _errors(settings)
        estimates = tuple(estimate(evaluations, drawn, metric, errors) for metric in evaluations["metric"].unique() if metric != "feedback")
        embedder = StaticEmbedder()
        changes, earlier = _changes(table)
        comparison = compare_days(table, drawn, evaluations, errors, changes[-1][0] if changes else None)
        watch = detect(table, settings.limits(), _scores(evaluations, drawn), lambda texts: np.asarray(embedder.encode(texts, "query")))
        state, news = update(read_state(folder / STATE), watch, settings.limits())
        channels: dict[str, Any] = {"file": partial(append_alert, folder / NEWS)} | (
            {"webhook": settings.webhook} if settings.webhook else {}
        )
        state, failures = deliver(state, channels)
        write_state(folder / STATE, state)
        write_text(folder / METRICS, prometheus(state, watch))
        for name, written in ((SUMMARY, summary), (EVALUATIONS, evaluations), (COMPARISON, comparison)):
            write_atomically(folder / name, written.to_parquet)
        left_out = (*remarks, *counted, *unread, *_uncompared(table), *earlier, *_unwatched(watch))
        seen = {row for alert in state.alerts for row in alert.first.evidence}
        record = PassRecord(
            log=str(path),
            until=watch.until,
            tested=watch.tested,
            changes=changes,
            support=next((estimated.name for estimated in estimates if estimated.metric in SUPPORT), ""),
            skipped=skipped(drawn),
            left_out=left_out,
            queries=dict(table.loc[table["id"].isin(seen), ["id", "query"]].itertuples(index=False)),
            labelling=_worth_labelling(drawn, evaluations, settings, folder),
        )
        write_text(folder / PASS, record.model_dump_json() + "\n")
        write_monitoring(folder)
    return MonitoringPass(folder, summary, estimates, watch, state.alerts, news, failures, skipped(drawn), left_out)


def _require_same_log(path: Path, folder: Path) -> None:
    """Raise InputError if a folder has the results of another log."""
    try:
        known = PassRecord.model_validate_json(read_regular(folder / PASS)).log
    except (OSError, ValidationError):
        return
    # Unlike those of Path, these take a path that is too long or leads to itself.
    if os.path.realpath(known) != os.path.realpath(path) and os.path.exists(known) and os.path.exists(path):
        raise InputError(f"{folder} has the results of {known}", "give another --name")


def acknowledge_alert(folder: Path, name: str) -> None:
    """Mark an open alert as acknowledged. Raises InputError if no alert with this id is open."""
    if not (folder / STATE).exists():
        raise InputError(f"{folder} has no alerts", "run workbench monitor first, or give the --name and the --outputs of its results")
    with lock(folder / STATE):
        write_state(folder / STATE, acknowledge(read_state(folder / STATE), name))
        if (folder / PASS).exists():
            write_monitoring(folder)


def read_evaluations(folder: Path, *, missing_ok: bool = False) -> pd.DataFrame | None:
    """Return the evaluations that passes wrote to a folder. Raises InputError if there are none, unless that is `missing_ok`."""
    try:
        return pd.read_parquet(io.BytesIO(read_regular(folder / EVALUATIONS)))
    except (OSError, ValueError) as error:
        if missing_ok and isinstance(error, FileNotFoundError):
            return None
        raise InputError(f"{folder} has no table {EVALUATIONS} that can be read", "give the folder that workbench monitor wrote") from None


def open_log(path: Path, folder: Path) -> tuple[LoggedQuestions, tuple[str, ...]]:
    """Return the questions of a log, or of traces, which become a log in the folder, and lines on what was left out of traces.

    Raises InputError if nothing can be read.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist", "give the folder of a log, or traces")
    if (path / MANIFEST).is_file():
        raise InputError(f"{path} is a run, whose answers the sweep has judged", "open its report, or give the log of a service")
    questions = LoggedQuestions(path)
    # A folder without a file of a log can have exports.
    with suppress(InputError):
        if any(len(batch) for batch in questions.batches(["id"])):
            return questions, ()
    unread = questions.counts.lines()
    try:
        traces = read_traces(path)
    except InputError:
        # A service that was just started has asked nothing.
        if not any(file.lstat().st_size for file in (path.iterdir() if path.is_dir() else [path])):
            write_text(folder / TRACES, "")
            return LoggedQuestions(folder / TRACES), (f"no question yet in {path}",)
        seen = f" ({'; '.join(unread)})" if unread else ""
        raise InputError(
            f"{path} has neither a question of a log{seen} nor a trace", "give what QueryLog wrote, OTLP, or an export"
        ) from None
    write_text(folder / TRACES, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in traces.rows))
    return LoggedQuestions(folder / TRACES), tuple(f"{count(number)} left out of traces: {why}" for why, number in traces.left_out.items())


def read_log(questions: LoggedQuestions) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the summary of a log, the table of signals, and the outline, in one reading."""
    log = questions.table([*dict.fromkeys((*READ, *SIGNALS, *COLUMNS))])
    # The first takes the most memory beside the log.
    return summarise(log.to_batches()), signals(log), outline(log)


def _judged(
    questions: LoggedQuestions, outlined: pd.DataFrame, settings: MonitorSettings, folder: Path
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Draw and judge questions within the budget.

    Returns all questions with their draws, the evaluations, and lines on drawn questions that the log does not have any more when it is read again.
    """
    drawn = draw(outlined, max(1, settings.budget))
    if not settings.budget:
        drawn["reason"] = NO_BUDGET
    chosen = drawn.loc[drawn["reason"] == "", "id"]
    counts = questions.counts
    rows = [*questions.rows(frozenset(chosen))] if len(chosen) else []
    lost = len(chosen) - len(rows)
    unread = [f"not judged: {plural(lost, 'drawn question')}, not found when the log was read again"] if lost else []
    unread += questions.counts.beyond(counts).lines()
    workspace = Workspace.at(folder.parent)
    resources = AnswerResources(workspace.vectors, CallResources(workspace.calls))
    evaluations = judge(pd.DataFrame(rows, columns=[field.name for field in FIELDS]), settings.judges(), resources, folder)
    write_text(folder / EVENTS, "".join(f"{line}\n" for line in evaluation_events(_evaluated(rows, evaluations, drawn))))
    return drawn, evaluations, unread


def _evaluated(rows: Sequence[Mapping[str, Any]], evaluations: pd.DataFrame, drawn: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the rows with what they were evaluated by, and the probability of that."""
    judged = evaluations[evaluations["judge"].ne("users") & evaluations["state"].ne("not_applicable")]
    judged = judged.rename(columns={"metric": "name", "value": "score", "reason": "error"})
    groups = {name: own.to_dict("records") for name, own in judged.groupby("id")[["name", "score", "judge", "error"]]}
    probability = drawn.set_index("id")["probability"]
    for row in rows:
        known = [
            {name: value for name, value in evaluation.items() if pd.notna(value) and value != ""}
            for evaluation in groups.get(row["id"], ())
        ]
        yield {**row, "evaluations": known, "probability": float(probability[row["id"]])}


def _errors(settings: MonitorSettings) -> Mapping[str, JudgeErrors]:
    if not settings.calibration:
        return {}
    return judge_errors(RunTables.read(settings.calibration).calibration, settings.judges().support.label)


def _changes(table: pd.DataFrame) -> tuple[tuple[tuple[int, str], ...], list[str]]:
    """Return the latest changes of versions with their times, in nanoseconds since 1970, and a line on earlier ones."""
    rows = ordered(table, None)[0]
    version_rows = version_changes(rows["setup"])
    latest, more = version_rows[-_MOST_CHANGES:], len(version_rows) - _MOST_CHANGES
    changes = tuple(
        (int(rows["time"].iloc[row]), " ".join(map(excerpt, (name, "changed from", old, "to", new)))) for row, name, old, new in latest
    )
    return changes, [f"{plural(more, 'change')} of versions not kept: before the latest {_MOST_CHANGES}"] if more > 0 else []


def _uncompared(table: pd.DataFrame) -> list[str]:
    names = version_names(table["setup"])[1]
    return [f"{plural(names, 'name')} of versions not compared: beyond the 50 most frequent"] if names else []


def _unwatched(watch: DetectedAlerts) -> list[str]:
    return [f"{plural(number, 'row')} not watched: {why}" for why, number in watch.left_out.items()]


def _worth_labelling(drawn: pd.DataFrame, evaluations: pd.DataFrame, settings: MonitorSettings, folder: Path) -> WorthLabelling | None:
    """Count the questions that the dataset of the settings lacks."""
    if not settings.dataset:
        return None
    known = recognise(settings.dataset, None).load(unlabelled=True)
    selected = select(drawn, known, _TAKE, EMBEDDER, Workspace.at(folder.parent).vectors, evaluations)
    compared = len(drawn) - selected.left_out
    return WorthLabelling(
        dataset=settings.dataset, lacking=compared - selected.covered, compared=compared, distinct=selected.lacking, take=len(selected.rows)
    )


def _scores(evaluations: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """Return the support of answers and their refusals, on which alerts are decided."""
    scored = evaluations[evaluations["state"] == "scored"].merge(drawn[["id", "uniform", "time"]], on="id")
    found = scored.assign(metric=scored["metric"].map(_ALERTED), score=scored["value"]).dropna(subset="metric")
    return found[["id", "metric", "score", "uniform", "time"]]


def _estimated(estimated: LogEstimate) -> str:
    interval = estimated.interval
    bounds = f" [{interval.low:.3f}, {interval.high:.3f}]"
    if np.isnan(interval.low):
        bounds = f" (no interval: fewer than {FEWEST_SCORES} scores or {FEWEST_FOR_INTERVAL} conversations)"
    unscored = "".join(f", {count(number)} unscored: {why}" for why, number in estimated.unscored.items())
    return f"{estimated.name} {interval.value:.3f}{bounds} from {count(interval.n)} of {count(estimated.of)} questions{unscored}"


_STEPS = ("embedding_seconds", "retrieval_seconds", "generation_seconds")


def log_evidence(path: Path) -> LogEvidence:
    """Read a log: how many questions lack each field that the checklist asks for. Raises InputError if it cannot be read.

    A question that failed has no answer and need not have a time of the model. A question without hits has no ids and scores.
    """
    with TemporaryDirectory() as folder:
        try:
            questions = open_log(path, Path(folder))[0]
        except InputError:  # without a question, or none of a log
            questions = LoggedQuestions(path)
        return _log_evidence(path, questions)


def _log_evidence(path: Path, questions: LoggedQuestions) -> LogEvidence:
    lacking, total, feedback = Counter[str](), 0, 0
    for batch in questions.batches(("hits", "answer", "error", *_STEPS, "configuration", "versions", "feedback")):
        known = {name: batch.column(name).is_valid().to_numpy(zero_copy_only=False) for name in batch.schema.names}
        failed = pc.not_equal(batch.column("error").fill_null(""), "").to_numpy(zero_copy_only=False)
        has = {
            "hits": known["hits"] | failed,
            **{f"hits.{name}": _in_every_hit(batch.column("hits"), name) for name in ("doc_id", "score")},
            "answer": known["answer"] | failed,
            **{name: known[name] | failed for name in _STEPS},
            "configuration or versions": known["configuration"] | known["versions"],
        }
        total += len(batch)
        feedback += int(pc.sum(pc.greater(pc.list_value_length(batch.column("feedback")), 0)).as_py() or 0)
        lacking.update({name: int((~fine).sum()) for name, fine in has.items()})
    return LogEvidence(path, total, {name: number for name, number in lacking.items() if number}, feedback, questions.counts.lines())


def alert_evidence(folder: Path) -> AlertEvidence:
    """Read which alerts the last pass over a log tested, and which were ever raised. Raises InputError without a pass."""
    view = load_monitoring(folder)
    # A score of support is no faithfulness.
    tested = {test.alert: test for test in view.about.tested if test.alert != "faithfulness" or view.about.support == "faithfulness"}
    limits = {name: test.limit for name, test in tested.items() if test.limit is not None}
    raised = Counter(alert.first.alert for alert in view.raised if alert.first.alert in tested)
    score = view.about.support if view.about.support != "faithfulness" else ""
    return AlertEvidence(folder, {name: test.observations for name, test in tested.items()}, limits, raised, score)


def _in_every_hit(hits: pa.ListArray, name: str) -> Bools:
    """Mark the questions (n) of which each hit has a field."""
    fine = np.ones(len(hits), dtype=np.bool_)
    unknown = hits.flatten().field(name).is_null().to_numpy(zero_copy_only=False)
    fine[pc.list_parent_indices(hits).to_numpy(zero_copy_only=False)[unknown]] = False
    return fine
