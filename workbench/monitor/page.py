"""The monitoring page and notebook: today against last week, by step and slice, with alerts. They show the stored results of a pass."""

from collections.abc import Iterator
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
from workbench.core.text.formatting import capitalised, count, listed, plural
from workbench.measures.statistics.judging.sampled import FEWEST_SCORES
from workbench.monitor.alerts.detect import NEEDS, AlertTest
from workbench.monitor.alerts.settings import CARDS
from workbench.monitor.alerts.signals import THINNED
from workbench.monitor.alerts.state import Alert, read_state
from workbench.monitor.comparison import CHANGE, SLICED, daily, keyed, usual_range
from workbench.monitor.comparison import COLUMNS as COMPARED
from workbench.monitor.log.reading import EARLIEST
from workbench.monitor.log.summary import BEFORE, TODAY, WEEK
from workbench.monitor.log.summary import COLUMNS as SUMMARISED
from workbench.monitor.page_parts import (
    TAILS,
    alert_blocks,
    amount,
    difference,
    happened,
    labelling_blocks,
    latency_block,
    left_out,
    limit_text,
    slice_blocks,
)
from workbench.monitor.pass_record import COMPARISON, PASS, STATE, SUMMARY, PassRecord, read_pass_table
from workbench.report.model import Badge, Headline, Indicator, Indicators, Lines, Prose, Report, Section, Sparkline, Summary
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
            title, self.folder.name, [], Headline(self._headline()), [self._opening()], Summary(()), sections, self._badge(), cards
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
