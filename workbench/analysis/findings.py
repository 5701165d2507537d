"""Collect the findings on a sweep once, for the terminal, the notebooks and the report alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from workbench.analysis.causes import FailureSummary, faults_of
from workbench.analysis.frontier import Cost, CostedConfiguration, cheaper, frontier
from workbench.analysis.pairwise import Contrast, contrast
from workbench.analysis.standings import Standing, Standings, standings, verdict_of
from workbench.analysis.values import detail
from workbench.metrics.names import Metric
from workbench.results.run_tables import RunTables
from workbench.statistics.comparison import Bounds, Comparison, judged_bounds
from workbench.statistics.screening import ScreenedConfiguration, Screening
from workbench.statistics.verdict import Reason, Verdict


@dataclass(frozen=True, eq=False)
class Findings:
    """The conclusions about the configurations of a run, based on its primary metric.

    `standings.ranked` is in the verdict's order. `verdict` is None if no configuration both fits its embedder's window and has a score;
    so is everything derived from it. `first` is the leader, which may not differ from `second`. `comparator` is the configuration it
    is compared with: the baseline, or the second if the leader is the baseline. `reference` is the one that tables and figures compare all
    others with: the baseline of the verdict's family, else the leader. `margin` is the leader minus `comparator`, `contrast` where they differ,
    `bounds` the margin's bounds if the two retrieved different shares of judged documents and the metric has bounds. `faults` are the leader's. `priced` are all
    finished configurations. `unbased` is the experiment's baseline if it cannot be
    compared. `screening` is the result of the screening before the run, if there was one.
    """

    run: RunTables
    primary: Metric
    standings: Standings
    verdict: Verdict | None
    first: Standing | None
    second: Standing | None
    comparator: Standing | None
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
        """True if the run has enough configurations, questions and documents for a meaningful tie set."""
        return self.verdict is not None and self.verdict.enough and self.verdict.reason is not Reason.ALONE

    def mark(self, name: str) -> str:
        """Return `winner`, `=` for the tie set, or an empty string outside it or without a meaningful tie set."""
        inside = self.verdict is not None and self.conclusive and name in self.verdict.best
        return "winner" if inside and name == self.winner else "=" if inside else ""

    def price(self, name: str) -> CostedConfiguration | None:
        """The costs of a configuration."""
        return next((costed for costed in self.priced if costed.name == name), None)

    @property
    def cheaper(self) -> Mapping[str, Sequence[Cost]]:
        """The members of the tie set that cost least by some costs, if that is less than the leader, with these costs."""
        first = self.price(self.first.name) if self.first else None
        if first is None or self.verdict is None or not self.conclusive:
            return {}
        return cheaper(first, [costed for name in self.verdict.best if name != first.name and (costed := self.price(name))])

    @property
    def margin(self) -> Comparison | None:
        """The leader minus the configuration it is compared with."""
        return self.against(self.first.name, self.comparator.name) if self.first and self.comparator else None

    def against(self, name: str, baseline: str) -> Comparison | None:
        """Return the comparison `name` minus `baseline`, or None if the verdict's family does not contain it."""
        return _oriented(self.verdict.between(name, baseline), name) if self.verdict else None

    def outside_family(self, name: str, other: str) -> Comparison | None:
        """Return the comparison `name` minus `other`, corrected for all pairs, of two configurations that the verdict's family does not compare."""
        pairs = self.verdict.all_pairs if self.verdict else ()
        return _oriented(next((row for row in pairs if {row.a, row.b} == {name, other}), None), name)


@lru_cache(maxsize=4)
def findings(run: RunTables) -> Findings:
    """Compute the findings on a finished run. Cached for the last few runs because every view reads them."""
    verdict, order = verdict_of(run), standings(run)
    compared = verdict.ranked if verdict else ()
    first, second, *_ = [*order.ranked[: len(compared)], None, None]
    base = order.baseline if verdict and verdict.family != "all pairs" else None
    comparator = second if base is None or base is first else base
    pair = contrast(run, first.name, comparator.name) if first and comparator else None
    return Findings(
        run=run,
        primary=run.primary,
        standings=order,
        verdict=verdict,
        first=first,
        second=second,
        comparator=comparator,
        reference=base or first,
        contrast=pair,
        bounds=_bounds(run, pair) if pair else None,
        faults=faults_of(run, first.name) if first else None,
        priced=frontier(run, order),
        failures=run.failures,
        unbased="" if run.baseline in compared else run.baseline or "",
        screening=_screening(run),
    )


def _oriented(pair: Comparison | None, name: str) -> Comparison | None:
    return pair if pair is None or pair.a == name else pair.reversed()


def _bounds(run: RunTables, pair: Contrast) -> Bounds | None:
    # Of other metrics, what one configuration found changes the divisor of both.
    if pair.judged is None or len(set(pair.judged)) == 1 or run.primary.definition.labels_read != "retrieved":
        return None
    values = (detail(run, side.winner, f"unjudged_{bound}") for side in (pair.a, pair.b) for bound in ("low", "high"))
    return judged_bounds(*values)


def _screening(run: RunTables) -> Screening | None:
    entry: dict[str, Any] | None = run.manifest.get("screening")
    if entry is None:
        return None
    rows = run.screening[[field.name for field in fields(ScreenedConfiguration)]].to_dict("records")
    return Screening.of_json({name: entry[name] for name in ("metric", "queries", "of", "margin", "seed", "alike")} | {"rows": rows})
