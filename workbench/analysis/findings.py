"""What a sweep found, taken together once: terminal, notebooks and report read the same value."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from workbench.analysis.frontier import Cost, CostedConfiguration, frontier
from workbench.analysis.pairwise import Contrast, contrast
from workbench.analysis.questions.failure_summary import FailureSummary, faults_of
from workbench.analysis.screened import screening_of
from workbench.analysis.standings import Standing, Standings, standings
from workbench.analysis.values import detail
from workbench.analysis.verdict import verdict_of
from workbench.results.measures import Measure
from workbench.results.run_tables import RunTables
from workbench.statistics.bounds import Bounds, judged_bounds
from workbench.statistics.comparison import Comparison
from workbench.statistics.intervals import Interval
from workbench.statistics.screening import Screening
from workbench.statistics.verdict import Reason, Verdict

# What makes one configuration cheaper than another, the first that differs; none depends on the machine.
_CHEAPNESS: tuple[Cost, ...] = ("encoded", "index", "delivered")
# Two configurations differ if their corrected p is at most this.
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Findings:
    """What may be said about the configurations of a run by its primary metric.

    `standings.ranked` is in the verdict's order. `verdict` is None where no configuration fits its embedder's window and has a score;
    then all that follows from it is None too. `margin` is the first minus `other`: the baseline where that is another one, else the
    second. `faults` are the first's, `contrast` is that of first and other. `cheapest` is the cheapest of those that cannot be told
    from the first, itself included. `bounds` are those of the margin, where first and other differ in how much of what they found was
    judged. `priced` are all finished configurations. `unbased` is the baseline asked for, where it cannot be one. `screening` is what
    was put aside before, if anything was looked for.
    """

    run: RunTables
    primary: Measure
    standings: Standings
    verdict: Verdict | None
    margin: Comparison | None
    faults: FailureSummary | None
    contrast: Contrast | None
    bounds: Bounds | None
    priced: tuple[CostedConfiguration, ...]
    cheapest: CostedConfiguration | None
    failures: dict[str, str]
    unbased: str
    screening: Screening | None = None

    @property
    def first(self) -> Standing | None:
        """The first of the order, which need not differ from the next ones."""
        return self.standings.ranked[0] if self.verdict else None

    @property
    def second(self) -> Standing | None:
        """The second of those with a score."""
        return self.standings.ranked[1] if self.verdict and len(self.verdict.ranked) > 1 else None

    @property
    def other(self) -> Standing | None:
        """What the first is held against: the baseline where that is another one, else the second."""
        base, first = self.standings.baseline, self.first
        against = self.verdict is not None and self.verdict.family != "all pairs"
        return base if against and base is not None and first is not None and base.name != first.name else self.second

    @property
    def reference(self) -> Standing | None:
        """What all others are held against in tables and figures: the baseline where the family is against it, else the first."""
        against = self.verdict is not None and self.verdict.family != "all pairs"
        return self.standings.baseline if against else self.first

    @property
    def winner(self) -> str | None:
        """The only configuration of the tie set; None without a winner."""
        return self.verdict.winner if self.verdict else None

    @property
    def told(self) -> bool:
        """Whether there are enough configurations and questions for a tie set."""
        return self.verdict is not None and self.verdict.reason not in (Reason.FEW, Reason.ALONE)

    def mark(self, name: str) -> str:
        """`winner`, `=` in the tie set, empty outside it and without enough questions."""
        inside = self.verdict is not None and self.told and name in self.verdict.best
        return "winner" if inside and name == self.winner else "=" if inside else ""

    def price(self, name: str) -> CostedConfiguration | None:
        """What a configuration costs."""
        return next((one for one in self.priced if one.name == name), None)

    def against(self, name: str, other: str) -> Comparison | None:
        """The comparison of two configurations as `name` minus `other`; None where the verdict's family has none."""
        found = self.verdict.between(name, other) if self.verdict else None
        return found if found is None or found.a == name else _turned(found)


@lru_cache(maxsize=4)
def findings(run: RunTables) -> Findings:
    """The findings on a finished run; kept for the last few runs, since every view asks."""
    found, primary = verdict_of(run), run.primary
    order = _ordered(run, found.ranked if found else ())
    priced = frontier(run, order)
    unbased, screening = _unbased(run, found), screening_of(run)
    alone = Findings(run, primary, order, found, None, None, None, None, priced, None, run.failures, unbased, screening)
    first, other = alone.first, alone.other
    if found is None or first is None:
        return alone
    faults = faults_of(run, first.name)
    some = replace(alone, faults=faults, cheapest=_cheapest(priced, found.best if alone.told else (first.name,)))
    if other is None:
        return some
    where = contrast(run, first.name, other.name)
    bounds = _bounds(run, first.name, other.name) if where is not None and where.judged and len(set(where.judged)) > 1 else None
    return replace(some, margin=alone.against(first.name, other.name), contrast=where, bounds=bounds)


def _ordered(run: RunTables, names: Sequence[str]) -> Standings:
    """Those that the verdict ranks in its order (equal means may differ in the last digit), then those without a score."""
    found, place = standings(run), {name: number for number, name in enumerate(names)}
    ranked = tuple(sorted(found.ranked, key=lambda one: place.get(one.name, len(place))))
    named = [one for one in ranked if one.name == run.baseline and one.name in place]
    return replace(found, ranked=ranked, baseline=next(iter([*named, *ranked]), None))


def _unbased(run: RunTables, found: Verdict | None) -> str:
    """The baseline that was asked for and is not among those compared; empty where there is none such."""
    named = run.baseline
    return named if named is not None and (found is None or named not in found.ranked) else ""


def _turned(found: Comparison) -> Comparison:
    kept = found.difference
    turned = Interval(0.0 - kept.value, 0.0 - kept.high, 0.0 - kept.low, kept.n, kept.clusters)
    return replace(found, a=found.b, b=found.a, difference=turned)


def _cheapest(priced: Sequence[CostedConfiguration], names: Sequence[str]) -> CostedConfiguration | None:
    among = [one for name in names for one in priced if one.name == name]
    return min(among, key=lambda one: tuple(one.costs[cost] for cost in _CHEAPNESS), default=None)


def _bounds(run: RunTables, first: str, other: str) -> Bounds | None:
    if run.primary.k is None:
        return None
    values = (detail(run, name, f"unjudged_{bound}") for name in (first, other) for bound in ("low", "high"))
    return judged_bounds(*values)
