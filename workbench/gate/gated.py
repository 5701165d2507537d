"""The values that a rule is about, as arrays over the questions of a run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workbench.core.errors import InputError
from workbench.core.text.formatting import listed, meant, plural, share
from workbench.gate.rules import Subject
from workbench.measures.metrics.coverage import Bools
from workbench.measures.metrics.definition import ANSWERABLE
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.decisions import MetricScale, Values
from workbench.report.analysis.answer_values import answer_score
from workbench.report.analysis.values import clusters, slices
from workbench.report.results.run_tables import RunTables

# Questions that a message names.
_NAMED = 5
# Sums of squares of larger values overflow.
LARGEST, _ROUNDING = 1e100, 1e-9


@dataclass(frozen=True, eq=False)
class GatedConfiguration:
    """A configuration of a run whose values rules read."""

    run: RunTables
    name: str

    @cached_property
    def table(self) -> pd.DataFrame:
        """The values of each question."""
        return question_values(self.run, self.name)

    @property
    def clusters(self) -> Clusters:
        """The source documents of each question. Shape (questions,)."""
        return clusters(self.run)

    def measure(self, subject: Subject) -> Metric:
        """Return the metric of a rule. Raises InputError if the run does not have it."""
        known = self.run.measures
        if subject.metric not in known:
            fix = f"add it to metrics of the experiment and sweep again{meant(subject.metric, known)}"
            raise InputError(f"{subject}: the run {self.run.name} has no metric {subject.metric}", fix)
        return known[subject.metric]

    def members(self, subject: Subject) -> Bools:
        """Mark the questions in the slice of a rule. Raises InputError for an unknown slice."""
        known = slices(self.run)
        if subject.slice in known:
            return known[subject.slice]
        for part in subject.slice.split("&"):
            if part not in known:
                names = [name for name in known if "&" not in name and name != "all"]
                raise InputError(f"{subject}: the run has no slice {part}{meant(part, names)}", f"slices are {listed(names, 12)}")
        members: Bools = np.logical_and.reduce([known[part] for part in subject.slice.split("&")])
        return members

    def values(self, subject: Subject, table: pd.DataFrame | None = None) -> Values:
        """Return the values of a rule's questions, of this run or of another `table` of question values. Raises InputError if it has none."""
        rows = _of_subject(self.table if table is None else table, subject)
        if table is None:
            self._require_whole(subject, rows)
        aligned, members = rows.reindex(self.run.questions["query_id"]), self.members(subject)
        values = np.where(members, aligned["value"].to_numpy(np.float64), np.nan)
        whose = self.run.name if table is None else "the baseline"
        unscored = members & (aligned["state"] == "unscored").to_numpy(np.bool_)
        if np.isnan(values).all():
            raise self._without_values(subject, whose, unscored=bool(unscored.any()), own=table is None)
        low, high = (0.0, 1.0) if self.measure(subject).proportion else (-LARGEST, LARGEST)
        # No comparison with NaN is true.
        if (beyond := (values < low - _ROUNDING) | (values > high + _ROUNDING)).any():
            raise InputError(f"{subject}: {values[beyond][0]:g} in {whose} is no value of it", "write it again")
        return Values(values, unscored)

    def _without_values(self, subject: Subject, whose: str, *, unscored: bool, own: bool) -> InputError:
        """Say why no question of a rule has a value, with the reason that the run itself gives, if the rows are its `own`."""
        queries = self.run.of("queries", self.name)
        rows = queries[queries["metric"] == subject.metric]
        if own and rows.empty:
            return InputError(f"{subject}: {whose} has no row of it", "install what its sweep said is missing, and sweep again")
        here = rows[(rows["condition"] == subject.condition) & rows["query_id"].isin(self.run.questions["query_id"][self.members(subject)])]
        reasons = here["reason"][~here["reason"].isin(["", ANSWERABLE.reason])].mode() if own else ()
        why = "".join(f", because {reason}" for reason in list(reasons)[:1])
        what = f"{subject}: {'no question has a value' if unscored else 'it applies to no question'} in {whose}{why}"
        return InputError(what, f"conditions are {', '.join(sorted(set(self.table['condition'])))}; look at metrics.parquet")

    def require_same_scope(self, subject: Subject, table: pd.DataFrame, whose: str) -> None:
        """Raise InputError if a `table` of question values has none of a metric, or if the metric applies to other questions there than in this run.

        Which questions a metric of answers applies to depends on the answers, such as refusals.
        """
        sides = [set(_of_subject(rows, subject).index) for rows in (self.table, table)]
        if sides[0] and not sides[1]:
            raise InputError(f"{subject}: {whose} has no value of it", "write the baseline again, or name what is compared with --compare")
        if not self.measure(subject).of_answers and (differing := sorted(sides[0] ^ sides[1])):
            what = f"{subject} applies to other questions in {whose} than in {self.run.name}: {listed(differing, _NAMED)}"
            raise InputError(what, "write the baseline again from a whole run, or sweep again")

    def _require_whole(self, subject: Subject, rows: pd.DataFrame) -> None:
        """Raise InputError if the questions with a value are not as many as metrics.parquet says, or a value is missing without a reason."""
        table = self.run.of("metrics", self.name)
        table = table[(table["metric"] == subject.metric) & (table["condition"] == subject.condition) & (table["slice"] == "all")]
        expected = int((table["n"] + table["unscored"]).sum())
        lacking = int(rows.loc[rows["state"] == "scored", "value"].isna().sum())
        if len(rows) != expected or lacking:
            what = f"{subject}: queries.parquet has {plural(len(rows) - lacking, 'question')}, metrics.parquet {expected}"
            raise InputError(f"{what}, so the tables of {self.run.name} do not belong together", "sweep again")

    def scale(self, subject: Subject, *sides: Values) -> MetricScale:
        """Return the worst and the best possible value of a metric: those of a proportion, else those of the sides."""
        measure = self.measure(subject)
        known = np.concatenate([side.values for side in sides])
        low, high = (0.0, 1.0) if measure.proportion else (float(np.nanmin(known)), float(np.nanmax(known)))
        return MetricScale(low, high) if measure.higher_is_better else MetricScale(high, low)

    def require_scored(self, subject: Subject, values: Values, most: float, whose: str) -> None:
        """Raise InputError if the share of unscored questions is above `most`."""
        missing, of = int(values.unscored.sum()), int(values.unscored.sum() + (~np.isnan(values.values)).sum())
        if missing > most * of:
            what = f"{subject}: {missing} of {plural(of, 'question')} ({share(missing, of)}) of {whose} have no value, more than {most:.3g}"
            raise InputError(
                what, "sweep again, which asks a service only for what is missing, add what a file lacks, or raise --max-unscored"
            )

    def attainable(self, subject: Subject) -> float:
        """Return the highest attainable mean, NaN if it is not known."""
        rows = self.run.of("metrics", self.name)
        keys = {"metric": subject.metric, "condition": subject.condition, "slice": subject.slice}
        rows = rows[(rows[list(keys)] == pd.Series(keys)).all(axis="columns")]
        return float(rows["attainable"].iloc[0]) if len(rows) else np.nan


