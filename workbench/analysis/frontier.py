"""Quality beside what it costs: which configurations no other one beats at the same cost or less."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from workbench.analysis.standings import Mean, Standings
from workbench.attribution.evidence_causes import looked_at
from workbench.context.delivery import delivered
from workbench.core.formatting import listed, number
from workbench.execution.local import Outcome, Result
from workbench.execution.tables import timings_table
from workbench.metrics.case import Case
from workbench.metrics.coverage import Bools, Floats
from workbench.metrics.names import Metric
from workbench.pipeline.context import RunContext
from workbench.pipeline.stages import retrieved_of
from workbench.report.figures import plots
from workbench.report.render.display import NOTHING, Fragment, Picture, show

Cost = Literal["encoding", "encoded", "index", "delivered", "p50", "p95"]


class CostKind(NamedTuple):
    """What a cost is called, what it is counted in, and how it is defined."""

    label: str
    unit: str
    definition: str


_ASKED = "to embed a question and to search, of up to 50 questions asked alone"
COSTS: dict[Cost, CostKind] = {
    "encoding": CostKind(
        "encoding", "s", "taken to embed the chunks when that was done; texts that another configuration had embedded took none"
    ),
    "encoded": CostKind("encoding", "tokens", "that the embedder reads of all chunks: what encoding costs on any machine, nothing shared"),
    "index": CostKind("index", "MB", "on disk; nothing where none is kept"),
    "delivered": CostKind(
        "delivered text", "tokens a question", "up to where the primary metric looks; text that is there twice counts twice"
    ),
    "p50": CostKind("median time a question", "ms", _ASKED),
    "p95": CostKind("95th percentile of the time a question", "ms", _ASKED),
}
# Measured times repeat no better than this, so differences below decide nothing.
_TIMED: tuple[Cost, ...] = ("encoding", "p50", "p95")
_TIMED_DIGITS = 2
_SAME_DIGITS = 9


@dataclass(frozen=True)
class CostedConfiguration:
    """A configuration's mean of the primary metric and its costs (NaN: not known).

    `frontier` names the costs for which no other configuration has at least its quality at less cost, or more quality at no more
    cost. One beyond the embedder's window is not `ranked`: it is on no frontier and keeps no other from it.
    """

    name: str
    quality: Mean
    costs: dict[Cost, float]
    ranked: bool
    frontier: frozenset[Cost] = field(default_factory=frozenset)


def frontier(outcome: Outcome, found: Standings) -> tuple[CostedConfiguration, ...]:
    """All finished configurations with their costs, the ranked ones first and in their order."""
    timings: dict[str, dict[str, float]] = {}
    for name, what, value in timings_table(outcome).reindex(columns=["configuration", "name", "value"]).itertuples(index=False):
        timings.setdefault(str(name), {})[str(what)] = float(value)
    rows = []
    for standing, ranked in [*((one, True) for one in found.ranked), *((one, False) for one in found.windowed)]:
        costs = _costs(outcome.bench, standing.result, found.primary, timings[standing.name])
        rows.append((standing.name, standing.means[str(found.primary)], costs, ranked))
    sign = 1 if found.primary.higher_is_better else -1
    quality = np.array([sign * mean.value if ranked else np.nan for _, mean, _, ranked in rows])
    best = {cost: undominated(quality, _comparable(cost, np.array([row[2][cost] for row in rows]))) for cost in COSTS}
    return tuple(CostedConfiguration(*row, frozenset(cost for cost in COSTS if best[cost][place])) for place, row in enumerate(rows))


def undominated(quality: Floats, cost: Floats) -> Bools:
    """(n) whether no other has at least this quality at less cost, or more quality at no more cost; False where either is NaN.

    Those that are equal in both stay together.
    """
    known = np.isfinite(quality) & np.isfinite(cost)
    better, cheaper = quality[:, None] > quality[None, :], cost[:, None] < cost[None, :]
    as_good, as_cheap = quality[:, None] >= quality[None, :], cost[:, None] <= cost[None, :]
    beaten: Bools = np.logical_or.reduce(((as_good & cheaper) | (better & as_cheap)) & known[:, None], axis=0)
    return known & ~beaten


def frontier_picture(priced: tuple[CostedConfiguration, ...], primary: Metric, cost: Cost) -> Picture | Fragment:
    """The primary metric against a cost; nothing where fewer than two configurations have both."""
    points = [
        plots.Point(one.name, one.costs[cost], one.quality.value, one.ranked, cost in one.frontier)
        for one in priced
        if not np.isnan(one.costs[cost] + one.quality.value)
    ]
    if len(points) < 2:
        return NOTHING
    return show(plots.frontier(points, str(primary), f"{COSTS[cost].label}, {COSTS[cost].unit}"), frontier_told(priced, primary, cost))


def frontier_told(priced: tuple[CostedConfiguration, ...], primary: Metric, cost: Cost) -> str:
    """The figure in words: every configuration's cost and quality, and which ones no other beats."""
    known = [one for one in priced if not np.isnan(one.costs[cost] + one.quality.value)]
    kind = COSTS[cost]
    told = "; ".join(
        f"{one.name} {_amount(one.costs[cost])} {kind.unit} for {number(one.quality.value, 2)}{'' if one.ranked else ' (not ranked)'}"
        for one in sorted(known, key=lambda one: one.costs[cost])
    )
    best = listed([one.name for one in known if cost in one.frontier], most=len(known))
    return f"{primary} against {kind.label}: {told}. No other configuration has as much for less: {best}"


def _costs(bench: RunContext, result: Result, primary: Metric, timed: dict[str, float]) -> dict[Cost, float]:
    embeds = result.embedded is not None
    seconds = _seconds(result)
    return {
        "encoding": timed.get("seconds_vectors", np.nan) if embeds else 0.0,
        "encoded": float((result.lengths - result.truncated).sum()),
        "index": timed.get("index_bytes", np.nan) / 1e6 if embeds else 0.0,
        "delivered": _delivered_tokens(bench, result, primary),
        "p50": float(np.median(seconds)) * 1000 if len(seconds) else np.nan,
        "p95": float(np.quantile(seconds, 0.95)) * 1000 if len(seconds) else np.nan,
    }


def _seconds(result: Result) -> Floats:
    """The seconds of up to 50 questions, embedding and search together."""
    search: Floats = result.hits.array(f"{result.search}_seconds").astype(np.float64)
    if result.embedded is None:
        return search
    embedding = result.embedded.queries.array("seconds")
    both = min(len(search), len(embedding))
    found: Floats = search[:both] + embedding[:both]
    return found


def _delivered_tokens(bench: RunContext, result: Result, primary: Metric) -> float:
    case = Case(bench.labels, retrieved_of(result.chunks, result.hits, result.search), bench.spans)
    text = case.shared(delivered, looked_at(primary, result))
    tokens = np.searchsorted(bench.labels.token_starts, text.ends) - np.searchsorted(bench.labels.token_starts, text.starts)
    return float(tokens.sum()) / bench.labels.queries


def _comparable(cost: Cost, values: Floats) -> Floats:
    """Costs as they are compared: times to two significant digits, the others as they are."""
    if cost not in _TIMED:
        return values.round(_SAME_DIGITS)
    return np.array([float(f"{value:.{_TIMED_DIGITS}g}") for value in values])


def _amount(value: float) -> str:
    return number(value, 0 if value >= 100 or value == 0 else 1 if value >= 10 else 2)
