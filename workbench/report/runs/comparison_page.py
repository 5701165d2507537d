"""The comparison of two runs as a page and in a notebook: a sentence, what changed, and what that did to each configuration."""

import shlex
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.core.text.formatting import count, interval, listed, number, p_value, plural, signed
from workbench.measures.attribution.causes import CAUSE_WORDS
from workbench.report.analysis.setting_names import short_name
from workbench.report.analysis.standings import COSTS
from workbench.report.cells import UNKNOWN, Scale, count_cell, opened, p_cell, text, value_cell, words
from workbench.report.model import Badge, Block, Cell, Column, Fact, NextStep, Opening, Prose, Report, Row, Section, Table
from workbench.report.render.html import write_page
from workbench.report.render.notebook import show
from workbench.report.runs.comparison import ConfigurationChange, RunPair, RunReading, run_label

_KINDS = {"settings": "setting of the experiment", "configuration": "configuration", "dataset": "dataset", "version": "version"}
# Changes that the head of the page only counts.
_COUNTED = {"settings": ("setting of the experiment", "settings of the experiment"), "version": ("version",)}
_MOST_SETTINGS = 3
_MOST_QUESTIONS = 100
_READING = (
    "Both runs on the questions that are equal in both: later minus earlier, in pairs, clustered by document. Bounds and p are corrected for all "
    "configurations of this table together. Equivalent: the whole interval is inside the smallest difference that matters."
)


