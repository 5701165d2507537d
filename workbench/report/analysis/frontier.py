"""Quality against cost: the configurations that no other beats at the same or lower cost, and recall by amount of delivered text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from workbench.core.text.formatting import two_digits
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.report.analysis.standings import Mean, Standing, Standings
from workbench.report.results.run_tables import RunTables

Cost = Literal["encoded", "index", "delivered", "p50", "p95"]


class CostKind(NamedTuple):
    """The name of a cost, its unit and its definition."""

    label: str
    unit: str
    definition: str


class CostRange(NamedTuple):
    """The smallest and the largest measurement of a cost. Both are infinite for a time that was measured only once."""

    low: float
    high: float

    @property
    def repeated(self) -> bool:
        """True if the range is known."""
        return self.low > -np.inf


_UNKNOWN = CostRange(-np.inf, np.inf)
_QUESTION_TIME = (
    "to embed a question, to search and to rerank, one question at a time on a warm system; lowest to highest of several rounds"
)
COSTS: dict[Cost, CostKind] = {
    "encoded": CostKind("encoding", "tokens", "that the embedder reads of all chunks, shared ones included: the cost on any machine"),
    "index": CostKind("index", "MB", "on disk; 0 without an index"),
    "delivered": CostKind("delivered text", "tokens a question", "up to the cut-off of the primary metric; repeated text counts twice"),
    "p50": CostKind("median time a question", "ms", _QUESTION_TIME),
    "p95": CostKind("95th percentile of the time per question", "ms", _QUESTION_TIME),
}
# Budgets in tokens at which recall is measured in every run on data with evidence.
CURVE = (500, 1000, 2000, 4000)
# Costs that differ from run to run. They are compared, and shown, with two significant digits.
TIMES: tuple[Cost, ...] = ("p50", "p95")
# The same search, timed twice within minutes, may take this many times as long the second time (docs/decisions.md).
DRIFT = 3
_SAME_DIGITS = 9
# What every question costs comes first, then what is paid once.
_DECIDING: tuple[Cost, ...] = ("p50", "delivered", "index", "encoded")
# A saving of less than a tenth decides nothing.
_SAVING = 0.9


@dataclass(frozen=True)
class CostedConfiguration:
    """A configuration's mean of the primary metric, its costs (NaN: unknown) and the ranges of their measurements.

    `frontier` names the costs for which no other configuration has at least its quality at less cost, or more quality at no more
    cost. Times differ only if they are `separated`. A configuration that is not `ranked` is on no frontier and excludes no other.
    """

    name: str
    quality: Mean
    costs: dict[Cost, float]
    ranges: dict[Cost, CostRange]
    ranked: bool
    frontier: frozenset[Cost]


def frontier(run: RunTables, order: Standings) -> tuple[CostedConfiguration, ...]:
    """All finished configurations with their costs, the ranked ones first in ranking order."""
    standings, sign = order.finished, 1 if run.primary.higher_is_better else -1
    means, costs = [standing.means[str(run.primary)] for standing in standings], [costs_of(run, standing) for standing in standings]
    # The range of a time is that of its passes, of all other costs the cost itself.
    ranges: list[dict[Cost, CostRange]] = []
    for standing, amounts in zip(standings, costs, strict=True):
        timed = timings_of(run, standing.name)
        same = {cost: CostRange(round(value, _SAME_DIGITS), round(value, _SAME_DIGITS)) for cost, value in amounts.items()}
        ranges.append(same | {cost: passes_of(timed, f"latency_question_{cost}") for cost in TIMES})
    quality = np.array([sign * mean.value if rank < len(order.ranked) else np.nan for rank, mean in enumerate(means)])
    best = {}
    for cost in COSTS:
        known = np.array([not np.isnan(amounts[cost]) for amounts in costs])
        low, high = np.array([each[cost] for each in ranges]).reshape(-1, 2).T
        best[cost] = undominated(np.where(known, quality, np.nan), low, high * _slack(cost))
    return tuple(
        CostedConfiguration(
            each.name, means[row], costs[row], ranges[row], row < len(order.ranked), frozenset(cost for cost in COSTS if best[cost][row])
        )
        for row, each in enumerate(standings)
    )


def separated(cost: Cost, one: CostRange, other: CostRange) -> bool:
    """Check that one of two costs is shown to be lower: the ranges do not overlap, and those of times are more than `DRIFT` times apart."""
    return one.high * _slack(cost) < other.low or other.high * _slack(cost) < one.low


def _slack(cost: Cost) -> float:
    return DRIFT if cost in TIMES else 1


def cheaper(first: CostedConfiguration, others: Sequence[CostedConfiguration]) -> Mapping[str, Sequence[Cost]]:
    """Map the configuration that costs least by each cost, if that is less than `first`, to these costs, those of a question before others.

    Times that are not `separated` are equal, as are other costs within a tenth. Configurations that are equal by one cost are compared by
    the next.
    """
    cheapest: dict[str, list[Cost]] = {}
    for cost in _DECIDING:
        known = [each for each in (first, *others) if not np.isnan(each.costs[cost])]
        least = [each for each in known if not any(_lower(other, each, cost) for other in known)]
        for other_cost in _DECIDING:
            least = [each for each in least if not any(_lower(other, each, other_cost) for other in least)]
        if first in known and least and _lower(least[0], first, cost):
            cheapest.setdefault(least[0].name, []).append(cost)
    return cheapest


def _lower(one: CostedConfiguration, other: CostedConfiguration, cost: Cost) -> bool:
    """Check that a cost of one configuration is known to be lower than that of another."""
    if cost in TIMES:
        return one.costs[cost] < other.costs[cost] and separated(cost, one.ranges[cost], other.ranges[cost])
    return one.costs[cost] < _SAVING * other.costs[cost]


def recall_curves(standings: Sequence[Standing]) -> Mapping[str, Sequence[float]]:
    """Map each configuration to its recall of evidence at the budgets of `CURVE`. Empty if the data have no evidence.

    A configuration with a value for fewer than 90 % of the questions is left out.
    """
    names = [f"span_recall@{tokens}t" for tokens in CURVE]
    known = [each for each in standings if all(name in each.means and each.means[name].covered for name in names)]
    return {each.name: [each.means[name].value for name in names] for each in known}


def costs_of(run: RunTables, standing: Standing) -> dict[Cost, float]:
    """The costs of a configuration; NaN if unknown."""
    facts, timed = standing.facts, timings_of(run, standing.name)
    # What a target encodes is not known.
    known = facts["tokens"] is not None
    return {
        "encoded": float(facts["tokens"] - facts["truncated_tokens"]) if known else np.nan,
        # An index may be a page of its database larger in the next run.
        "index": round(timed.get("index_bytes", np.nan) / 1e6, 2) if facts["embedding"] is not None or not known else 0.0,
        "delivered": np.nan if facts["context_tokens"] is None else float(facts["context_tokens"]),
        "p50": timed.get("latency_question_p50", np.nan),
        "p95": timed.get("latency_question_p95", np.nan),
    }


def timings_of(run: RunTables, configuration: str) -> dict[str, float]:
    """The `timings` of a configuration by name."""
    rows = run.of("timings", configuration)
    return dict(zip(rows["name"].tolist(), rows["value"].tolist(), strict=True))


def passes_of(timings: Mapping[str, float], name: str) -> CostRange:
    """The range of a time over its passes. Runs of earlier versions have one pass, and so no range."""
    low, high = timings.get(f"{name}_low"), timings.get(f"{name}_high")
    return _UNKNOWN if low is None or high is None else CostRange(two_digits(low), two_digits(high))


def undominated(quality: Floats, low: Floats, high: Floats) -> Bools:
    """Mark the points that no other beats with at least their quality at less cost or more quality at no more cost.

    The arguments have shape (n,); costs differ only if their ranges from `low` to `high` do not overlap. The result is False where the
    quality or a range is NaN. Points equal in both values are all kept or all dropped.
    """
    finite = np.isfinite(quality) & ~np.isnan(low) & ~np.isnan(high)
    better, cheaper = quality[:, None] > quality[None, :], high[:, None] < low[None, :]
    as_good, not_dearer = quality[:, None] >= quality[None, :], ~cheaper.T
    beaten: Bools = np.logical_or.reduce(((as_good & cheaper) | (better & not_dearer)) & finite[:, None], axis=0)
    return finite & ~beaten
