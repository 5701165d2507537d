"""The trends notebook: a metric over the runs of a history, the changes between runs, and changes of its level."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from workbench.core.environment import find_upwards
from workbench.core.errors import InputError
from workbench.core.text.formatting import count, fitting_digits, listed, nearest_word, number, plural, shortened, signed
from workbench.measures.statistics.change_points import FEWEST_RESULTS, change_points
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.comparison import paired_difference
from workbench.measures.statistics.intervals import Interval
from workbench.measures.statistics.pairs import all_pairs
from workbench.report.canvas import ACCENT, FAINT, INK, MUTED, POINTS, WARNING, WIDTH_INCHES, canvas, own_style, plain, spanned
from workbench.report.cells import key_of, p_cell, text, words
from workbench.report.model import Cell, Column, Figure, Headline, Lines, Opening, Prose, Report, Row, Section, Table
from workbench.report.render.notebook import Record, Shown, show
from workbench.report.results.history import changes, history_path, read_history, read_scores, scores_path
from workbench.report.results.run_tables import RETRIEVED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

    from workbench.measures.statistics.change_points import Levels

_DATES = 5

_FEW = 25

_INTERVAL = "#a9b6c4"

# The greatest width of a letter at this font size, in inches, and the height of a row, in points.
_LETTER = 0.072

_ROW_POINTS = 11

# Fingerprints whose names differ from their columns'.
_NAMES = {"embedding": "model"}

_DATASET = dict.fromkeys(("corpus", "questions", "labels"), "dataset")

_MOST_RUNS = 60

_MOST_PANELS = 8

# The longest title, in letters, that fits a panel.
_TITLE_LENGTH = 38

_MOST_ROWS = 40

_RUN = (words("run"), words("configuration"), words("time, UTC"))

_DIFFERENCE = (Column("value"), Column("difference"), text("95 % interval"), Column("p"))

_PAIRED = (
    "A difference is to the configuration's run before, on the same questions; its interval and p are paired by question, clustered by source "
    "document, and not corrected for the number of rows. Scores by question are kept for the primary metric."
)


@dataclass(frozen=True)
class Trend:
    """One configuration's runs: `rows` of `changes` with the run's number `place`, and `marks` (place, changed fingerprints)."""

    name: str
    rows: pd.DataFrame
    marks: Sequence[tuple[int, str]]
    levels: "Levels"


@own_style()
def trends_drawing(shown: Sequence[Trend], metric: str, dates: Sequence[tuple[int, str]]) -> "Drawing":
    """Plot stacked panels on the same axes. `dates` (place, day) are the runs of the experiment, oldest first."""
    first, last = dates[0][0], dates[-1][0]
    rows = [label_rows(trend.marks, first, last) for trend in shown]
    heights = [1.25 + (max(levels.values(), default=-1) + 1) * _ROW_POINTS / 72 for levels in rows]
    figure, panels = canvas(0.5 + sum(heights), heights)
    for axes, trend, placed in zip(panels, shown, rows, strict=True):
        _panel(axes, trend, placed)
    panels[0].set_ylim(*spanned(panels[0].get_ylim(), max(axes.dataLim.y1 for axes in panels)))
    panels[0].set_xlim(first - 0.6, last + 0.6)
    ticks = [dates[place] for place in sorted({round(place) for place in np.linspace(0, len(dates) - 1, _DATES)})]
    panels[-1].set_xticks([place for place, _ in ticks], [f"{place}\n{day}" for place, day in ticks])
    panels[-1].set_xlabel(f"run: {metric} with 95 % intervals")
    return figure


def label_rows(marks: Sequence[tuple[int, str]], first: int, last: int) -> dict[int, int]:
    """Assign each mark's label a row above the panel, 0 the lowest, so that no two overlap."""
    inch = (WIDTH_INCHES - 0.9) / (last - first + 1.2)
    rows: dict[int, int] = {}
    # From right to left, place each label above all that it would overlap, so that no leader line crosses a label.
    for place, label in reversed(marks):
        edge = place + (len(label) + 1) * _LETTER / inch
        rows[place] = 1 + max((row for later, row in rows.items() if later < edge), default=-1)
    return rows


