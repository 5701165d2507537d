"""The rows of the ranking: every configuration of a run with its status, its score and its difference from the reference."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Any, NamedTuple

from workbench.core.memo import memoised
from workbench.measures.statistics.comparison import Comparison
from workbench.measures.statistics.screening import ScreenedConfiguration
from workbench.report.analysis.findings import Findings
from workbench.report.analysis.setting_names import setting_columns, short_names
from workbench.report.analysis.standings import CostedConfiguration, Mean, Standing

# The least span of the axis of a proportion, so that a small difference does not look like a large one.
_LEAST_SPAN = 0.2
# Configurations further away than this many spans of those that may be best are at the edge of the axis.
_SPANS = 3.0
_MOST_TICKS = 6
# Half a marker's width is free on both sides of the axis, in per cent.
_EDGE = 4.0


class RankStatus(StrEnum):
    """The result of the tests for a configuration. `OUTSIDE` is not in the tie set, though no single comparison puts it behind another."""

    WINNER = "winner"
    EQUIVALENT = "equivalent"
    BEST = "may be best"
    BEHIND = "behind"
    OUTSIDE = "outside"
    UNTESTED = "not tested"
    UNRANKED = "not ranked"
    SCREENED = "screened out"
    FAILED = "failed"


# Members of the tie set.
BEST = (RankStatus.WINNER, RankStatus.EQUIVALENT, RankStatus.BEST)


class Unranked(StrEnum):
    """The cause for which a finished configuration is not ranked."""

    WINDOW = "window"
    COVERAGE = "coverage"
    VALUES = "values"


class Ahead(NamedTuple):
    """A configuration that is shown to be better, its place, and the corrected p."""

    name: str
    place: int
    p: float


@dataclass(frozen=True, kw_only=True)
class RankingRow:
    """A configuration in the ranking.

    `settings` are the texts of `setting_columns`, empty for a target, whose kind is `target`. `pair` is this configuration minus the reference, None
    for the `reference` itself. `mean` and `standing` are None for a configuration that was not run to the end, `place` for one that is not ranked;
    `cause` says why not. `error` is that of a failed configuration, `screened` its result by proxy.
    """

    name: str
    short: str
    status: RankStatus
    settings: tuple[str, ...] = ()
    target: str = ""
    place: int | None = None
    standing: Standing | None = None
    mean: Mean | None = None
    reference: bool = False
    pair: Comparison | None = None
    ahead: Ahead | None = None
    costed: CostedConfiguration | None = None
    cause: Unranked | None = None
    error: str = ""
    screened: ScreenedConfiguration | None = None

    @property
    def window(self) -> int:
        """The embedder's window that its chunks exceed, 0 for another cause."""
        return int(self.standing.facts["window"] or 0) if self.standing and self.cause is Unranked.WINDOW else 0

    @property
    def group(self) -> tuple[RankStatus | None, Unranked | None, int, str]:
        """The values that rows under one heading share. All ranked configurations have the same."""
        return (None if self.place is not None else self.status, self.cause, self.window, self.error)


@memoised(1)
def ranking_rows(findings: Findings) -> tuple[RankingRow, ...]:
    """All configurations: the ranked ones in the verdict's order, those not ranked by cause and score, then those screened out and failed."""
    places = {standing.name: place for place, standing in enumerate(_scored(findings), 1)}
    ranked = [_ranked(findings, standing, places) for standing in _scored(findings)]
    rows = [*ranked, *_unranked(findings)]
    for screened in findings.screened.dropped if findings.screened else ():
        rows.append(_row(findings, screened.configuration, RankStatus.SCREENED, screened=screened))
    for error, names in _failures(findings).items():
        rows += [_row(findings, name, RankStatus.FAILED, error=error) for name in names]
    return tuple(rows)


def _failures(findings: Findings) -> Mapping[str, Sequence[str]]:
    """Map each error to the configurations that it failed. Errors that differ only in names of configurations are one, without the names."""
    names = sorted(findings.failures, key=len, reverse=True)
    known = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, names))})(?![\w-])")
    groups = dict[str, list[str]]()
    for name, error in findings.failures.items():
        groups.setdefault(known.sub("…", error), []).append(name)
    errors = {shared: {findings.failures[name] for name in group} for shared, group in groups.items()}
    return {min(errors[shared]) if len(errors[shared]) == 1 else shared: group for shared, group in groups.items()}


def grouped(rows: Iterable[RankingRow]) -> Iterator[Sequence[RankingRow]]:
    """Split rows into those that share a heading: the ranked ones, then those of each cause."""
    for _, group in groupby(rows, key=lambda row: row.group):
        yield tuple(group)


def best_unranked(findings: Findings) -> RankingRow | None:
    """The configuration with the best score of those that are not ranked, if it is better than the leader's or there is no leader."""
    rows = [row for row in ranking_rows(findings) if row.status is RankStatus.UNRANKED and row.mean and math.isfinite(row.mean.value)]
    best = max(rows, key=lambda row: _quality(findings, row), default=None)
    leader = next((row for row in ranking_rows(findings) if row.place == 1), None)
    hidden = best is not None and (leader is None or _quality(findings, best) > _quality(findings, leader))
    return best if hidden else None


def _quality(findings: Findings, row: RankingRow) -> float:
    value = row.mean.value if row.mean else math.nan
    return -math.inf if math.isnan(value) else value if findings.primary.higher_is_better else -value


