"""What the trends notebook shows of a history: a metric over runs, what changed between them, and since when its level is another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import hypot
from typing import Any

import pandas as pd

from workbench.core.formatting import count, fitting_digits, interval, listed, number, plural, shortened, signed
from workbench.report.cells import key_of, text, words
from workbench.report.figures import trends
from workbench.report.model import Answered, Cell, Column, Figure, Lead, Lines, Prose, Report, Row, Section, Table
from workbench.report.records import Record
from workbench.report.render.notebook import Shown, show
from workbench.results.history import EXACT, FINGERPRINTS, changes
from workbench.statistics.change_points import FEWEST_RUNS, ChangePoint, change_points

# A fingerprint's column, and what a person calls it.
NAMES = dict(zip(FINGERPRINTS, ("corpus", "questions", "labels", "chunking", "model", "retrieval", "prompt"), strict=True))
_DATASET = ("corpus", "questions", "labels")
_MOST_RUNS = 60
_MOST_PANELS = 8
# Letters of a panel's title that its frame holds.
_TITLE_LENGTH = 38
_MOST_ROWS = 40


@dataclass(frozen=True)
class TrendsView:
    """One metric of one experiment over the runs of a history."""

    history: pd.DataFrame
    experiment: str
    metric: str

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The experiment's runs, oldest first, numbered from 1: run, time, commit, place."""
        rows = self.history[self.history["experiment"] == self.experiment].drop_duplicates("run")
        return rows[["run", "time", "commit"]].assign(place=range(1, len(rows) + 1)).reset_index(drop=True)

    @cached_property
    def found(self) -> tuple[trends.Trend, ...]:
        """The configurations, those of the last run first."""
        rows = self.history[(self.history["experiment"] == self.experiment) & (self.history["metric"] == self.metric)]
        newest_first = rows.iloc[::-1]["run"].drop_duplicates().tolist()
        names = dict.fromkeys(name for run in newest_first for name in rows.loc[rows["run"] == run, "configuration"])
        return tuple(trend for name in names if len((trend := self._trend(name)).rows))

    def overview(self) -> Shown:
        """How many runs there are, what is told of them, and what a value without a reason means."""
        first, last = self.runs["time"].iloc[0], self.runs["time"].iloc[-1]
        counted = f"{plural(len(self.runs), 'run')} of {self.experiment} from {_day(first)} to {_day(last)}, by {self.metric}"
        stepped = [one.name for one in self.found if one.levels.points]
        short = [one.name for one in self.found if not one.levels.enough]
        told = f"a change of level was found in {listed(stepped)}" if stepped else "no change of level was found"
        if len(short) == len(self.found):
            told = f"fewer than {FEWEST_RUNS} runs, in which a change of level cannot be told from noise"
        lines = ["The same configuration on the same questions gives identical values: only what is marked can have changed one."]
        lines += (
            [f"Fewer than {FEWEST_RUNS} runs, so no change of level can be told: {listed(short)}."]
            if 0 < len(short) < len(self.found)
            else []
        )
        return show(Lead(f"{counted}: {told}."), Lines(lines))

    def chart(self) -> Shown:
        """The metric over the runs, a panel for each configuration."""
        dates = [(row["place"], f"{row['time']:%d %b}".lstrip("0")) for row in _records(self.runs.tail(_MOST_RUNS))]
        oldest = dates[0][0]
        shown = [_since(one, oldest) for one in self.found if one.rows["place"].iloc[-1] >= oldest][:_MOST_PANELS]
        if not shown:
            return show(Prose(f"{self.metric} was scored in no run."))
        digits = fitting_digits(value for one in shown for value in one.rows["value"])
        told = "; ".join(f"{one.name} {', '.join(number(value, digits) for value in one.rows['value'])}" for one in shown)
        alt = f"{self.metric} by run from run {oldest}: {told}"
        short = shortened([one.name for one in shown], _TITLE_LENGTH)
        drawn = [replace(one, name=short[one.name]) for one in shown]
        return show(Figure("trends", alt, "", trends.trends(drawn, self.metric, dates), key=key_of(short)))

    def left_out(self) -> Shown:
        """What the chart has no room for."""
        older, more = len(self.runs) - _MOST_RUNS, len(self.found) - _MOST_PANELS
        lines = [f"{plural(older, 'older run')} not drawn; the tables tell of all."] if older > 0 else []
        lines += [f"Not drawn: {listed([one.name for one in self.found[_MOST_PANELS:]])}."] if more > 0 else []
        return show(Lines(lines) if lines else None)

    def changes(self) -> Shown:
        """Every run in which something that the values depend on was another than before, with the step of the value."""
        rows = []
        for one in self.found:
            for row in _records(one.rows[one.rows["changed"] != ""]):
                cells = [_named(row["changed"]), number(row["value"]), signed(row["difference"]), _commit(row["commit"])]
                rows.append([str(row["place"]), one.name, _time(row["time"]), *cells])
        if not rows:
            return show(Prose("Nothing was changed between runs."))
        columns = [words("run"), words("configuration"), words("time, UTC"), text("changed"), Column("value"), Column("difference")]
        return _newest("changes", "What changed since the configuration's run before", [*columns, words("commit")], rows)

    def levels(self) -> Shown:
        """The change points that were found, with what had changed in that run."""
        rows = [self._level(one, point) for one in self.found for point in one.levels.points]
        if not rows:
            enough = any(one.levels.enough for one in self.found)
            why = "" if enough else f": that takes {FEWEST_RUNS} runs of a configuration"
            return show(Prose(f"No change of level was found{why}."))
        columns = [words("run"), words("configuration"), Column("before"), Column("after"), Column("p"), text("changed in that run")]
        return _table("levels", f"From which run {self.metric} stood on another level", columns, rows)

    def unexplained(self) -> Shown:
        """The runs whose value is another though no fingerprint is."""
        rows = []
        for one in self.found:
            for row in _records(one.rows.assign(before=one.rows["commit"].shift())[one.rows["unexplained"]]):
                cells = [number(row["value"], 4), signed(row["difference"], 4), _commit(row["before"]), _commit(row["commit"])]
                rows.append([str(row["place"]), one.name, _time(row["time"]), *cells])
        if not rows:
            return show(Prose("Every change of a value came with a change of what it is made of."))
        columns = [words("run"), words("configuration"), words("time, UTC"), Column("value"), Column("difference")]
        caption = "Another value from the same fingerprints: the code or the machine changed"
        return _newest("unexplained", caption, [*columns, words("commit before"), words("commit")], rows)

    def last_two(self) -> Shown:
        """The last run of each configuration against the one before it, by their intervals alone."""
        rows = [_pair(one) for one in self.found if len(one.rows) > 1]
        if not rows:
            return show(Prose("No configuration has two runs yet."))
        columns = [words("configuration"), words("runs"), Column("before"), Column("last"), Column("difference"), Column("95 % interval")]
        return _table("last-two", f"{self.metric} of each configuration's last two runs, not paired", [*columns, text("changed")], rows)

    def record(self, run_id: str) -> Record:
        """The conclusions, for whoever runs the notebook."""
        points = [{"configuration": one.name, "run": point.run, "p": point.p} for one in self.found for point in one.levels.points]
        values: dict[str, Any] = {"experiment": self.experiment, "metric": self.metric, "runs": len(self.runs), "change_points": points}
        return Record(run_id, values, f"{plural(len(points), 'change')} of level in {plural(len(self.runs), 'run')}")

    def document(self) -> Report:
        """Everything as a page of its own."""
        lead, lines = self.overview().blocks
        parts = (
            ("The metric over the runs", "runs", "Runs", [*self.chart().blocks, *self.left_out().blocks]),
            ("Changes of level", "level", "Levels", self.levels().blocks),
            ("What was changed", "changed", "Changes", self.changes().blocks),
            ("Changes without a reason", "unexplained-values", "Unexplained", self.unexplained().blocks),
            ("The last two runs", "last", "Last two", self.last_two().blocks),
        )
        sections = [Section(title, anchor, blocks, short) for title, anchor, short, blocks in parts]
        title, names = f"{self.experiment}: since when is it better or worse?", [one.name for one in self.found]
        opening = lines.items if isinstance(lines, Lines) else ()
        return Report(title, "history.parquet", names, lead if isinstance(lead, Lead) else Lead(""), opening, Answered(()), sections)

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()

    def _trend(self, name: str) -> trends.Trend:
        rows = changes(self.history, self.experiment, name, self.metric)
        rows["place"] = rows["run"].map(self.runs.set_index("run")["place"])
        marks = [(row["place"], _short(row["changed"])) for row in _records(rows[rows["changed"] != ""])]
        return trends.Trend(name, rows, marks, change_points(rows.set_index("run")["value"]))

    def _level(self, one: trends.Trend, point: ChangePoint) -> list[str]:
        (row,) = _records(one.rows[one.rows["run"] == point.run])
        why = _named(row["changed"]) if row["changed"] else "no fingerprint" if row["unexplained"] else "nothing"
        p = f"{point.p:.4f}" if point.p >= 0.001 else "< 0.001"
        return [str(row["place"]), one.name, number(point.before), number(point.after), p, why]


