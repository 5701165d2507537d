"""The rules of a gate, as they are written on the command line and in an experiment, the key `gate`, and the results of rules."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from workbench.core.errors import InputError
from workbench.measures.metrics.names import Metric
from workbench.measures.statistics.decisions import Decision

FloorKind = Literal["specification", "inference"]
BaselineKind = Literal["baseline", "release"]
Bound = Literal[">=", "<="]
RuleKind = Literal["specification", "inference", "baseline", "release", "plain baseline", "retrieval test"]
EXIT_CODES = {Decision.PASS: 0, Decision.FAIL: 1, Decision.UNDECIDED: 4}
CONDITION = "condition"
# Values of metadata can contain brackets and comparisons, so a slice ends with the last bracket.
_SUBJECT = re.compile(r"(?P<metric>[^\[\]\s]+)\s*(?:\[(?P<slice>.*)\])?", re.DOTALL)
_RULE = re.compile(r"(?P<subject>[^<>=\[]+(?:\[.*\])?)\s*(?P<bound>>=|<=|==|=>|=<|>|<|=|≥|≤)\s*(?P<limit>[^<>=]*)", re.DOTALL)
# A part of a slice starts with the name of a field. The value of the part before can contain an ampersand, as in dept=R&D.
_PART = re.compile(r"&(?=[^&=]+=)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?(?P<percent>\s*%)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Subject:
    """Metric, slice and condition of a rule, written `recall@5`, `recall@5[type=multi-hop]` or `faithfulness[condition=gold&domain=hr]`."""

    metric: str
    slice: str = "all"
    condition: str = "retrieved"

    @classmethod
    def parse(cls, text: str) -> "Subject":
        """Parse a metric with an optional slice. Raises InputError for an unknown metric or another form."""
        text = text.strip()
        match = _SUBJECT.fullmatch(text)
        if match is None:
            raise InputError(f"{text!r} is not a metric", "write for example recall@5, or recall@5[type=multi-hop]")
        metric = str(Metric.parse(match["metric"]))
        conditions, parts = list[str](), list[str]()
        for part in slice_parts(match["slice"]) if match["slice"] is not None else ():
            name, equals, value = (piece.strip() for piece in part.partition("="))
            if not (name and equals and value):
                raise InputError(f"{part!r} in {text!r} is not a slice", "write field=value, several joined by &")
            (conditions if name == CONDITION else parts).append(value if name == CONDITION else f"{name}={value}")
        if len(conditions) > 1:
            raise InputError(f"{text!r} has several conditions", "write one rule for each")
        return cls(metric, "&".join(parts) or "all", conditions[0] if conditions else "retrieved")

    def __str__(self) -> str:
        inside = [f"{CONDITION}={self.condition}"] if self.condition != "retrieved" else []
        inside += [self.slice] if self.slice != "all" else []
        return f"{self.metric}[{'&'.join(inside)}]" if inside else self.metric


class Rule:
    """A rule of a gate. Its results have its `id`."""

    __slots__ = ()

    @property
    def id(self) -> str:
        """Return the rule as it is written."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Floor(Rule):
    """A limit of a mean, written `recall@5 >= 0.7`. `kind` None: specification for metrics of retrieval, inference for others."""

    subject: Subject
    bound: Bound
    limit: float
    kind: FloorKind | None = None

    @classmethod
    def parse(cls, text: str, kind: FloorKind | None = None) -> "Floor":
        """Parse a rule. Raises InputError for another form, or a bound against the direction of the metric."""
        match = _RULE.fullmatch(text.strip())
        if match is None:
            raise InputError(f"{text!r} is not a rule", 'write for example "recall@5 >= 0.7"')
        subject, bound = Subject.parse(match["subject"]), match["bound"]
        if bound not in (">=", "<="):
            raise InputError(f"{bound} in {text!r} is not a bound of a rule", "write >= or <=")
        return cls.of(subject, ">=" if bound == ">=" else "<=", number_in(match["limit"], text), kind)

    @classmethod
    def of(cls, subject: Subject, bound: Bound, limit: float, kind: FloorKind | None = None) -> "Floor":
        """Check that the bound fits the direction of the metric."""
        fits: Bound = ">=" if Metric.parse(subject.metric).higher_is_better else "<="
        if bound != fits:
            better = "higher" if fits == ">=" else "lower"
            fix = f"write {fits}, or --fail-{'below' if fits == '>=' else 'above'}"
            raise InputError(f"{subject} {bound} {limit:g} is against the direction of the metric: {better} is better", fix)
        return cls(subject, bound, limit, kind)

    def __str__(self) -> str:
        return f"{self.subject} {self.bound} {self.limit:.12g}"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The margin of a comparison with a baseline: `5%` of the baseline's mean, or `0.05` in units of the metric."""

    value: float = 0.05
    relative: bool = True

    @classmethod
    def parse(cls, text: str) -> "Tolerance":
        """Parse `5%` or `0.05`. Raises InputError for another form, or a number that is not above 0."""
        value, relative = number_in(text, f"the tolerance {text}"), text.strip().endswith("%")
        if not 0 < value <= 1:
            raise InputError(
                f"the tolerance {text} is not above 0 and up to 1", "write for example 5%, or 0.001 for the least drop of the metric"
            )
        return cls(value, relative)

    def margin(self, mean: float) -> float:
        """Return the largest drop that is tolerated from a mean."""
        return self.value * abs(mean) if self.relative else self.value

    def __str__(self) -> str:
        return f"{self.value * 100:g}%" if self.relative else f"{self.value:g}"