def _scored(findings: Findings) -> Sequence[Standing]:
    return [standing for standing in findings.standings.ranked if standing.means[str(findings.primary)].n]


def _row(findings: Findings, name: str, status: RankStatus, **values: Any) -> RankingRow:
    settings: Mapping[str, Any] = findings.configurations_settings.get(name, {})
    texts = tuple(column.texts.get(name, "") for column in setting_columns(findings))
    target = str((settings.get("target") or {}).get("kind", ""))
    return RankingRow(name=name, short=short_names(findings).get(name, name), status=status, settings=texts, target=target, **values)


def _finished(findings: Findings, standing: Standing, status: RankStatus, **values: Any) -> RankingRow:
    mean = standing.means[str(findings.primary)]
    return _row(findings, standing.name, status, standing=standing, mean=mean, costed=findings.price(standing.name), **values)


def _ranked(findings: Findings, standing: Standing, places: Mapping[str, int]) -> RankingRow:
    name, reference = standing.name, findings.reference
    status, ahead = RankStatus.UNTESTED, None
    if findings.conclusive and findings.verdict is not None:
        ahead = _ahead(findings, name, places)
        known = findings.verdict.equivalent
        inside = RankStatus.WINNER if name == findings.winner else RankStatus.EQUIVALENT if name in known else RankStatus.BEST
        status = inside if name in findings.verdict.best else RankStatus.BEHIND if ahead else RankStatus.OUTSIDE
    base = reference is not None and reference.name == name
    pair = findings.comparison(name, reference.name) if reference is not None and not base else None
    shown = ahead if status is RankStatus.BEHIND else None
    return _finished(findings, standing, status, place=places[name], reference=base, pair=pair, ahead=shown)


def _ahead(findings: Findings, name: str, places: Mapping[str, int]) -> Ahead | None:
    better = findings.verdict.ahead_of(name) if findings.verdict else None
    return Ahead(better[0], places[better[0]], better[1]) if better else None


def _unranked(findings: Findings) -> list[RankingRow]:
    without = [standing for standing in findings.standings.ranked if not standing.means[str(findings.primary)].n]
    causes = {Unranked.WINDOW: findings.standings.windowed, Unranked.COVERAGE: findings.standings.uncovered, Unranked.VALUES: without}
    rows = [
        _finished(findings, standing, RankStatus.UNRANKED, cause=cause) for cause, standings in causes.items() for standing in standings
    ]
    order = list(causes)
    return sorted(rows, key=lambda row: (order.index(row.cause or Unranked.VALUES), row.window, -_quality(findings, row)))


class IntervalMark(NamedTuple):
    """Positions on an axis. `value` is None for a score beyond it; `below` and `above` say that a part lies beyond that end."""

    low: float
    value: float | None
    high: float
    below: bool
    above: bool


@dataclass(frozen=True)
class ScoreAxis:
    """An axis of scores from `low` to `high`, with the values of its ticks. Positions are per cent of its width."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """The position of a value, at an end for one beyond it."""
        inside = min(max(value, self.low), self.high)
        return round(_EDGE + (100 - 2 * _EDGE) * (inside - self.low) / (self.high - self.low), 2)

    def mark(self, mean: Mean) -> IntervalMark:
        """The positions of a score and its interval. Without bounds, they are the score's position."""
        low, high = (mean.low, mean.high) if math.isfinite(mean.low) and math.isfinite(mean.high) else (mean.value, mean.value)
        value = self.at(mean.value) if self.low <= mean.value <= self.high else None
        return IntervalMark(self.at(low), value, self.at(high), low < self.low, high > self.high)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Round values inside the axis."""
        step = _step((self.high - self.low) / (_MOST_TICKS - 1))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(round(number * step, self.digits) for number in range(first, last + 1))

    @property
    def digits(self) -> int:
        """The decimals that tell the ticks apart."""
        return max(0, -math.floor(math.log10(_step((self.high - self.low) / (_MOST_TICKS - 1))) + 1e-9))


def score_axis(findings: Findings, rows: Sequence[RankingRow]) -> ScoreAxis:
    """The axis of the scores and intervals of `rows`: of those that may be best, and of others that are not much further away.

    One far configuration would turn the intervals of all others into dots. It is shown at the edge.
    """
    scored = [row for row in rows if row.mean is not None and math.isfinite(row.mean.value)]
    core = [row for row in scored if row.status in (*BEST, RankStatus.UNTESTED) or row.reference] or scored[:1]
    low, high = _hull(core)
    if findings.primary.proportion:
        missing = max(0.0, _LEAST_SPAN - (high - low))
        above = min(missing / 2, max(0.0, 1 - high))
        low, high = max(low - (missing - above), min(low, 0.0)), high + above
    elif high == low:
        low, high = low - (abs(low) or 1) / 10, high + (abs(high) or 1) / 10
    limit = _SPANS * (high - low)
    for row in sorted(scored, key=lambda row: abs((row.mean.value if row.mean else 0) - (low + high) / 2)):
        below, above = _hull([row])
        if max(high, above) - min(low, below) <= limit:
            low, high = min(low, below), max(high, above)
    return ScoreAxis(low, high)


def _hull(rows: Sequence[RankingRow]) -> tuple[float, float]:
    """The smallest and the largest of the scores and bounds of rows."""
    values = [bound for row in rows if row.mean for bound in (row.mean.low, row.mean.value, row.mean.high) if math.isfinite(bound)]
    return min(values, default=0.0), max(values, default=1.0)


def _step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