def _since(one: trends.Trend, oldest: int) -> trends.Trend:
    marks = [mark for mark in one.marks if mark[0] >= oldest]
    return trends.Trend(one.name, one.rows[one.rows["place"] >= oldest], marks, one.levels)


def _pair(one: trends.Trend) -> list[str]:
    """The interval of the difference is Newcombe's square-and-add of the two intervals, as if their questions were others."""
    before, last = _records(one.rows.tail(2))
    difference = last["value"] - before["value"]
    low = difference - hypot(last["value"] - last["low"], before["high"] - before["value"])
    high = difference + hypot(last["high"] - last["value"], before["value"] - before["low"])
    same = not last["changed"] and abs(difference) <= EXACT
    changed = _named(last["changed"]) if last["changed"] else "nothing, identical" if same else "the code or the machine"
    values = [number(before["value"]), number(last["value"]), signed(difference), "–" if same else interval(low, high)]
    return [one.name, f"{count(before['place'])}, {count(last['place'])}", *values, changed]


def _named(changed: str) -> str:
    return ", ".join(NAMES[name] for name in changed.split(", "))


def _short(changed: str) -> str:
    """As a label: the three fingerprints of a dataset are one word."""
    return ", ".join(dict.fromkeys("dataset" if name in _DATASET else NAMES[name] for name in changed.split(", ")))


def _records(rows: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in rows.to_dict("records")]


def _newest(name: str, caption: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Shown:
    """A table of rows that begin with their run, the last of them where there are many."""
    ordered = sorted(rows, key=lambda row: int(row[0]))
    of = f" (the last {_MOST_ROWS} of {count(len(rows))})" if len(rows) > _MOST_ROWS else ""
    return _table(name, caption + of, columns, ordered[-_MOST_ROWS:])


def _table(name: str, caption: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Shown:
    return show(Table(name, caption, columns, [Row([Cell(text) for text in row]) for row in rows]))


def _commit(commit: str | None) -> str:
    if not isinstance(commit, str):
        return "–"
    return commit[:8] + ("-dirty" if commit.endswith("-dirty") else "")


def _day(when: pd.Timestamp) -> str:
    return f"{when:%Y-%m-%d}"


def _time(when: pd.Timestamp) -> str:
    return f"{when:%Y-%m-%d %H:%M}"
