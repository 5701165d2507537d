"""The monitoring page and notebook: today against last week, by step and slice, with alerts. They show the stored results of a pass."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.core.environment import find_upwards
from workbench.core.errors import InputError
from workbench.core.files import read_regular
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import capitalised, count, interval, listed, number, plural, share, shortened, signed
from workbench.measures.statistics.samples import FEWEST_SCORES
from workbench.monitor.alerts.detect import NEEDS, AlertTest, RaisedAlert, began, counted
from workbench.monitor.alerts.settings import ALERTS, CARDS, LimitAlert
from workbench.monitor.alerts.signals import THINNED
from workbench.monitor.alerts.state import Alert, read_state
from workbench.monitor.comparison import CHANGE, SLICED, daily, keyed, usual_range
from workbench.monitor.comparison import COLUMNS as COMPARED
from workbench.monitor.log.reading import EARLIEST
from workbench.monitor.log.summary import BEFORE, TODAY, WEEK
from workbench.monitor.log.summary import COLUMNS as SUMMARISED
from workbench.monitor.pass_record import COMPARISON, PASS, STATE, SUMMARY, PassRecord, read_pass_table
from workbench.report.cells import Scale, count_cell, key_of, value_cell, words
from workbench.report.model import (
    Badge,
    Block,
    Cell,
    Collapsible,
    Column,
    Headline,
    Indicator,
    Indicators,
    Lines,
    Opening,
    Prose,
    Report,
    Row,
    Section,
    Sparkline,
    Table,
    Term,
    Terms,
)
from workbench.report.render.html import write_page
from workbench.report.render.notebook import Shown, show

PAGE = "monitoring.html"
# Measures whose values are in the summary of the log; their differences are those of a share.
_SUMMARISED = {"latency": "seconds_p95", "cost": "cost"}
_ALWAYS = ("faithfulness", "no_results", "similarity", "latency", "feedback")
_NO_INTERVAL, _NAME = "no interval: fewer than 5 conversations, or equal values", 40
_READING = (
    "Bands are the range of last week's days, of those before the last change of a version if there are three; dashed lines are the limits of alerts, and "
    "the vertical line is that change. Lines skip days without a value. “Alert” is an open alert. “Watch” and “better” are differences from last week whose "
    "interval, widened for the number of these cards, excludes 0, with today outside the range of last week's days; “steady” means no clear difference. "
    "Latency and cost have no band: they are compared by the share of questions above last week's 95th percentile, not by the values of the line. "
    "Brackets are 95 % intervals; the questions of a conversation count as dependent. Today may be another weekday, or shorter, than the days before."
)
_WEIGHTED = " Values are of all questions that were asked: each logged one has the weight of those that its probability stands for."


@dataclass(frozen=True, eq=False)
class MonitoringView:
    """The results of the last pass over a log, for a notebook or a page."""

    folder: Path
    about: PassRecord
    raised: tuple[Alert, ...]
    comparison: pd.DataFrame
    summary: pd.DataFrame

    @cached_property
    def open(self) -> tuple[Alert, ...]:
        """The alerts that are open or acknowledged, by the time of the change."""
        return tuple(sorted((alert for alert in self.raised if alert.status != "resolved"), key=lambda alert: alert.first.since))

    def overview(self) -> Shown:
        """The number of open alerts, the measures that got worse, and those that did not."""
        return show(self._badge(), Headline(self._headline()), Prose(self._opening()))

    def indicators(self) -> Shown:
        """The measures of today and of last week as cards, with their limits and their days."""
        if self.comparison.empty:
            return show()
        weighted = any(THINNED in line for line in self.about.left_out)
        return show(Indicators([self._indicator(name) for name in self._known], _READING + (_WEIGHTED if weighted else "")))

    def latency(self) -> Shown:
        """The median and the 95th percentile of each step, today and last week."""
        return show(latency_block({period: self._period(period) for period in (TODAY, WEEK)}))

    def alerts(self) -> Shown:
        """The alerts, open ones first, with their evidence."""
        return show(*alert_blocks(self.raised, self.about, self.folder))

    def slices(self) -> Shown:
        """The questions of today by configuration, model, version and turn, those that got worse first."""
        return show(*slice_blocks(self.comparison, self._title("faithfulness").lower()))

    def left_out(self) -> Shown:
        """Alerts that were not tested, and questions that were not judged or not read."""
        return show(Lines(left_out(self.about)))

    def labelling(self) -> Shown:
        """The number of questions that the dataset lacks, and the command that takes them."""
        return show(*labelling_blocks(self.about, self.folder))

    def document(self) -> Report:
        """The whole as a page."""
        worse = self.comparison[(self.comparison["by"] != "all") & (self.comparison["verdict"] == "worse")]
        sections = [
            Section("Latency by step", "latency", self.latency().blocks, "Latency"),
            Section("Alerts", "alerts", self.alerts().blocks, "Alerts"),
            Section("Where it got worse" if len(worse) else "By slice", "slices", self.slices().blocks, "Slices"),
            Section("Not tested and left out", "left-out", self.left_out().blocks, "Left out"),
            Section("Worth labelling", "labelling", self.labelling().blocks, "Labelling"),
        ]
        days = "" if self.comparison.empty else f": {self._today}, against {self._week}"
        title, cards = f"{excerpt(Path(self.about.log).name)}{days}", self.indicators().blocks
        return Report(
            title, self.folder.name, [], Opening(self._headline(), [self._badge()], lines=[self._opening()], blocks=cards), sections
        )

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()

    def _badge(self) -> Badge:
        if not self.open:
            return Badge("no alert open", "steady")
        seen = sum(alert.status == "acknowledged" for alert in self.open)
        parts = [plural(len(self.open) - seen, "alert") + " open"] if len(self.open) > seen else []
        return Badge(
            ", ".join([*parts, *([f"{seen} acknowledged" if parts else f"{plural(seen, 'alert')} acknowledged"] if seen else [])]), "alert"
        )

    def _headline(self) -> str:
        if self.open:
            return happened([alert.first for alert in self.open], self.about.until)
        if self.comparison.empty:
            return "No alert is open, and no question of the log has a time."
        worse = [name for name in self._known if self._row(name, CHANGE)["verdict"] == "worse"]
        if worse := [CARDS[name].worse for name in worse] or self._worse_slices():
            return f"No alert is open, but against last week, {listed(worse)} today."
        if not any(alert.observations for alert in self.about.tested):
            return f"No alert is open, and {self._untested()}"
        if self._period(WEEK).empty:
            return "No alert is open, and there is no earlier week to compare today with."
        if not any(self._is_compared(name) for name in self._known):
            return "No alert is open. Today or last week has too few conversations or days to compare."
        return "No alert is open, and nothing is clearly worse than last week."

    def _worse_slices(self) -> list[str]:
        """Name the measures that are clearly worse, each with its slices."""
        slices: dict[str, list[str]] = {}
        for (by, group, measure, _), row in self._rows.items():
            if by != "all" and row["verdict"] == "worse":
                slices.setdefault(measure, []).append(f"{by} {group}")
        return [f"{CARDS[measure].worse} in {listed([excerpt(name, _NAME) for name in names], 3)}" for measure, names in slices.items()]

    def _untested(self) -> str:
        if any(NEEDS in test.untested for test in self.about.tested):
            return "none can be tested: the reference period has too few conversations. Set reference_days in the settings to more days."
        return "none could be tested yet."

    def _opening(self) -> str:
        if self.comparison.empty:
            return "Today and last week are not known."
        parts = [f"{capitalised(self._today)}: {self._counted(TODAY)}. Last week, {self._week}: {self._counted(WEEK)}."]
        states = {
            state: [self._title(name).lower() for name in self._known if self._state(name).text == state]
            for state in ("watch", "steady", "better")
        }
        # Without an alert, the headline says what is worse.
        parts += [f"Worse than last week: {'; '.join(states['watch'])}."] if self.open and states["watch"] else []
        for state, text in (("steady", "No clear difference from last week"), ("better", "Better than last week")):
            parts += [f"{text}: {'; '.join(states[state])}."] if states[state] else []
        return " ".join(parts)

    @cached_property
    def _today(self) -> str:
        until = pd.Timestamp(self.about.until, unit="ns")
        return f"today, {until.day} {until:%b}, until {until:%H:%M} UTC"

    @cached_property
    def _week(self) -> str:
        first, last = (pd.Timestamp(self.about.until, unit="ns").floor("D") - pd.Timedelta(days=days) for days in (BEFORE, 1))
        days = self.comparison["period"][self.comparison["period"].str.match(r"\d{4}-")]
        # A log that began within the week has fewer days.
        first = max(first, min(last, pd.Timestamp(str(days.min())))) if self._row("no_results", WEEK)["of"] else first
        if first == last:
            return f"{last.day} {last:%b}"
        return f"{first.day}{f' {first:%b}' if first.month != last.month else ''}–{last.day} {last:%b}"

    def _counted(self, period: str) -> str:
        rows = {row["measure"]: row for row in self._period(period).reset_index().to_dict("records")}
        if not rows:
            return "no questions"
        number, known = rows["questions"]["n"], rows["conversations"]
        return plural(number, "question") + (f" in {plural(round(known['total']), 'conversation')}" if known["n"] == number else "")

    def _period(self, period: str) -> pd.DataFrame:
        return self.summary[(self.summary["by"] == "period") & (self.summary["group"] == period)].set_index("measure")

    @cached_property
    def _known(self) -> list[str]:
        """The measures that are shown: refusals and cost only if they are known."""
        if self.comparison.empty:
            return []
        return [name for name in CARDS if name in _ALWAYS or self._row(name, TODAY)["n"] or self._row(name, WEEK)["n"]]

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str, str], dict[str, Any]]:
        return keyed(self.comparison)

    def _row(self, measure: str, period: str) -> dict[str, Any]:
        return self._rows["all", "", measure, period]

    def _title(self, name: str) -> str:
        return capitalised(self.about.support) if name == "faithfulness" and self.about.support else CARDS[name].title

    def _state(self, name: str) -> Badge:
        statuses = {alert.status for alert in self.open if alert.first.alert == name}
        if statuses:
            return Badge("alert" if "open" in statuses else "alert, acknowledged", "alert")
        if not self._is_compared(name):
            return Badge("no comparison", "steady")
        state = {"worse": "watch", "better": "better"}.get(str(self._row(name, CHANGE)["verdict"]), "steady")
        return Badge(state, state)

    def _usual(self, name: str) -> tuple[float, float] | None:
        """The usual range of the values that are compared."""
        usual = usual_range(daily(self.comparison, name), self.about.changes[-1][0] if self.about.changes else None)
        return None if pd.isna(usual[0]) else usual

    def _is_compared(self, name: str) -> bool:
        return not pd.isna(self._row(name, CHANGE)["low"]) and self._usual(name) is not None

    def _indicator(self, name: str) -> Indicator:
        shown, tested = _SUMMARISED.get(name), {test.alert: test for test in self.about.tested}.get(name)
        days = daily(self.comparison, name)
        now, before = (float(self._row(name, period)["value"]) for period in (TODAY, WEEK))
        if shown:
            now, before = (float(self._period(period)["value"].get(shown, float("nan"))) for period in (TODAY, WEEK))
            rows = self.summary[(self.summary["by"] == "day") & (self.summary["measure"] == shown)].set_index("group")["value"]
            days = pd.Series(rows.reindex([f"{day:%Y-%m-%d}" for day in days.index]).to_numpy(), index=days.index)
        limit = None if tested is None or name == "cost" else tested.bound if name == "latency" else tested.limit
        alt = f"{self._title(name)} by day until today: {', '.join(amount(name, value) for value in days)}"
        line = Sparkline(days.tolist(), alt, None if shown else self._usual(name), limit, self._mark(days))
        was = "" if pd.isna(before) else f"was {amount(name, before)}"
        return Indicator(self._title(name), self._state(name), amount(name, now), was, [*self._notes(name, tested)], line)

    def _mark(self, days: "pd.Series[float]") -> float | None:
        """The place of the last change of a version among the days, whose points are the middles of days. None if it was before them."""
        if not self.about.changes:
            return None
        day = (pd.Timestamp(self.about.changes[-1][0], unit="ns") - days.index[0]) / pd.Timedelta(days=1)
        return min(max(day - 0.5, 0.0), len(days) - 1.0) if day >= 0 else None

    def _notes(self, name: str, tested: AlertTest | None) -> Iterator[str]:
        now, change = self._row(name, TODAY), self._row(name, CHANGE)
        if not pd.isna(change["low"]):
            yield " ".join((*difference(name, change), TAILS.get(name, ""))).strip()
        elif not pd.isna(change["value"]):
            # A support or a similarity has an interval from 20 values on, if they are not only 0 and 1.
            few = not CARDS[name].in_points and min(self._row(name, period)["n"] for period in (TODAY, WEEK)) < FEWEST_SCORES
            which = {"faithfulness": "judged answers", "similarity": "questions with a score"}.get(name, "")
            yield f"no interval: fewer than {FEWEST_SCORES} {which} or 5 conversations" if few else _NO_INTERVAL
        if not pd.isna(change["low"]) and self._usual(name) is None:
            yield "no verdict: fewer than 3 earlier days with a value"
        known, of = int(now["n"]), int(now["of"])
        yield plural(of, "question") if known == of else f"{count(known)} of {plural(of, 'question')} {CARDS[name].unit}"
        yield limit_text(name, tested)


def load_monitoring(folder: str | Path = "outputs/monitoring") -> MonitoringView:
    """Open the results of the last pass of `workbench monitor`. A relative `folder` is resolved like the folder of a run.

    Raises
    ------
    InputError: the folder does not exist, or has no results of a pass.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.load_monitoring("outputs/monitoring").open
    ()
    """
    path = find_upwards(folder) or Path(folder)
    try:
        about = PassRecord.model_validate_json(read_regular(path / PASS))
        comparison = read_pass_table(path / COMPARISON, COMPARED, ("by", "group", "measure", "period"))
        summary = read_pass_table(path / SUMMARY, SUMMARISED, ("by", "group", "measure"))
        _check_rows(comparison, summary)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} has no results of workbench monitor", "run workbench monitor LOG, and give the folder that it wrote"
        ) from error
    return MonitoringView(path, about, read_state(path / STATE).alerts, comparison, summary)


def _check_rows(comparison: pd.DataFrame, summary: pd.DataFrame) -> None:
    """Raise ValueError if a row is missing that the page shows, or if a period is not a day."""
    known = keyed(comparison)
    slices = {(by, group, SLICED) for by, group, _, _ in known} - {("all", "", SLICED)} | ({("all", "", tuple(CARDS))} if known else set())
    needed = {(by, group, name, period) for by, group, names in slices for name in names for period in (TODAY, WEEK, CHANGE)}
    rows = summary[summary["by"] == "period"]
    counted = {(period, name) for period in rows["group"].unique() for name in ("questions", "conversations")}
    if not needed <= known.keys() or not counted <= {*zip(rows["group"], rows["measure"], strict=True)}:
        raise ValueError("a row is missing")
    # Also the totals, of which numbers are shown.
    if known and not (TODAY in {*rows["group"]} and np.isfinite(rows.loc[rows["measure"].eq("conversations"), "total"]).all()):
        raise ValueError("a total is missing")
    days = pd.to_datetime(comparison.loc[~comparison["period"].isin((TODAY, WEEK, CHANGE)), "period"], format="%Y-%m-%d")
    if not days.between(EARLIEST.replace(tzinfo=None), pd.Timestamp.max).all():
        raise ValueError("a day that cannot be")


def write_monitoring(folder: Path) -> Path:
    """Write the page of the last pass into its folder."""
    return write_page(load_monitoring(folder).document(), folder / PAGE)


_STEPS = {name: f"{name}_seconds" for name in ("embedding", "retrieval", "reranking", "generation")} | {"the whole answer": "seconds"}
_MOST_SLICES, _MOST_RESOLVED, _MOST_EVIDENCE = 25, 20, 10
_QUESTION, _ID = 160, 16
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
