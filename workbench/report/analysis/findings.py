"""Collect the findings on a sweep once, for the terminal, the notebooks and the report alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from workbench.core.memo import memoised
from workbench.measures.statistics.comparison import Bounds, Comparison, judged_bounds
from workbench.measures.statistics.screening import ScreenedConfiguration, Screening
from workbench.measures.statistics.verdict import Reason, Verdict
from workbench.report.analysis.causes import FailureSummary, faults_of
from workbench.report.analysis.pairwise import Contrast, contrast
from workbench.report.analysis.standings import Cost, CostedConfiguration, Standing, Standings, cheaper, frontier, standings, verdict_of
from workbench.report.analysis.values import detail
from workbench.report.results.run_tables import RunTables


@dataclass(frozen=True, eq=False, repr=False)
class Findings(RunTables):
    """A run with the conclusions about its configurations, based on its primary metric. Each is computed on first use."""

    @cached_property
    def standings(self) -> Standings:
        """The configurations, the ranked ones in the verdict's order."""
        return standings(self)

    @cached_property
    def verdict(self) -> Verdict | None:
        """The verdict. None if no configuration both fits its embedder's window and has a score; so is everything derived from it."""
        return verdict_of(self)

    @property
    def first(self) -> Standing | None:
        """The leader, which may not differ from `second`."""
        return next(iter(self._compared), None)

    @property
    def second(self) -> Standing | None:
        """The configuration that is ranked after the leader."""
        return next(iter(self._compared[1:]), None)

    @property
    def _compared(self) -> Sequence[Standing]:
        return self.standings.ranked[: len(self.verdict.ranked)] if self.verdict else ()

    @property
    def _base(self) -> Standing | None:
        return self.standings.baseline if self.verdict and self.verdict.family != "all pairs" else None

    @property
    def comparator(self) -> Standing | None:
        """The configuration that the leader is compared with: the baseline, or the second if the leader is the baseline."""
        return self.second if self._base is None or self._base is self.first else self._base

    @property
    def reference(self) -> Standing | None:
        """The configuration that tables and figures compare all others with: the baseline of the verdict's family, else the leader."""
        return self._base or self.first

    @cached_property
    def contrast(self) -> Contrast | None:
        """The questions on which the leader and `comparator` differ."""
        return contrast(self, self.first.name, self.comparator.name) if self.first and self.comparator else None

    @cached_property
    def bounds(self) -> Bounds | None:
        """The bounds of the margin if the two retrieved different shares of judged documents and the metric has bounds."""
        pair = self.contrast
        # Of other metrics, what one configuration found changes the divisor of both.
        if pair is None or pair.judged is None or len(set(pair.judged)) == 1 or self.primary.definition.labels_read != "retrieved":
            return None
        return judged_bounds(*(detail(self, side.winner, f"unjudged_{bound}") for side in (pair.a, pair.b) for bound in ("low", "high")))

    @cached_property
    def faults(self) -> FailureSummary | None:
        """The failures of the leader."""
        return faults_of(self, self.first.name) if self.first else None

    @cached_property
    def priced(self) -> tuple[CostedConfiguration, ...]:
        """The costs of all finished configurations."""
        return frontier(self, self.standings)

    @property
    def unbased(self) -> str:
        """The experiment's baseline if it cannot be compared, else an empty text."""
        return "" if self.verdict and self.baseline in self.verdict.ranked else self.baseline or ""

    @cached_property
    def screened(self) -> Screening | None:
        """The result of the screening before the run, if there was one."""
        entry: dict[str, Any] | None = self.manifest.get("screening")
        if entry is None:
            return None
        rows = self.screening[[field.name for field in fields(ScreenedConfiguration)]].to_dict("records")
        return Screening.of_json({name: entry[name] for name in ("metric", "queries", "of", "margin", "seed", "alike")} | {"rows": rows})

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


@memoised(1)
def findings(run: RunTables) -> Findings:
    """Return a finished run with its conclusions. Cached for the last few runs because every view reads them."""
    return Findings.view(run, run.folder)


def _oriented(pair: Comparison | None, name: str) -> Comparison | None:
    return pair if pair is None or pair.a == name else pair.reversed()
