"""Collect the findings on a sweep once, for the terminal, the notebooks and the report alike."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

from workbench.analysis.frontier import Cost, CostedConfiguration, frontier
from workbench.analysis.pairwise import Contrast, contrast
from workbench.analysis.questions.miss_causes import FailureSummary, faults_of
from workbench.analysis.standings import Standing, Standings, standings, verdict_of
from workbench.analysis.values import detail
from workbench.results.run_tables import Measure, RunTables
from workbench.statistics.comparison import Bounds, Comparison, judged_bounds
from workbench.statistics.screening import Screened, Screening
from workbench.statistics.verdict import Reason, Verdict

# The first of these costs that differs decides which configuration is cheaper. None depends on the machine.
_CHEAPNESS: tuple[Cost, ...] = ("encoded", "index", "delivered")
# Two configurations differ significantly if their corrected p is at most this.
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Findings:
    """The conclusions about the configurations of a run, based on its primary metric.

    `standings.ranked` is in the verdict's order. `verdict` is None if no configuration both fits its embedder's window and has a score;
    so is everything derived from it. `first` is the leader, which may not differ from `second`. `other` is the configuration it
    is compared with: the baseline, or the second if the leader is the baseline. `reference` is the one that tables and figures compare all
    others with: the baseline of the verdict's family, else the leader. `margin` is the leader minus `other`, `contrast` where they differ,
    `bounds` the margin's bounds if the two retrieved different shares of judged documents. `faults` are the leader's. `priced` are all
    finished configurations, `cheapest` is the cheapest of the tie set. `unbased` is the experiment's baseline if it cannot be
    compared. `screening` is the result of the screening before the run, if there was one.
    """

    run: RunTables
    primary: Measure
    standings: Standings
    verdict: Verdict | None
    first: Standing | None
    second: Standing | None
    other: Standing | None
    reference: Standing | None
    contrast: Contrast | None
    bounds: Bounds | None
    faults: FailureSummary | None
    priced: tuple[CostedConfiguration, ...]
    failures: dict[str, str]
    unbased: str
    screening: Screening | None

    @property
    def winner(self) -> str | None:
        """The configuration that differs significantly from all others, or None."""
        return self.verdict.winner if self.verdict else None

    @property
    def conclusive(self) -> bool:
        """Whether the run has enough configurations and questions for a meaningful tie set."""
        return self.verdict is not None and self.verdict.reason not in (Reason.FEW, Reason.ALONE)

    def mark(self, name: str) -> str:
        """Return `winner`, `=` for the tie set, or an empty string outside it or without a meaningful tie set."""
        inside = self.verdict is not None and self.conclusive and name in self.verdict.best
        return "winner" if inside and name == self.winner else "=" if inside else ""

    def price(self, name: str) -> CostedConfiguration | None:
        """The costs of a configuration."""
        return next((one for one in self.priced if one.name == name), None)

    @property
    def cheapest(self) -> CostedConfiguration | None:
        """The cheapest configuration of the tie set, the leader included."""
        tied = self.verdict.best if self.verdict and self.conclusive else [self.first.name] if self.first else []
        among = [one for name in tied if (one := self.price(name))]
        return min(among, key=lambda one: [one.costs[cost] for cost in _CHEAPNESS], default=None)

    @property
    def margin(self) -> Comparison | None:
        """The leader minus the configuration it is compared with."""
        return self.against(self.first.name, self.other.name) if self.first and self.other else None

    def against(self, name: str, other: str) -> Comparison | None:
        """Return the comparison `name` minus `other`, or None if the verdict's family does not contain it."""
        found = self.verdict.between(name, other) if self.verdict else None
        if found is None or found.a == name:
            return found
        value, low, high = (0.0 - bound for bound in (found.difference.value, found.difference.high, found.difference.low))
        return replace(found, a=found.b, b=found.a, difference=replace(found.difference, value=value, low=low, high=high))


@lru_cache(maxsize=4)
def findings(run: RunTables) -> Findings:
    """Compute the findings on a finished run. Cached for the last few runs because every view reads them."""
    found, order = verdict_of(run), standings(run)
    compared = found.ranked if found else ()
    first, second, *_ = [*order.ranked[: len(compared)], None, None]
    base = order.baseline if found and found.family != "all pairs" else None
    other = second if base is None or base is first else base
    where = contrast(run, first.name, other.name) if first and other else None
    return Findings(
        run=run,
        primary=run.primary,
        standings=order,
        verdict=found,
        first=first,
        second=second,
        other=other,
        reference=base or first,
        contrast=where,
        bounds=_bounds(run, where) if where else None,
        faults=faults_of(run, first.name) if first else None,
        priced=frontier(run, order),
        failures=run.failures,
        unbased="" if run.baseline in compared else run.baseline or "",
        screening=_screening(run),
    )


def _bounds(run: RunTables, where: Contrast) -> Bounds | None:
    if where.judged is None or len(set(where.judged)) == 1 or run.primary.k is None:
        return None
    values = (detail(run, side.winner, f"unjudged_{bound}") for side in (where.a, where.b) for bound in ("low", "high"))
    return judged_bounds(*values)


def _screening(run: RunTables) -> Screening | None:
    about: dict[str, Any] | None = run.manifest.get("screening")
    if about is None:
        return None
    rows = run.screening[[field.name for field in fields(Screened)]].to_dict("records")
    return Screening.of_json({name: about[name] for name in ("metric", "queries", "of", "margin", "seed", "alike")} | {"rows": rows})