class RunComparison(RunPair):
    """Two runs, the earlier one first: what changed between them, and what that did.

    `changes`, `configurations`, `questions`, `ranking`, `costs` and `omitted` are tables, `sentence` is the conclusion.
    """

    @cached_property
    def sentence(self) -> str:
        """The conclusion by the primary metric. It names a change only if that is shown on the questions that both runs share."""
        rows, by = self.differences, f"by {self.after.primary}{self._on_equal_questions()}"
        of = plural(len(rows), "configuration")
        if not rows:
            return f"The runs have no configuration in common, so nothing is compared {by}."
        worse, better = self._largest(RunReading.WORSE), self._largest(RunReading.BETTER)
        if worse and better:
            return f"{len(worse)} of {of} got worse, {self._named(worse[0])}, and {len(better)} got better, {self._named(better[0])}."
        if shown := worse or better:
            how = "worse" if worse else "better"
            if len(rows) == 1:
                return f"{self._short(shown[0])} got {how} {by}: {self._gap(shown[0])}."
            most = "most of all " if len(shown) > 1 else ""
            return f"{len(shown)} of {of} got {how} {by}: {most}{self._named(shown[0])}."
        readings = {row.reading for row in rows}
        if readings == {RunReading.IDENTICAL}:
            return f"Nothing changed {by}: {'all ' if len(rows) > 1 else ''}{of} {'have' if len(rows) > 1 else 'has'} the same values in both runs."
        if readings <= {RunReading.IDENTICAL, RunReading.EQUIVALENT}:
            alike = f"equivalent within ±{number(self.smallest_difference)}{' or identical' if RunReading.IDENTICAL in readings else ''}"
            return f"{'Every configuration' if len(rows) > 1 else self._short(rows[0])} is {alike} in both runs {by}."
        if readings <= {RunReading.IDENTICAL, RunReading.TOO_FEW}:
            return f"Too few questions are equal in both runs, or have values in both, to say what changed {by}."
        return f"No difference between the runs is shown {by}."

    def _on_equal_questions(self) -> str:
        """Limit the conclusion to the questions that are compared, if others are left out."""
        return f", on the {plural(len(self.query_ids), 'question')} equal in both runs" if self.left_out else ""

    @property
    def badge(self) -> Badge:
        """The conclusion in a few words."""
        readings = {row.reading for row in self.differences}
        for reading, tone in ((RunReading.WORSE, "alert"), (RunReading.BETTER, "better")):
            if reading in readings:
                mixed = {RunReading.WORSE, RunReading.BETTER} <= readings
                return Badge("Better and worse" if mixed else str(reading).capitalize(), tone)
        if not readings:
            return Badge("Nothing in common", "watch")
        if readings == {RunReading.IDENTICAL}:
            return Badge("Identical", "steady")
        if readings <= {RunReading.IDENTICAL, RunReading.EQUIVALENT}:
            return Badge(f"Equivalent within ±{number(self.smallest_difference)}", "better")
        few = readings <= {RunReading.IDENTICAL, RunReading.TOO_FEW}
        return Badge("Too few questions" if few else "No difference shown", "watch" if few else "steady")

    @property
    def lines(self) -> list[str]:
        """The first screen as lines of the terminal."""
        return self._opening().text.split("\n")

    def document(self) -> Report:
        """The comparison as a page."""
        names = [*self.after.names, *self.before.names]
        sections = [
            Section("What changed?", "changes", [self._changes_table()], "Changes"),
            Section("What did that do?", "differences", [self._differences_table()], "Differences"),
            Section("Which questions changed most?", "questions", self._questions_blocks(), "Questions"),
            Section("The ranking then and now", "ranking", [self._ranking_table()], "Ranking"),
            Section("What does it cost?", "costs", [self._costs_table()], "Costs"),
            Section("Questions that are not compared", "omitted", self._omitted_blocks(), "Left out"),
        ]
        title = f"{run_label(self.before)} → {run_label(self.after)}"
        return Report(title, run_label(self.after), names, self._opening(), sections)

    def to_html(self, path: str | Path) -> Path:
        """Write the comparison as one self-contained HTML file, and return its path."""
        return write_page(self.document(), Path(path))

    def _repr_html_(self) -> str:
        return show(self._opening(), self._differences_table())._repr_html_()

    def _opening(self) -> Opening:
        """The first screen."""
        facts = [self._changed(), self._how_much(), self._how_sure(), self._cost()]
        lines = [f"is {self.after.primary.words}.", *self._left_out_lines()]
        return Opening(self.sentence, [self.badge], str(self.after.primary), lines, facts, self.next_step)

    def __repr__(self) -> str:
        return f"RunComparison({run_label(self.before)!r} → {run_label(self.after)!r}: {self.sentence})"

    @property
    def next_step(self) -> NextStep:
        """The next step, and a command that does it."""
        if not self.differences:
            return NextStep("Sweep a configuration of the earlier run again, with at most one setting changed: then it is compared.")
        readings = {row.reading for row in self.differences}
        if readings <= {RunReading.IDENTICAL, RunReading.EQUIVALENT}:
            return NextStep("Nothing has to be done.")
        if readings <= {RunReading.IDENTICAL, RunReading.EQUIVALENT, RunReading.TOO_FEW}:
            return NextStep("Sweep both experiments on the same questions: too few are equal, or have values, in both runs.")
        row = next(iter(self._largest(RunReading.WORSE) or self._largest(RunReading.BETTER)), None)
        if row is None or self.left_out or row.match.before != row.match.after or not self.after.folder.name:
            return NextStep("Read the questions that changed most, below.")
        run = ["workbench", "gate", str(self.after.folder), "--configuration", row.match.after]
        if row.reading is RunReading.BETTER:
            return NextStep("Keep it: make this run the baseline of the gate.", shlex.join([*run, "--update-baseline", "baseline.json"]))
        return NextStep("See what it lost, question by question.", shlex.join([*run, "--baseline", str(self.before.folder)]))

    def _largest(self, reading: RunReading) -> list[ConfigurationChange]:
        """The differences with a reading, the largest first."""
        return sorted((row for row in self.differences if row.reading is reading), key=lambda row: -abs(row.after - row.before))

    def _short(self, row: ConfigurationChange) -> str:
        return short_name(self.after, row.match.after)

    def _named(self, row: ConfigurationChange) -> str:
        return f"{self._short(row)} by {self._gap(row)}"

    def _gap(self, row: ConfigurationChange) -> str:
        known = row.comparison
        return "" if known is None else f"{signed(known.difference.value)} {known.simultaneous.bounds()}"

    def _left_out_lines(self) -> list[str]:
        counts = pd.Series(list(self.left_out.values()), dtype="str").value_counts()
        if counts.empty:
            return []
        reasons = ", ".join(f"{number_} {reason}" for reason, number_ in counts.items())
        return [f"{plural(len(self.left_out), 'question is', 'questions are')} left out ({reasons})."]

    def _changed(self) -> Fact:
        """Name the settings that changed, and count the other changes."""
        question = "What changed?"
        if self.changes.empty:
            return Fact(question, "nothing", "that the runs record")
        rows = self._grouped_changes()
        settings = [f"{arrow} in {who}" for kind, who, arrow in rows if kind == "configuration" and arrow not in ("added", "removed")]
        more = len(settings) - _MOST_SETTINGS
        parts = [*settings[:_MOST_SETTINGS], *([plural(more, "more setting")] if more > 0 else [])]
        for names, how in ((self.added, "added"), (self.removed, "removed")):
            parts += [f"{plural(len(names), 'configuration')} {how}"] if names else []
        for subject in dict.fromkeys(what for kind, what, _ in rows if kind == "dataset"):
            parts.append(f"{subject}: {', '.join(change for kind, what, change in rows if kind == 'dataset' and what == subject)}")
        kinds = self.changes["kind"].value_counts()
        parts += [plural(int(kinds[kind]), *nouns) for kind, nouns in _COUNTED.items() if kind in kinds]
        return Fact(question, plural(len(rows), "change"), "; ".join(parts))

    def _named_changes(self) -> list[tuple[str, str, str]]:
        """The changes as kind, what and text. Configurations have their names for people."""
        rows = []
        for kind, what, before, after in self.changes.itertuples(index=False):
            run = self.after if what in self.after.configurations_settings else self.before
            # One that is in one run only has its full name: a short one may be that of another in the other run.
            name = short_name(run, what) if kind == "configuration" and before and after else what
            rows.append((kind, name, f"{before} → {after}" if before and after else after or before))
        return rows

    def _grouped_changes(self) -> list[tuple[str, str, str]]:
        """The changes, the same change of several configurations once and first."""
        grouped: dict[str, list[str]] = {}
        for kind, what, change in self._named_changes():
            if kind == "configuration":
                grouped.setdefault(change, []).append(what)
        rows = [
            ("configuration", names[0] if len(names) == 1 else f"{len(names)} configurations", change) for change, names in grouped.items()
        ]
        return [*rows, *(row for row in self._named_changes() if row[0] != "configuration")]

    @cached_property
    def _first(self) -> ConfigurationChange | None:
        """The difference that the head of the page is about: the largest that is shown, else the largest."""
        known = [row for row in self.differences if row.comparison is not None]
        shown = self._largest(RunReading.WORSE) or self._largest(RunReading.BETTER)
        return next(iter(shown), max(known, key=lambda row: abs(row.after - row.before), default=None))

    def _how_much(self) -> Fact:
        question, row = "By how much?", self._first
        if row is None or row.comparison is None:
            return Fact(question, "unknown", "no configuration has values in both runs")
        known = row.comparison
        readings = pd.Series([str(each.reading) for each in self.differences], dtype="str").value_counts()
        rest = f"of {plural(len(self.differences), 'configuration')}: {', '.join(f'{how_many} {reading}' for reading, how_many in readings.items())}"
        bounds = "" if known.identical else f" {known.simultaneous.bounds()}"
        return Fact(
            question, signed(known.difference.value), f"for {self._short(row)}{bounds}: {number(row.before)} → {number(row.after)}; {rest}"
        )

    def _how_sure(self) -> Fact:
        question, row = "How sure?", self._first
        if row is None or row.comparison is None:
            return Fact(question, "not tested", "nothing is compared")
        known, tested = row.comparison, sum(each.comparison is not None for each in self.differences)
        questions = (
            f"{plural(known.difference.n, 'question')} about {plural(known.difference.clusters, 'document')} with a value in both runs"
        )
        if np.isnan(known.p):
            return Fact(question, "not tested", questions)
        family = f", corrected for {plural(tested, 'configuration')}" if tested > 1 else ""
        return Fact(question, p_value(known.p_adjusted), f"for {self._short(row)}{family}; {questions}")

    def _cost(self) -> Fact:
        costs, question = self.costs[self.costs["differs"]], "At what cost?"
        if self.costs.empty:
            return Fact(question, "not compared", "no configuration is in both runs")
        if costs.empty:
            return Fact(question, "no change shown", "a time differs if it is more than three times as long in every round")
        first = costs.iloc[0]
        more = f"; {plural(len(costs) - 1, 'more cost differs', 'more costs differ')}" if len(costs) > 1 else ""
        sides = f"{_amount(first['before'])} → {_amount(first['after'])} {first['unit']}"
        return Fact(question, sides, f"{COSTS[first['cost']].label} of {short_name(self.after, first['configuration'])}{more}")

    def _changes_table(self) -> Block:
        rows = [
            Row([Cell(_KINDS[kind]), Cell(what, note=self._changed_names(kind, arrow)), Cell(arrow)])
            for kind, what, arrow in self._grouped_changes()
        ]
        if not rows:
            return Prose("The runs record the same settings, data and versions.")
        caption = f"Changes from {run_label(self.before)} to {run_label(self.after)}"
        return Table(caption, [words("kind"), text("what"), text("change")], rows)

    def _changed_names(self, kind: str, arrow: str) -> str:
        """Name the configurations with a change that several have."""
        names = [name for each, name, change in self._named_changes() if (each, change) == (kind, arrow)]
        return listed(names) if len(names) > 1 else ""

    def _differences_table(self) -> Block:
        rows = self.differences
        if not rows:
            return Prose("No configuration has the same settings, or differs in a single one.")
        known = [row.comparison for row in rows if row.comparison is not None]
        ends = [end for each in known for end in (each.difference.value, each.low_adjusted, each.high_adjusted)]
        scale = Scale.over([end for end in ends if np.isfinite(end)], zero=True)
        cells = []
        for row in rows:
            pair = row.comparison
            named = Cell(self._short(row), note=row.match.after if row.match.after != self._short(row) else "")
            changed = Cell(", ".join(map(str, row.match.changes)) or "same settings")
            if pair is None:
                cells.append(
                    Row(
                        [
                            named,
                            changed,
                            Cell(""),
                            UNKNOWN,
                            UNKNOWN,
                            UNKNOWN,
                            UNKNOWN,
                            Cell("no question has values in both runs"),
                            count_cell(0),
                        ]
                    )
                )
                continue
            gap = pair.difference.value
            note = "" if pair.identical else interval(pair.low_adjusted, pair.high_adjusted)
            values = [value_cell(row.before), value_cell(row.after), value_cell(gap, shown=signed(gap), note=note)]
            bar = Cell("", bar=scale.bar(gap, pair.low_adjusted, pair.high_adjusted, zero=True))
            reading = Cell(str(row.reading), note=f"{plural(row.missing, 'question')} without a value in one run" if row.missing else "")
            cells.append(Row([named, changed, bar, *values, p_cell(pair.p_adjusted), reading, count_cell(pair.difference.n)]))
        columns = [
            words("configuration"),
            text("settings"),
            scale.column(),
            Column("earlier"),
            Column("later"),
            Column("difference"),
            Column("p"),
        ]
        return Table(f"{self.after.primary} in both runs", [*columns, words("reading"), Column("questions")], cells, _READING)

    def _questions_blocks(self) -> list[Block]:
        table = self.questions
        if table.empty:
            return [Prose("No question has another value." if self.differences else "No configuration is in both runs.")]
        groups = table.groupby("query_id", sort=False)
        sums = groups["difference"].agg(["sum", "size"])
        order = sums["sum"].abs().sort_values(ascending=False, kind="stable").index
        rows = []
        for name in order[:_MOST_QUESTIONS]:
            group = groups.get_group(name)
            first, configurations = group.iloc[0], len(self.matches)
            causes = [CAUSE_WORDS.get(first[f"cause_{side}"], "nothing") for side in ("before", "after")]
            mean = float(group["difference"].sum()) / configurations
            cells = [
                Cell(str(first["question"]), note=str(name)),
                value_cell(mean, shown=signed(mean)),
                Cell(f"{len(group)} of {configurations}"),
            ]
            cells += [Cell(short_name(self.after, first["configuration"]), note=f"{number(first['before'])} → {number(first['after'])}")]
            rows.append(Row([*cells, Cell(causes[0] if causes[0] == causes[1] else f"{causes[0]} → {causes[1]}")]))
        more = (
            f"{count(len(order))} questions changed; results.compare_runs(other).questions has all." if len(order) > _MOST_QUESTIONS else ""
        )
        columns = [text("question"), Column("mean change"), words("configurations"), words("most in"), text("why it failed, then and now")]
        return opened(Table("Questions by the change of their mean over all configurations", columns, rows, more))

    def _ranking_table(self) -> Table:
        rows = []
        for row in self.ranking.to_dict("records"):
            inside = row["configuration"] in self.after.configurations_settings
            name = short_name(self.after if inside else self.before, row["configuration"])
            sides = [_placed(row[f"place{end}"], row[f"mark{end}"]) for end in ("_before", "")]
            rows.append(
                Row(
                    [
                        Cell(name, note=row["configuration"] if name != row["configuration"] else ""),
                        sides[0],
                        value_cell(row["score_before"]),
                        sides[1],
                        value_cell(row["score"]),
                    ]
                )
            )
        columns = [words("configuration"), Column("place then"), Column("score then"), Column("place now"), Column("score now")]
        note = "Each run by its own questions, also those that are not compared. ● winner or may be best in that run."
        return Table("Places by the primary metric", columns, rows, note)

    def _costs_table(self) -> Block:
        if self.costs.empty:
            return Prose("No configuration is in both runs.")
        rows = []
        for name, group in self.costs.groupby("configuration", sort=False):
            by_cost = {row["cost"]: row for row in group.to_dict("records")}
            cells = []
            for cost in COSTS:
                before, after = float(by_cost[cost]["before"]), float(by_cost[cost]["after"])
                same = before == after or (np.isnan(before) and np.isnan(after))
                shown = _amount(after) if same else f"{_amount(before)} → {_amount(after)}"
                cells.append(Cell(shown, sort=after, note="differs" if by_cost[cost]["differs"] else ""))
            rows.append(Row([Cell(short_name(self.after, str(name))), *cells]))
        columns = [words("configuration"), *(Column(COSTS[cost].label, note=COSTS[cost].unit) for cost in COSTS)]
        note = "Times vary from run to run: they differ if one is more than three times the other in every round."
        return Table("Costs, then and now", columns, rows, note)

    def _omitted_blocks(self) -> list[Block]:
        if self.omitted.empty:
            return [Prose("Every question has the same text and labels in both runs.")]
        rows = [Row([Cell(name), Cell(reason), Cell(question)]) for name, question, reason in self.omitted.itertuples(index=False)]
        return opened(Table("Questions that differ between the runs", [words("id"), words("why"), text("question")], rows))


def _placed(place: object, mark: str) -> Cell:
    return Cell(f"{'● ' if mark else ''}{place}", sort=float(place)) if isinstance(place, int) else UNKNOWN


def _amount(value: float) -> str:
    return "–" if np.isnan(value) else count(value) if value >= 100 or value == int(value) else number(value, 2)