def _panel(axes: "Axes", trend: Trend, placed: dict[int, int]) -> None:
    places, values = trend.rows["place"].to_numpy(), trend.rows["value"].to_numpy()
    few = len(places) <= _FEW
    below, above = values - trend.rows["low"].fillna(trend.rows["value"]), trend.rows["high"].fillna(trend.rows["value"]) - values
    axes.errorbar(places, values, [below.clip(lower=0), above.clip(lower=0)], fmt="none", ecolor=_INTERVAL, elinewidth=2)
    axes.plot(places, values, color=ACCENT, linewidth=1, marker="o", markersize=3.5 if few else 2.2)
    _levels(axes, trend)
    for place, label in trend.marks:
        _mark(axes, place, label, placed[place])
    ring: dict[str, Any] = {"markersize": 8 if few else 5, "markerfacecolor": "none", "markeredgewidth": 1.3 if few else 0.9}
    unexplained = trend.rows[trend.rows["unexplained"]]
    axes.plot(unexplained["place"], unexplained["value"], "o", color=WARNING, **ring)
    rows = max(placed.values(), default=-1) + 1
    axes.set_title(plain(trend.name), loc="left", fontsize=POINTS, color=INK, fontweight="bold", pad=4 + rows * _ROW_POINTS)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.locator_params(axis="y", nbins=4)