def known_configuration(run: RunTables, name: str, where: str) -> str:
    """Check that a run has a configuration. Raises InputError if it has not, or if it failed."""
    if name in run.failures:
        raise InputError(f"the configuration {name} of {where} failed: {run.failures[name]}", "sweep again after its cause is removed")
    if name not in run.names:
        raise InputError(f"{where} has no configuration {name!r}{meant(name, run.names)}", f"choose one of {listed(run.names)}")
    return name


def default_subjects(run: RunTables, configuration: str) -> list[Subject]:
    """List the metrics to compare with a baseline by default: the primary one, and with answers the first metric of their content."""
    answers = answer_score(run)
    measured = answers is not None and len(run.of("answers", configuration)) > 0
    return [Subject(str(run.primary)), *([Subject(str(answers))] if measured and str(answers) != str(run.primary) else [])]


def _of_subject(table: pd.DataFrame, subject: Subject) -> pd.DataFrame:
    """Return the values of a rule's metric under its condition, by question."""
    return table[(table["metric"] == subject.metric) & (table["condition"] == subject.condition)].set_index("query_id")


COLUMNS = ["condition", "metric", "query_id", "value", "state"]
_KEYS = COLUMNS[:3]


def question_values(run: RunTables, configuration: str) -> pd.DataFrame:
    """Return COLUMNS for each question to which a metric applies. The value is the mean over scored repeats and variants.

    A question is `unscored`, with the value NaN, if a repeat or a variant of it has no value.
    """
    return pooled(run.of("queries", configuration))


def pooled(rows: pd.DataFrame) -> pd.DataFrame:
    """Pool rows with the columns COLUMNS, several for a question."""
    rows = rows[rows["state"] != "not_applicable"]
    groups = rows.assign(missing=rows["state"] == "unscored").groupby(_KEYS, sort=False)
    table = groups.agg(value=("value", "mean"), missing=("missing", "any")).reset_index()
    table["value"] = table["value"].where(~table["missing"])
    return table.assign(state=table["missing"].map({True: "unscored", False: "scored"}))[COLUMNS]
