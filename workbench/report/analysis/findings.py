"""Collect the findings on a sweep once, for the terminal, the notebooks and the report alike."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench.core.memo import memoised
from workbench.measures.statistics.comparison import Comparison
from workbench.measures.statistics.screening import ScreenedConfiguration, Screening
from workbench.measures.statistics.verdict import Reason, Verdict
from workbench.report.analysis.standings import CostedConfiguration, Standing, Standings, frontier, standings, verdict_of
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
    def reference(self) -> Standing | None:
        """The configuration that tables and figures compare all others with: the baseline of the verdict's family, else the leader."""
        return self._base or self.first

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

    def comparison(self, a: str, b: str) -> Comparison | None:
        """Return the comparison a - b by the primary metric, in the one family that it belongs to. None unless both are ranked."""
        return self.verdict.between(a, b) if self.verdict else None

    def equivalent(self, a: str, b: str) -> bool:
        """Check that two configurations are shown to differ by less than the experiment's `smallest_difference` in either direction."""
        pair = self.comparison(a, b)
        return pair is not None and self.verdict is not None and self.verdict.shown_equivalent(pair)


def findings(run: RunTables) -> Findings:
    """Return a finished run with its conclusions. Cached because every view reads them."""
    return _findings(run, run.folder)


@memoised(2)
def _findings(run: RunTables, folder: Path) -> Findings:
    return Findings.view(run, folder)
