"""The sections and sentences of the monitoring page: latency by step, alerts, slices, untested alerts and unread questions, and questions worth labelling."""

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.core.text.display import excerpt
from workbench.core.text.formatting import capitalised, count, interval, listed, number, plural, share, shortened, signed
from workbench.monitor.alerts.detect import AlertTest, RaisedAlert, began, counted
from workbench.monitor.alerts.settings import ALERTS, CARDS, LimitAlert
from workbench.monitor.alerts.state import Alert
from workbench.monitor.comparison import CHANGE, keyed
from workbench.monitor.log.summary import TODAY, WEEK
from workbench.monitor.pass_record import COMPARISON, STATE, PassRecord
from workbench.report.cells import Scale, count_cell, key_of, value_cell, words
from workbench.report.model import Block, Cell, Collapsible, Column, Lines, Prose, Row, Table, Term, Terms

_STEPS = {name: f"{name}_seconds" for name in ("embedding", "retrieval", "reranking", "generation")} | {"the whole answer": "seconds"}
_MOST_SLICES, _MOST_RESOLVED, _MOST_EVIDENCE = 25, 20, 10
_NAME, _QUESTION, _ID = 40, 160, 16
_TAKE = "24"
# The rows of a comparison by measure and period.
_Slice = dict[tuple[str, str], Mapping[str, Any]]


def latency_block(periods: Mapping[str, pd.DataFrame]) -> Block:
    """Tabulate the percentiles of each step whose time is known."""
    titles = [f"{name}, {period}" for name in ("median", "p95") for period in ("today", "last week")]
    rows = []
    for label, step in _STEPS.items():
        values = [periods[period]["value"].get(f"{step}_{name}", float("nan")) for name in ("p50", "p95") for period in (TODAY, WEEK)]
        if not all(map(pd.isna, values)):
            cells = [value_cell(value, shown=seconds(value)) for value in values]
            rows.append(Row([Cell(label), *cells, count_cell(periods[TODAY]["n"].get(step, 0))]))
    if not rows:
        return Prose("No question of the last eight days has a time of a step.")
    columns = [words("step"), *map(Column, titles), Column("questions today")]
    return Table("Time of each step", columns, rows)


def alert_blocks(alerts: Sequence[Alert], about: PassRecord, folder: Path) -> list[Block]:
    """Show alerts: open ones by the time of the change, those that are acknowledged, and the last that were resolved."""
    order = {"open": 0, "acknowledged": 1, "resolved": 2}
    ordered = sorted(alerts, key=lambda alert: (order[alert.status], -(alert.first.resolved or -alert.first.since)))
    more = sum(alert.status == "resolved" for alert in alerts) - _MOST_RESOLVED
    shown = ordered[:-more] if more > 0 else ordered
    blocks: list[Block] = [_alert(alert, about, folder, opened=alert is shown[0]) for alert in shown]
    blocks += [Prose(f"{plural(more, 'older resolved alert')} in {STATE}.")] if more > 0 else []
    note = "Values are of conversations, and the times of changes are estimates. A value when its alert is raised rather overstates the change. A version that changed before an alert need not be its reason."
    return [*blocks, Prose(note)] if blocks else [Prose("No alert was raised so far.")]


def _alert(alert: Alert, about: PassRecord, folder: Path, opened: bool) -> Collapsible:
    first, until, is_open = alert.first, about.until, alert.status != "resolved"
    notes = [f"{alert.status} since {when(first.since, until)}"]
    if not is_open:
        notes = [f"resolved {when(first.resolved or 0, until)}: {first.reason}", f"since {when(first.since, until)}"]
    notes.append(f"raised {when(first.raised, until)} after {counted(first)}")
    terms = [Term("Value", raised_text(first), f"{first.about}, from then until the alert")] if first.value is not None else []
    terms += [Term("Last change", f"It began {change_text(first, until)}.")] if first.change else []
    if alert.status == "open":
        parts = ["workbench", "monitor", about.log, "--acknowledge", alert.id]
        parts += [] if folder.name == "monitoring" else ["--name", folder.name]
        parts += [] if folder.parent == Path("outputs") else ["--outputs", str(folder.parent)]
        terms.append(Term("Acknowledge", shlex.join(parts), code=True))
    ids = shortened(first.evidence[:_MOST_EVIDENCE], _ID)
    asked = [f"{excerpt(about.queries.get(name, '–'), _QUESTION)} ({short})" for name, short in ids.items()]
    blocks: list[Block] = [*([Terms(terms)] if terms else []), *([Lines(asked)] if asked else [])]
    title = capitalised(_meaning(first))
    return Collapsible(title, blocks, "; ".join(notes), "alert" if is_open else "resolved", opened and is_open)


