"""The outcome of a gate, as values."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.gate.baseline import Differences
from workbench.measures.statistics.gates import Decision
from workbench.report.analysis.losses import QuestionLoss

RuleKind = Literal["specification", "inference", "baseline", "release", "plain baseline", "retrieval test"]
EXIT_CODES = {Decision.PASS: 0, Decision.FAIL: 1, Decision.UNDECIDED: 4}


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """The outcome of the rule with an `id`, or of one question of it: its text, the numbers behind it and the reason in one sentence.

    `value` is the candidate's mean and `reference` the baseline's, `difference` the candidate minus the baseline in the direction of the metric. `low`
    and `high` are bounds of the difference, or of the mean. `limit` is the floor, or -M. Numbers that do not apply are NaN. `alarm`: a second run of
    both sides would decide it. `worse`: it passed within the tolerance, and a drop is significant. `random`
    names the parts of the run that can give other values.
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
    random: str = ""
    query_id: str = ""


def outcome_of(results: Sequence[RuleResult]) -> Decision:
    """Return the outcome of results together: a failure if one fails, else undecided if one is, else a pass."""
    outcomes = {result.outcome for result in results}
    return next((outcome for outcome in (Decision.FAIL, Decision.UNDECIDED) if outcome in outcomes), Decision.PASS)


@dataclass(frozen=True)
class GateReport:
    """The outcome of a gate. It fails if a rule fails, else it is undecided if a rule is, else it passes.

    `lost` are the questions that lost something since the baseline. `notes` are remarks that change nothing, such as documents that were removed.
    `commit` is that of the run, empty outside git.
    """

    name: str
    configuration: str
    rules: Sequence[RuleResult]
    lost: Sequence[QuestionLoss] = ()
    differences: Differences | None = None
    notes: Sequence[str] = ()
    commit: str = ""

    @property
    def outcome(self) -> Decision:
        """Return the outcome of all rules together."""
        return outcome_of(self.rules)

    def of(self, rule_id: str) -> list[RuleResult]:
        """Return the results of a rule: one of a limit, several of a test of many questions or of a baseline with several metrics."""
        return [rule for rule in self.rules if rule.id == rule_id]

    @property
    def exit_code(self) -> int:
        """Return 0 for a pass, 1 for a failure, 4 if undecided."""
        return EXIT_CODES[self.outcome]

    @property
    def alarms(self) -> Sequence[str]:
        """Return the rules that a second run of both sides would decide."""
        return [rule.rule for rule in self.rules if rule.alarm]