@dataclass(frozen=True, slots=True)
class BaselineComparison(Rule):
    """The comparison of a metric with a baseline. `subject` None: of the metrics that are compared by default."""

    kind: BaselineKind
    path: Path
    subject: Subject | None = None

    def __str__(self) -> str:
        return f"{self.subject} against {self.path}" if self.subject else f"against {self.path}"


@dataclass(frozen=True, slots=True)
class RetrievalTest(Rule):
    """An expected document (any relevant one if empty) in the first `k` documents of a question, or with `absent` not in them.

    Without `query_id` it holds for every question of `slice` that has a relevant document.
    """

    k: int
    query_id: str = ""
    doc_id: str = ""
    slice: str = "all"
    absent: bool = False

    def __str__(self) -> str:
        what = self.doc_id or "a relevant document"
        of = f" of {self.query_id}" if self.query_id else f" of every question[{self.slice}]" if self.slice != "all" else ""
        return f"{what} {'not ' if self.absent else ''}in the first {self.k}{of}"


def slice_parts(text: str) -> list[str]:
    """Split `type=table&dept=R&D` into its fields with their values."""
    return _PART.split(text)


def number_in(text: str, where: str) -> float:
    """Parse a number or a percentage. Raises InputError for another form, and for a number that is not finite."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or not math.isfinite(value := float(text.strip().rstrip("%").strip())):
        raise InputError(f"{text!r} in {where!r} is not a number", "write for example 0.7, or 70%")
    return value / 100 if match["percent"] else value


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

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return every rule of a run. Results have the `id` of their rule."""
        return (*self.floors, *self.comparisons("baseline"), *self.comparisons("release"), *self.retrieval_tests)

    def comparisons(self, kind: BaselineKind) -> tuple[BaselineComparison, ...]:
        """Return the comparisons with a baseline, none without one."""
        path = self.baseline if kind == "baseline" else self.release
        return tuple(BaselineComparison(kind, path, subject) for subject in self.compare or (None,)) if path else ()

    def only(self, rules: Collection[Rule]) -> "GateSettings":
        """Return the settings with some of the rules. All metrics of `compare` are compared with a baseline, or none."""
        return replace(
            self,
            floors=tuple(rule for rule in self.floors if rule in rules),
            baseline=self.baseline if any(rule in rules for rule in self.comparisons("baseline")) else None,
            release=self.release if any(rule in rules for rule in self.comparisons("release")) else None,
            retrieval_tests=tuple(rule for rule in self.retrieval_tests if rule in rules),
        )


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """The outcome of the rule with an `id`, or of one question of it: its text, the numbers behind it and the reason in one sentence.

    `value` is the candidate's mean and `reference` the baseline's, `difference` the candidate minus the baseline in the direction of the metric. `low`
    and `high` are bounds of the difference, or of the mean. `limit` is the floor, or -M. Numbers that do not apply are NaN. `alarm`: a second run of
    both sides would decide it. `worse`: it passed within the tolerance, and a drop is significant. `equivalent`: it passed, and the difference is
    shown to be smaller than the tolerance in either direction. `random` names the parts of the run that can give other values.
    """

    id: str = ""
    rule: str
    kind: RuleKind
    metric: str
    slice: str
    condition: str
    outcome: Decision
    reason: str
    value: float = math.nan
    reference: float = math.nan
    difference: float = math.nan
    low: float = math.nan
    high: float = math.nan
    limit: float = math.nan
    p: float = math.nan
    p_adjusted: float = math.nan
    n: int = 0
    clusters: int = 0
    unscored: int = 0
    alarm: bool = False
    worse: bool = False
    equivalent: bool = False
    random: str = ""
    query_id: str = ""


def outcome_of(results: Sequence[RuleResult]) -> Decision:
    """Return the outcome of results together: a failure if one fails, else undecided if one is, else a pass."""
    outcomes = {result.outcome for result in results}
    return next((outcome for outcome in (Decision.FAIL, Decision.UNDECIDED) if outcome in outcomes), Decision.PASS)