def slice_blocks(comparison: pd.DataFrame, support: str) -> list[Block]:
    """Tabulate today's slices: those that are clearly worse than last week, then by the evidence for it."""
    slices: dict[str, _Slice] = {}
    for (by, group, measure, period), row in keyed(comparison[comparison["by"] != "all"]).items():
        slices.setdefault(f"{by} {group}", {})[measure, period] = row
    if not slices:
        return [Prose("No slices: the questions do not differ in configuration, model, versions or turn, or these are not known.")]
    ordered = sorted(slices, key=lambda name: _order(slices[name]))
    labels = shortened(ordered[:_MOST_SLICES], _NAME)
    ends = [slices[name]["faithfulness", CHANGE][end] for name in labels for end in ("value", "low", "high")]
    scale, worse = Scale.over(ends, zero=True), [short for name, short in labels.items() if _is_worse(slices[name])]
    columns = [words("slice"), Column("questions"), Column(support, note="judged"), Column("change", note="95 % interval"), scale.column()]
    columns += [Column("no results"), Column("change", note="95 % interval")]
    more = f" {plural(len(ordered) - len(labels), 'more slice')} in {COMPARISON}." if len(ordered) > len(labels) else ""
    note = (
        f"“Clearly” corrects for the differences of all {count(len(ordered))} slices; the intervals do not.{more} A slice without questions last week has no "
        "change. Of each field, the 20 values with most questions today are slices."
    )
    compared = any(not math.isnan(rows["no_results", CHANGE]["value"]) for rows in slices.values())
    line = f"Clearly worse than last week: {listed(worse, 9)}." if worse else "No slice is clearly worse than last week."
    line = line if compared else "No slice had questions last week to compare with."
    table = [_slice_row(short, slices[name], scale) for name, short in labels.items()]
    return [Prose(line), Table("Today by slice, and the change from last week", columns, table, note, key=key_of(labels))]


def _slice_row(label: str, rows: _Slice, scale: Scale) -> Row:
    support, empty, change = rows["faithfulness", TODAY], rows["no_results", TODAY], rows["faithfulness", CHANGE]
    return Row(
        [
            Cell(label),
            count_cell(empty["of"]),
            value_cell(support["value"], shown=amount("faithfulness", support["value"]), note=count(support["n"])),
            _change_cell("faithfulness", change),
            Cell("", bar=scale.bar(change["value"], change["low"], change["high"], zero=True)),
            value_cell(empty["value"], shown=amount("no_results", empty["value"])),
            _change_cell("no_results", rows["no_results", CHANGE]),
        ]
    )


def _change_cell(measure: str, row: Mapping[str, Any]) -> Cell:
    value, bounds = difference(measure, row)
    return value_cell(row["value"], shown=value, note=bounds)


def _is_worse(rows: _Slice) -> bool:
    return any(row["verdict"] == "worse" for row in rows.values())


def _order(rows: _Slice) -> tuple[bool, float, float]:
    """Order by the verdict, by the largest change for the worse beside its interval, and by size."""
    changes = [(sign, rows[measure, CHANGE]) for sign, measure in ((-1, "faithfulness"), (1, "no_results"))]
    known = [sign * row["value"] / (row["high"] - row["low"]) for sign, row in changes if row["high"] > row["low"]]
    return not _is_worse(rows), -max(known, default=-math.inf), -rows["no_results", TODAY]["of"]


def left_out(about: PassRecord) -> list[str]:
    """Say which alerts were not tested, and which questions were not judged or not read."""
    reasons: dict[str, list[str]] = {}
    for test in about.tested:
        if test.untested:
            reasons.setdefault(test.untested, []).append(_title(test.alert).lower())
    lines = [f"Not tested: {'; '.join(names)} ({why})." for why, names in reasons.items()]
    lines += [f"Not judged, of the whole log: {plural(number, 'question')}, {reason}." for reason, number in about.skipped.items()]
    return [*lines, *map(capitalised, about.left_out)] or ["Every alert was tested, and every question was read and judged."]


