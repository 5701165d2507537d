"""The points of the checklist, as values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from workbench.results.run_tables import RunTables

State = Literal["met", "not met", "cannot be seen"]


@dataclass(frozen=True)
class ChecklistPoint:
    """A point of the checklist with its evidence.

    `advice` says how to earn a point that is not met. `settings` are keys of the experiment, or changes of them, and `commands` lines for a shell.
    """

    name: str
    state: State
    evidence: str
    advice: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    commands: Sequence[str] = ()


@dataclass(frozen=True)
class Checklist:
    """The points of a configuration of a run, in a fixed order. `drafts` states how many questions are drafts, empty without any."""

    name: str
    configuration: str
    points: Sequence[ChecklistPoint]
    drafts: str = ""

    def count(self, state: State) -> int:
        """Return how many points have a state."""
        return sum(point.state == state for point in self.points)

    @property
    def exit_code(self) -> int:
        """Return 0 if every point is met, 1 if one is not, 4 if the others cannot be seen."""
        return 1 if self.count("not met") else 4 if self.count("cannot be seen") else 0


@dataclass(frozen=True, eq=False)
class Audit:
    """A configuration of a run that is audited. `folder` is the run's folder as a word of a shell command."""

    run: RunTables
    configuration: str
    folder: str

    def with_metrics(self, *names: str) -> dict[str, Any]:
        """Return the key `metrics` of the experiment with more metrics at its end, or nothing if it has them."""
        written = [str(name) for name in self.run.manifest["experiment"].get("metrics") or self.run.measures]
        missing = [name for name in names if name not in written]
        return {"metrics": [*written, *missing]} if missing else {}
