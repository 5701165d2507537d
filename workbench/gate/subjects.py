"""The values that a rule is about, as arrays over the questions of a run."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from workbench.analysis.values import clusters, slices
from workbench.core.formatting import listed, meant, plural, share
from workbench.errors import InputError
from workbench.gate.question_values import question_values
from workbench.gate.rules import Subject
from workbench.metrics.coverage import Bools
from workbench.results.run_tables import Measure, RunTables
from workbench.statistics.clusters import Clusters
from workbench.statistics.gating import MetricScale, Values


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

    def measure(self, subject: Subject) -> Measure:
        """Return the metric of a rule. Raises InputError if the run does not have it."""
        known = self.run.measures
        if subject.metric not in known:
            fix = f"add it to metrics of the experiment and sweep again{meant(subject.metric, known)}"
            raise InputError(f"{subject}: the run {self.run.name} has no metric {subject.metric}", fix)
        return known[subject.metric]

    def members(self, subject: Subject) -> Bools:
        """Return whether each question is in the slice of a rule. Raises InputError for an unknown slice."""
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
        rows = self.table if table is None else table
        rows = rows[(rows["metric"] == subject.metric) & (rows["condition"] == subject.condition)].set_index("query_id")
        aligned, members = rows.reindex(self.run.questions["query_id"]), self.members(subject)
        values = np.where(members, aligned["value"].to_numpy(np.float64), np.nan)
        unscored = members & (aligned["state"] == "unscored").to_numpy(np.bool_)
        if np.isnan(values).all():
            whose = self.run.name if table is None else "the baseline"
            conditions = sorted(set(self.table["condition"]))
            what = f"{subject}: {'no question has a value' if unscored.any() else 'it applies to no question'} in {whose}"
            raise InputError(what, f"conditions are {', '.join(conditions)}; look at metrics.parquet")
        return Values(values, unscored)

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
            raise InputError(what, "sweep again, which asks only what is missing, or raise max_unscored")

    def attainable(self, subject: Subject) -> float:
        """Return the highest attainable mean, NaN if it is not known."""
        rows = self.run.of("metrics", self.name)
        keys = {"metric": subject.metric, "condition": subject.condition, "slice": subject.slice}
        rows = rows[(rows[list(keys)] == pd.Series(keys)).all(axis="columns")]
        return float(rows["attainable"].iloc[0]) if len(rows) else np.nan
