"""Quality against cost: the configurations that no other beats at the same or lower cost, and recall by amount of delivered text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from workbench.analysis.standings import Mean, Standing, Standings
from workbench.metrics.coverage import Bools, Floats
from workbench.results.run_tables import RunTables

Cost = Literal["encoding", "encoded", "index", "delivered", "p50", "p95"]


class CostKind(NamedTuple):
    """The name of a cost, its unit and its definition."""

    label: str
    unit: str
    definition: str


_QUESTION_TIME = "to embed a question and to search, for up to 50 questions one at a time"
COSTS: dict[Cost, CostKind] = {
    "encoding": CostKind("encoding", "s", "to embed the chunks; texts that another configuration had already embedded take no time"),
    "encoded": CostKind("encoding", "tokens", "that the embedder reads of all chunks, shared ones included: the cost on any machine"),
    "index": CostKind("index", "MB", "on disk; 0 without an index"),
    "delivered": CostKind("delivered text", "tokens a question", "up to the cut-off of the primary metric; repeated text counts twice"),
    "p50": CostKind("median time a question", "ms", _QUESTION_TIME),
    "p95": CostKind("95th percentile of the time per question", "ms", _QUESTION_TIME),
}
# Budgets in tokens at which recall is measured in every run on data with evidence.
CURVE = (500, 1000, 2000, 4000)
# Measured times are not reproducible beyond this, so smaller differences are ignored.
_TIMED: tuple[Cost, ...] = ("encoding", "p50", "p95")
_TIMED_DIGITS = 2
_SAME_DIGITS = 9


@dataclass(frozen=True)
class CostedConfiguration:
    """A configuration's mean of the primary metric and its costs (NaN: unknown).

    `frontier` names the costs for which no other configuration has at least its quality at less cost, or more quality at no more
    cost. A configuration beyond the embedder's window is not `ranked`: it is on no frontier and excludes no other.
    """

    name: str
    quality: Mean
    costs: dict[Cost, float]
    ranked: bool
    frontier: frozenset[Cost]


def frontier(run: RunTables, order: Standings) -> tuple[CostedConfiguration, ...]:
    """All finished configurations with their costs, the ranked ones first in ranking order."""
    standings, sign = (*order.ranked, *order.windowed), 1 if run.primary.higher_is_better else -1
    means, costs = [standing.means[str(run.primary)] for standing in standings], [costs_of(run, standing) for standing in standings]
    quality = np.array([np.nan if standing.beyond_window else sign * mean.value for standing, mean in zip(standings, means, strict=True)])
    best = {cost: undominated(quality, _comparable(cost, np.array([amounts[cost] for amounts in costs]))) for cost in COSTS}
    return tuple(
        CostedConfiguration(each.name, means[row], costs[row], not each.beyond_window, frozenset(cost for cost in COSTS if best[cost][row]))
        for row, each in enumerate(standings)
    )


def recall_curves(standings: Sequence[Standing]) -> Mapping[str, Sequence[float]]:
    """Map each configuration to its recall of evidence at the budgets of `CURVE`. Empty if the data have no evidence."""
    names = [f"span_recall@{tokens}t" for tokens in CURVE]
    return {each.name: [each.means[name].value for name in names] for each in standings if all(name in each.means for name in names)}


def costs_of(run: RunTables, standing: Standing) -> dict[Cost, float]:
    """The costs of a configuration; NaN if unknown."""
    facts, timed = standing.facts, timings_of(run, standing.name)
    embeds = facts["embedding"] is not None
    return {
        "encoding": timed.get("seconds_vectors", np.nan) if embeds else 0.0,
        "encoded": float(facts["tokens"] - facts["truncated_tokens"]),
        "index": timed.get("index_bytes", np.nan) / 1e6 if embeds else 0.0,
        "delivered": float(facts["context_tokens"]),
        "p50": timed.get("latency_question_p50", np.nan),
        "p95": timed.get("latency_question_p95", np.nan),
    }


def timings_of(run: RunTables, configuration: str) -> dict[str, float]:
    """The `timings` of a configuration by name."""
    rows = run.of("timings", configuration)
    return dict(zip(rows["name"].tolist(), rows["value"].tolist(), strict=True))


def undominated(quality: Floats, cost: Floats) -> Bools:
    """Mark the points that no other beats with at least their quality at less cost or more quality at no more cost.

    Shape (n,), False where either value is NaN. Points equal in both values are all kept or all dropped.
    """
    finite = np.isfinite(quality) & np.isfinite(cost)
    better, cheaper = quality[:, None] > quality[None, :], cost[:, None] < cost[None, :]
    as_good, as_cheap = quality[:, None] >= quality[None, :], cost[:, None] <= cost[None, :]
    beaten: Bools = np.logical_or.reduce(((as_good & cheaper) | (better & as_cheap)) & finite[:, None], axis=0)
    return finite & ~beaten


def _comparable(cost: Cost, values: Floats) -> Floats:
    """Round costs for comparison: times to two significant digits, others not at all."""
    if cost not in _TIMED:
        return values.round(_SAME_DIGITS)
    return np.array([float(f"{value:.{_TIMED_DIGITS}g}") for value in values])
