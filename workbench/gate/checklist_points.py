"""The points of the checklist, as values and as lines of a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import yaml

from workbench.core.text.formatting import interval, number, plural
from workbench.report.results.run_tables import RETRIEVED, RunTables

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


class MetricMean(NamedTuple):
    """The mean of a metric over all questions of a configuration, as in the table `metrics`."""

    value: float
    low: float
    high: float
    n: int
    unscored: int
    attainable: float

    def __str__(self) -> str:
        return f"{number(self.value)} {interval(self.low, self.high)} on {plural(self.n, 'question')}"


@dataclass(frozen=True, eq=False)
class Audit:
    """A configuration of a run that is audited. `folder` is the run's folder as a word of a shell command."""

    run: RunTables
    configuration: str
    folder: str

    def mean(self, metric: str, configuration: str = "") -> MetricMean | None:
        """Return the mean of a metric, None if the run does not have it."""
        rows = self.run.of("metrics", configuration or self.configuration)
        rows = rows[(rows["metric"] == metric) & (rows["slice"] == "all") & (rows["condition"] == RETRIEVED)]
        return MetricMean(*rows.iloc[0][list(MetricMean._fields)]) if len(rows) else None

    def better(self, point: ChecklistPoint, metric: str, limit: float) -> ChecklistPoint | None:
        """Return a point that is not met with the configuration of the run that reaches a limit, None if none does."""
        means = {name: mean.value for name in self.run.names if (mean := self.mean(metric, name)) is not None}
        best = max(means, key=lambda name: means[name])
        if best == self.configuration or not means[best] >= limit:
            return None
        commands = [f"workbench checklist {self.folder} --configuration {best}"]
        return replace(point, advice=f"{best} reaches {number(means[best])} in this run", commands=commands)

    def with_metrics(self, *names: str) -> dict[str, Any]:
        """Return the key `metrics` of the experiment with more metrics at its end, or nothing if it has them."""
        written = [str(name) for name in self.run.manifest["experiment"].get("metrics") or self.run.measures]
        missing = [name for name in names if name not in written]
        return {"metrics": [*written, *missing]} if missing else {}


_WIDTH = 100


def checklist_lines(checklist: Checklist) -> Iterator[str]:
    """Yield a line for each point with its evidence, and below it how to earn it."""
    yield f"{checklist.name}: {checklist.configuration}"
    for point in checklist.points:
        yield ""
        yield f"{point.state}: {point.name}"
        yield f"  {point.evidence}"
        yield from (f"  {line}" for line in _advice(point))
    yield ""
    unseen = checklist.count("cannot be seen")
    counts = f"{checklist.count('met')} of {plural(len(checklist.points), 'point')} met, {checklist.count('not met')} not met, {unseen} cannot be seen"
    yield f"{counts}; {checklist.drafts}" if checklist.drafts else counts


def _advice(point: ChecklistPoint) -> Iterator[str]:
    if point.advice:
        yield f"to earn it: {point.advice}"
    yield from (f"  {line}" for line in settings_lines(point.settings))
    yield from (f"  {line}" for line in point.commands)


def settings_lines(settings: Mapping[str, Any]) -> list[str]:
    """Return keys of an experiment as lines of YAML. Pure."""
    plain = _plain(settings)
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDTH).splitlines() if plain else []


def _plain(value: object) -> Any:
    """Copy mappings and sequences as dictionaries and lists, which YAML writes without tags."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