def labelling_blocks(about: PassRecord, folder: Path) -> list[Block]:
    """Say how many questions the dataset of the settings lacks, and show the command that takes those that add most."""
    labelling, dataset, take = about.labelling, "DATASET", _TAKE
    line = "Set dataset in the settings of the monitor to see how many of the logged questions it lacks. The command takes those that add most:"
    if labelling:
        dataset, take = labelling.dataset, str(labelling.take)
        line = f"{dataset} lacks {count(labelling.lacking)} of {plural(labelling.compared, 'logged question')}: {plural(labelling.distinct, 'distinct one')}. "
        line += f"The command takes the {take} that add most; --take sets how many:"
    if labelling and not labelling.take:
        return [Prose(f"{dataset} has all of the {plural(labelling.compared, 'logged question')}.")]
    command = ["workbench", "dataset", "from-log", about.log, "--dataset", dataset, "--take", take, "--to", "outputs/from-log"]
    command += ["--monitoring", str(folder)] if folder != Path("outputs", "monitoring") else []
    return [Prose(line), Terms([Term("Command", shlex.join(command), code=True)])]


# Of latency and cost, differences are those of a share.
TAILS = {"latency": "of answers slower than last week's p95", "cost": "of questions dearer than last week's p95"}
_LONGEST_CHANGE = 100


def _title(name: str) -> str:
    return CARDS[name].title if name in CARDS else name.replace("_", " ")


def _meaning(alert: RaisedAlert) -> str:
    return ALERTS[alert.alert].worse if alert.alert in ALERTS else alert.about


def _in_points(name: str) -> bool:
    alert = ALERTS.get(name)
    return isinstance(alert, LimitAlert) and alert.in_points


def amount(measure: str, value: float) -> str:
    """Format a value of a measure; of latency it is in seconds."""
    if measure == "latency":
        return seconds(value)
    if measure == "cost":
        return "–" if math.isnan(value) else f"{value:.3g}"
    return number(value, 2) if measure in ("faithfulness", "similarity") or math.isnan(value) else share(value, 1)


def seconds(value: float) -> str:
    """Format a time, in milliseconds if it is below a second."""
    if math.isnan(value) or value >= 1:
        return number(value) if math.isnan(value) else f"{number(value, 2)} s"
    return "<0.01 ms" if 0 < value < 1e-5 else f"{float(f'{value * 1000:.3g}'):g} ms"


def difference(measure: str, row: Mapping[str, Any]) -> tuple[str, str]:
    """Format a difference and its interval. Those of shares are in points; of latency and cost it is that of a share."""
    factor, digits = (100, 1) if _in_points(measure) else (1, 3)
    unit = " points" if _in_points(measure) and not math.isnan(row["value"]) else ""
    bounds = "" if math.isnan(row["low"]) else interval(row["low"] * factor, row["high"] * factor, digits)
    return f"{signed(row['value'] * factor, digits)}{unit}", bounds


def limit_text(measure: str, tested: AlertTest | None) -> str:
    """Format the limit of an alert, or say why it has no limit."""
    if tested is None or tested.untested or tested.limit is None:
        return f"no limit: {tested.untested}" if tested else "no alert is set"
    bound = "" if tested.bound is None else f" above {amount(measure, tested.bound)}"
    return f"alert limit: {_level(measure, tested.limit)}{bound}"


def raised_text(alert: RaisedAlert) -> str:
    """Say the value of an alert that was raised, and its limit."""
    value, low, high, limit = (
        "" if level is None else _level(alert.alert, level) for level in (alert.value, alert.low, alert.high, alert.limit)
    )
    return value + (f" [{low}, {high}]" if low and high else "") + (f", limit {limit}" if limit else "")


def _level(measure: str, value: float) -> str:
    return share(value, 1) if _in_points(measure) else number(value, 2)


def when(time: int, until: int) -> str:
    """Format nanoseconds since 1970 in UTC, with the year if it is not that of `until`."""
    own, present = pd.Timestamp(time, unit="ns"), pd.Timestamp(until, unit="ns")
    return f"{own.day} {own:%b}{'' if own.year == present.year else f' {own.year}'} {own:%H:%M}"


def change_text(alert: RaisedAlert, until: int) -> str:
    """Say which versions changed last before an alert: it began after that, or the order is not certain. Empty without a change."""
    if not alert.change:
        return ""
    versions, _, time = alert.change.rpartition(" at ")
    return f"{began(alert)} {excerpt(versions, _LONGEST_CHANGE)} ({when(pd.Timestamp(time).value, until)})"


def happened(alerts: Sequence[RaisedAlert], until: int) -> str:
    """Summarise open alerts: their meanings, when they began, and the last change of a version before each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for alert in alerts:
        groups.setdefault((change_text(alert, until), when(alert.since, until)), []).append(_meaning(alert))
    parts: dict[str, list[str]] = {}
    for (change, time), names in groups.items():
        parts.setdefault(change, []).append(f"since {time}, {listed(list(dict.fromkeys(names)))}")
    return " ".join(f"{capitalised('; '.join(seen))}{f', {change}' if change else ''}." for change, seen in parts.items())