def _mark(axes: "Axes", place: int, label: str, row: int) -> None:
    axes.axvline(place - 0.5, color=MUTED, linewidth=0.8, linestyle=(0, (3, 2)))
    height = 3 + row * _ROW_POINTS
    look: dict[str, Any] = {"textcoords": "offset points", "va": "bottom", "color": MUTED, "fontsize": POINTS, "annotation_clip": False}
    if row:
        arrow = {"arrowstyle": "-", "color": MUTED, "linewidth": 0.8, "linestyle": (0, (3, 2)), "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (place - 0.5, 1), (0, height), ("data", "axes fraction"), arrowprops=arrow, **look)
    axes.annotate(label, (place - 0.5, 1), (-1 if not row else 2, height), ("data", "axes fraction"), ha="left", **look)


def _levels(axes: "Axes", trend: Trend) -> None:
    """Draw the mean of each level as a line, and a triangle under the first run of a new level."""
    places = dict(zip(trend.rows["run"], trend.rows["place"], strict=True))
    points = [point for point in trend.levels.points if point.run in places]
    if not points:
        return
    starts = [trend.rows["place"].iloc[0], *(places[point.run] for point in points)]
    ends = [*starts[1:], trend.rows["place"].iloc[-1] + 1]
    for start, end, mean in zip(starts, ends, [points[0].before, *(point.after for point in points)], strict=True):
        axes.plot([start - 0.5, end - 0.5], [mean, mean], color=WARNING, linewidth=1.3)
    axes.plot(starts[1:], [0.04] * len(points), "^", color=WARNING, markersize=6, transform=axes.get_xaxis_transform(), clip_on=False)


class RunDifference(NamedTuple):
    """A run minus the run before it, paired by question, with the p of the clustered paired t test (NaN if it does not vary).

    `difference` is None if the runs cannot be paired, for the reason in `refusal`.
    """

    run: str
    difference: Interval | None = None
    p: float = np.nan
    refusal: str = ""


def run_differences(runs: pd.DataFrame, scores: Mapping[str, pd.DataFrame]) -> list[RunDifference]:
    """Compare each run whose result differs from the run before, oldest first.

    `runs` is a table of `results.history.changes`, `scores` contains the sets of `results.history.read_scores`. p is not corrected
    for the number of runs.
    """
    rows = runs.to_dict("records")
    return [_compared(before, after, scores) for before, after in itertools.pairwise(rows) if before["result"] != after["result"]]


def _compared(before: Mapping[Any, Any], after: Mapping[Any, Any], scores: Mapping[str, pd.DataFrame]) -> RunDifference:
    run = str(after["run"])
    missing = not all(isinstance(row["scores"], str) for row in (before, after))
    dropped = not {before["scores"], after["scores"]} <= scores.keys()
    if "questions" in after["changed"].split(", "):
        return RunDifference(run, refusal="other questions")
    if missing or dropped:
        return RunDifference(run, refusal="no scores by question" if missing else "scores by question no longer kept")
    first, last = scores[before["scores"]], scores[after["scores"]]
    if first["query_id"].tolist() != last["query_id"].tolist():
        return RunDifference(run, refusal="other question ids")
    values = np.array([last["value"], first["value"]], dtype=np.float64)
    both, clusters = np.asarray(~np.isnan(values).any(axis=0)), Clusters.of_table(last)
    if not both.any():
        return RunDifference(run, refusal="no question scored in both")
    pairs = all_pairs(values[:, both], clusters[both])
    return RunDifference(run, paired_difference(values[0], values[1], clusters), float(pairs.t_p[0]))


@dataclass(frozen=True)
class TrendsView:
    """One metric of one experiment over the runs of a history. `scores` are the sets of scores by question that the history names."""

    history: pd.DataFrame
    experiment: str
    metric: str
    scores: Mapping[str, pd.DataFrame] = field(default_factory=dict, repr=False)

    @cached_property
    def runs(self) -> pd.DataFrame:
        """The experiment's runs, oldest first, numbered from 1: run, time, commit, place."""
        rows = self.history[self.history["experiment"] == self.experiment].drop_duplicates("run")
        return rows[["run", "time", "commit"]].assign(place=range(1, len(rows) + 1)).reset_index(drop=True)

    @cached_property
    def trends(self) -> tuple[Trend, ...]:
        """The configurations, those of the last run first."""
        rows = self.history[(self.history["experiment"] == self.experiment) & (self.history["metric"] == self.metric)]
        newest_first = rows.iloc[::-1]["run"].drop_duplicates().tolist()
        names = dict.fromkeys(name for run in newest_first for name in rows.loc[rows["run"] == run, "configuration"])
        trends, numbers = [], self.runs.set_index("run")["place"]
        for name in names:
            rows = changes(self.history, self.experiment, name, self.metric)
            rows["place"] = rows["run"].map(numbers)
            runs, changed = rows.set_index("run"), rows[rows["changed"] != ""].to_dict("records")
            marks = [(row["place"], _named(row["changed"], _NAMES | _DATASET)) for row in changed]
            trends += [Trend(name, rows, marks, change_points(runs["value"], runs["result"]))] if len(rows) else []
        return tuple(trends)

    @cached_property
    def differences(self) -> dict[tuple[str, str], RunDifference]:
        """Each configuration and run whose result differs from the run before, with the paired difference."""
        return {(trend.name, pair.run): pair for trend in self.trends for pair in run_differences(trend.rows, self.scores)}

    def overview(self) -> Shown:
        """The number of runs, the changes of level, and an explanation of values that change without a reason."""
        return show(*self._overview())

    def chart(self) -> Shown:
        """The metric over the runs, one panel per configuration."""
        dates = [(row["place"], f"{row['time']:%d %b}".lstrip("0")) for row in self.runs.tail(_MOST_RUNS).to_dict("records")]
        oldest = dates[0][0]
        recent = [trend for trend in self.trends if trend.rows["place"].iloc[-1] >= oldest][:_MOST_PANELS]
        if not recent:
            return show(Prose(f"{self.metric} was scored in no run."))
        short = shortened([trend.name for trend in recent], _TITLE_LENGTH)
        drawn = [
            replace(
                trend,
                name=short[trend.name],
                rows=trend.rows[trend.rows["place"] >= oldest],
                marks=[mark for mark in trend.marks if mark[0] >= oldest],
            )
            for trend in recent
        ]
        digits = fitting_digits(value for trend in drawn for value in trend.rows["value"])
        values = "; ".join(
            f"{name} {', '.join(number(value, digits) for value in trend.rows['value'])}" for name, trend in zip(short, drawn, strict=True)
        )
        alt = f"{self.metric} by run from run {oldest}: {values}"
        return show(Figure("trends", alt, "", trends_drawing(drawn, self.metric, dates), key=key_of(short)))

    def left_out(self) -> Shown:
        """The runs and configurations that the chart leaves out."""
        older, more = len(self.runs) - _MOST_RUNS, self.trends[_MOST_PANELS:]
        lines = [f"{plural(older, 'older run')} not drawn; the tables have all runs."] if older > 0 else []
        lines += [f"Not drawn: {listed([trend.name for trend in more])}."] if more else []
        return show(Lines(lines) if lines else None)

    def changes(self) -> Shown:
        """Every run with a fingerprint that differs from the run before, and the paired difference of the value."""
        rows = [
            [*_run(trend, row), _named(row["changed"]), *self._difference(trend, row), _commit(row["commit"])]
            for trend in self.trends
            for row in trend.rows[trend.rows["changed"] != ""].to_dict("records")
        ]
        columns = [*_RUN, text("changed"), *_DIFFERENCE, words("commit")]
        return _newest("Changes since the configuration's run before", columns, rows, "Nothing changed between runs.", _PAIRED)

    def levels(self) -> Shown:
        """The change points, with the fingerprints that changed in the same run."""
        rows = []
        for trend in self.trends:
            for point in trend.levels.points:
                (row,) = trend.rows[trend.rows["run"] == point.run].to_dict("records")
                why = _named(row["changed"]) if row["changed"] else "no fingerprint" if row["unexplained"] else "nothing"
                p = f"{point.p:.4f}" if point.p >= 0.001 else "< 0.001"
                rows.append([str(row["place"]), trend.name, number(point.before), number(point.after), p, why])
        enough = any(trend.levels.enough for trend in self.trends)
        message = (
            f"No change of level was found{'' if enough else f': finding one takes {FEWEST_RESULTS} different results of a configuration'}."
        )
        columns = [words("run"), words("configuration"), Column("before"), Column("after"), Column("p"), text("changed in that run")]
        return _table(f"The first runs of a new level of {self.metric}", columns, rows, message)

    def observations(self) -> Shown:
        """The number of runs and observations of each configuration."""
        by_name = [(trend.name, trend.levels) for trend in self.trends]
        rows = [[name, *map(count, (levels.runs, levels.observations, levels.results))] for name, levels in by_name]
        columns = [words("configuration"), Column("runs"), Column("observations"), Column("different results")]
        note = (
            "Runs with equal settings and data give the same result, bit for bit. Consecutive runs with the same result are one observation, "
            "and a result that returns is not a new one."
        )
        return _table("Observations of the level", columns, rows, "No configuration was scored.", note)

    def unexplained(self) -> Shown:
        """The runs whose value differs from the run before although every fingerprint is the same."""
        rows = [
            [*_run(trend, row), *self._difference(trend, row, 4), _commit(row["before"]), _commit(row["commit"])]
            for trend in self.trends
            for row in trend.rows.assign(before=trend.rows["commit"].shift())[trend.rows["unexplained"]].to_dict("records")
        ]
        columns = [*_RUN, *_DIFFERENCE, words("commit before"), words("commit")]
        caption = "Another value from the same fingerprints: the code or the machine changed"
        return _newest(caption, columns, rows, "Every change of a value came with a change of a fingerprint.", _PAIRED)

    def record(self, run_id: str) -> Record:
        """The conclusions, for the program that runs the notebook."""
        points = [{"configuration": trend.name, "run": point.run, "p": point.p} for trend in self.trends for point in trend.levels.points]
        values: dict[str, Any] = {"experiment": self.experiment, "metric": self.metric, "runs": len(self.runs), "change_points": points}
        return Record(run_id, values, f"{plural(len(points), 'change')} of level in {plural(len(self.runs), 'run')}")

    def document(self) -> Report:
        """The whole notebook as a page."""
        lead, lines = self._overview()
        sections = [
            Section("The metric over the runs", "runs", [*self.chart().blocks, *self.left_out().blocks], "Runs"),
            Section("Changes of level", "level", [*self.levels().blocks, *self.observations().blocks], "Levels"),
            Section("What was changed", "changed", self.changes().blocks, "Changes"),
            Section("Changes without a reason", "unexplained-values", self.unexplained().blocks, "Unexplained"),
        ]
        title, names = f"{self.experiment}: since when is it better or worse?", [trend.name for trend in self.trends]
        return Report(title, "history.parquet", names, Opening(lead.text, lines=lines.items), sections)

    def _repr_html_(self) -> str:
        return self.overview()._repr_html_()

    def _overview(self) -> tuple[Headline, Lines]:
        first, last = (f"{self.runs['time'].iloc[end]:%Y-%m-%d}" for end in (0, -1))
        stepped = [trend.name for trend in self.trends if trend.levels.points]
        short = [trend.name for trend in self.trends if not trend.levels.enough]
        level = f"a change of level was found in {listed(stepped)}" if stepped else "no change of level was found"
        if len(short) == len(self.trends):
            level = f"fewer than {FEWEST_RESULTS} different results, too few to distinguish a change of level from noise"
        lines = ["The same configuration on the same questions gives identical values: only a marked change can have changed one."]
        repeated = [
            f"{plural(levels.runs, 'run')} of {trend.name} are {plural(levels.observations, 'observation')}"
            for trend in self.trends
            if (levels := trend.levels).observations < levels.runs
        ]
        lines += [f"Consecutive runs that repeat each other are one observation of the level: {listed(repeated)}."] if repeated else []
        if 0 < len(short) < len(self.trends):
            lines.append(f"Fewer than {FEWEST_RESULTS} different results, too few for a change of level: {listed(short)}.")
        runs = f"{plural(len(self.runs), 'run')} of {self.experiment} from {first} to {last}, by {self.metric}"
        return Headline(f"{runs}: {level}."), Lines(lines)

    def _difference(self, trend: Trend, row: Mapping[Any, Any], digits: int = 3) -> list[str]:
        pair = self.differences[trend.name, row["run"]]
        mean = pair.difference
        identical = mean is not None and mean.value == 0 and pair.p == 1
        bounds = pair.refusal if mean is None else "identical" if identical else mean.bounds(digits)
        difference = row["difference"] if mean is None else mean.value
        return [number(row["value"], digits), signed(difference, digits), bounds, p_cell(pair.p).text]


def _named(changed: str, names: Mapping[str, str] = _NAMES) -> str:
    return ", ".join(dict.fromkeys(names.get(name, name) for name in changed.split(", ")))


def _run(trend: Trend, row: Mapping[Any, Any]) -> list[str]:
    return [str(row["place"]), trend.name, f"{row['time']:%Y-%m-%d %H:%M}"]


def _newest(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[str]], message: str, note: str) -> Shown:
    ordered = sorted(rows, key=lambda row: int(row[0]))
    of = f" (the last {_MOST_ROWS} of {count(len(rows))})" if len(rows) > _MOST_ROWS else ""
    return _table(caption + of, columns, ordered[-_MOST_ROWS:], message, note)


