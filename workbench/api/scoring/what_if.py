"""Rank the configurations of a finished run by another metric, on a slice of the questions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from workbench.api.scoring.rescore import Rescorer
from workbench.measures.metrics.coverage import Bools, Ints
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.summary import summarise
from workbench.report.results.run_tables import RETRIEVED, RunTables

SWEEP, RESCORED, NONE = "sweep", "re-scored", "none"
_VALUES = ["value", "low", "high", "n", "clusters", "unscored", "attainable", "conditional"]
COLUMNS = ["configuration", *_VALUES, "source", "note"]
_TYPES = {"n": "Int64", "clusters": "Int64", "unscored": "Int64"}
ALL = "all"
# Called with the numbers of configurations that are done and of all.
Say = Callable[[int, int], object]


@dataclass(frozen=True)
class WhatIfQuestion:
    """A metric and a slice of the questions by which configurations are ranked."""

    metric: Metric
    slice: str = ALL

    def claim(self, run: RunTables) -> str:
        """State the claim that the ranking allows."""
        if str(self.metric) == str(run.primary) and self.slice == ALL:
            return f"{run.primary} over all questions decides this experiment"
        return f"exploratory: only the primary metric decides, {run.primary} over all questions"


@dataclass(frozen=True, eq=False)
class SliceMembers:
    """The questions of a slice: `members` (queries), their `places` among these (queries), and their clusters."""

    members: Bools
    places: Ints
    clusters: Clusters

    @classmethod
    def of(cls, rescorer: Rescorer, name: str) -> "SliceMembers":
        """Return the slice with this name. Raises InputError for an unknown name."""
        members = rescorer.stored.members(name)
        return cls(members, np.cumsum(members) - 1, rescorer.stored.clusters[members])


def what_if_table(rescorer: Rescorer, question: WhatIfQuestion, say: Say = lambda *_: None) -> pd.DataFrame:
    """Rank all configurations, best first. Those without a value come last, each with a note that says why.

    `say` is called before each configuration is scored. `attrs["claim"]` states the claim that the ranking allows. `source` is `sweep` for values that the sweep computed, `re-scored` for those computed from its stored rankings, and `none`.
    Raises InputError if there is no such slice.
    """
    chosen = SliceMembers.of(rescorer, question.slice)
    known = _of_sweep(rescorer.run, question)
    rows = []
    for number, name in enumerate(rescorer.run.names):
        if name not in known:
            say(number, len(rescorer.run.names))
        rows.append({"configuration": name} | (known.get(name) or rescored_row(rescorer, question, name, chosen)))
    rows += [{"configuration": name, "source": NONE, "note": f"failed: {line}"} for name, line in rescorer.run.failures.items()]
    table = pd.DataFrame(rows, columns=COLUMNS).astype(_TYPES)
    best_first = table["value"] if not question.metric.higher_is_better else -table["value"]
    order = np.argsort(best_first.to_numpy(np.float64), kind="stable")
    ranked = table.iloc[order].reset_index(drop=True)
    ranked.attrs["claim"] = question.claim(rescorer.run)
    return ranked


def rescored_row(rescorer: Rescorer, question: WhatIfQuestion, configuration: str, chosen: "SliceMembers") -> dict[str, Any]:
    """Return the mean over the questions of a slice of a configuration with its interval, or the reason why it is missing."""
    scored = rescorer.score(configuration, question.metric)
    if scored.rows is None:
        return {"source": NONE, "note": scored.reason}
    inside = scored.rows[chosen.members[scored.rows["query"]]]
    rows = inside.assign(query=chosen.places[inside["query"]], metric=str(question.metric))
    row: pd.Series[Any] = summarise(rows, chosen.clusters).iloc[0]
    remark = scored.remark or ("" if row["n"] else "the metric applies to no question of the slice")
    interval = {"low": np.nan, "high": np.nan} if scored.remark else {}
    return {name: row[name] for name in _VALUES} | interval | {"source": RESCORED, "note": remark}


def _of_sweep(run: RunTables, question: WhatIfQuestion) -> Mapping[str, dict[str, Any]]:
    """Return the rows that the sweep wrote, by configuration."""
    table = run.metrics
    chosen = (table["metric"] == str(question.metric)) & (table["slice"] == question.slice) & (table["condition"] == RETRIEVED)
    rows = table[chosen]
    values = zip(*(rows[name].tolist() for name in _VALUES), strict=True)
    named = zip(rows["configuration"].tolist(), values, strict=True)
    return {name: dict(zip(_VALUES, row, strict=True)) | {"source": SWEEP, "note": ""} for name, row in named}
