"""The key `gate` of an experiment."""

from dataclasses import dataclass, field
from pathlib import Path

from workbench.gate.rules import Floor, FloorKind, RetrievalTest, Subject, Tolerance


@dataclass(frozen=True, slots=True)
class GateSettings:
    """The rules of a gate.

    `compare` are the metrics compared with `baseline` and `release`; empty: the primary metric, and with answers the run's first metric of their content.
    `accept_change`: also if a baseline was written to compare other metrics, or was measured otherwise. `max_unscored` is the share of questions that may lack a value. `stale` is a file of questions about replaced documents, for the pytest plugin.
    """

    configuration: str | None = None
    floors: tuple[Floor, ...] = ()
    floor_kind: FloorKind | None = None
    compare: tuple[Subject, ...] = ()
    accept_change: bool = False
    baseline: Path | None = None
    release: Path | None = None
    tolerance: Tolerance = field(default_factory=Tolerance)
    max_unscored: float = 0.02
    retrieval_tests: tuple[RetrievalTest, ...] = ()
    stale: Path | None = None