def _table(caption: str, columns: Sequence[Column], rows: Sequence[Sequence[str]], message: str, note: str = "") -> Shown:
    return show(Table(caption, columns, [Row([Cell(text) for text in row]) for row in rows], note) if rows else Prose(message))


def _commit(commit: str | None) -> str:
    if not isinstance(commit, str):
        return "–"
    return commit[:8] + ("-dirty" if commit.endswith("-dirty") else "")


def load_history(outputs: str | Path = "outputs", experiment: str = "", metric: str = "") -> TrendsView:
    """Open the history of a metric of an experiment. A relative `outputs` is resolved like the folder of a run.

    `experiment` defaults to that of the last run, `metric` to the primary metric of the experiment's last run.

    Raises
    ------
    InputError: the history does not exist, or lacks the experiment or metric.
    StoreError: the history is corrupt.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.load_history("outputs").experiment
    'sizes'
    """
    path = find_upwards(history_path(Path(outputs))) or history_path(Path(outputs))
    history = read_history(path)
    history = history[(history["condition"] == RETRIEVED) & (history["slice"] == "all")]
    missing = "the history has no"
    chosen = (
        _one_of(experiment, sorted(set(history["experiment"])), f"{missing} experiment")
        if experiment
        else str(history["experiment"].iloc[-1])
    )
    rows = history[history["experiment"] == chosen]
    last = rows[rows["run"] == rows["run"].iloc[-1]]
    decides = str(last.loc[last["primary"], "metric"].iloc[0])
    wanted = _one_of(metric, sorted(set(rows["metric"])), f"{missing} metric of {chosen}") if metric else decides
    return TrendsView(history, chosen, wanted, read_scores(scores_path(path.parent)))


def _one_of(name: str, names: list[str], missing: str) -> str:
    if name in names:
        return name
    close = nearest_word(name, names)
    raise InputError(f"{missing} {name!r}", f"did you mean {close}?" if close else f"the names are {listed(names, 12)}")
