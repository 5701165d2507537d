"""The verdict on an experiment: the best configuration by the primary metric, and the confidence in it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
from statsmodels.stats.power import TTestPower

from workbench.core.display import table_html
from workbench.core.formatting import plural
from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.statistics.clusters import units
from workbench.statistics.comparison import Comparison, comparisons, p_values
from workbench.statistics.pairs import Pairs, all_pairs
from workbench.statistics.randomisation import randomise, unrejected
from workbench.statistics.selection import CorrectedLeader, corrected_first

SEED = 6
FEWEST_QUERIES = 30
MOST_QUERIES = 100_000
# Six queries find an effect of 1.5 standard deviations.
_FEWEST_NEEDED, _LARGE_EFFECT = 6, 1.5
_NORMAL = 2.8016  # the sum of the quantiles at .975 and .8
CONDITIONAL = "for questions about these documents only"
METHODS = (
    "differences: the same questions in pairs, clustered by source document (CR2 with Satterthwaite's degrees of freedom)",
    "p: clustered paired t test; beside it sign flips of whole documents' sums (9,999, or all where 16 or fewer differ)",
    "corrected p: max-T over the family by the same flips, step-down (Westfall and Young); beside it Holm",
    "tie set: no other is better, one-sided max-T at 2.5 % for each configuration (Mogstad et al., Hsu), if a paired t test agrees",
    "corrected value of the leader: chosen on one half of the documents, measured on the other, 200 splits",
    "questions needed: 80 % power, two-sided paired t test at 5 %, with the observed difference and its clustered spread",
)


class Reason(StrEnum):
    """The reason for not naming a winner."""

    IDENTICAL = "identical"
    FEW = "fewer than 30 questions"
    TIED = "statistically indistinguishable"
    ALONE = "one configuration"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusions about configurations, based on one metric.

    `ranked` lists the configurations with a score, best mean first. `best` is the tie set in that order, which contains the true best
    with at least 95 % confidence. `winner` is its only member, or None for the reason in `reason`. `selected` describes the leader,
    `ranked[0]`. `needed` is the number of queries that would distinguish the first two, or None if the difference or its error is 0 or
    unknown. `n` is the number of queries with a value for all configurations. `conditional` is True if there are so few documents that
    the verdict only covers questions about these documents.
    """

    metric: str
    family: str
    methods: tuple[str, ...]
    ranked: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    best: tuple[str, ...]
    winner: str | None
    reason: Reason | None
    selected: CorrectedLeader | None
    needed: int | None
    conditional: bool
    n: int
    clusters: int

    def __repr__(self) -> str:
        return f"Verdict({self})"

    def __str__(self) -> str:
        if self.winner:
            return f"{self.winner} wins by {self.metric}"
        tied = f"the tie set is {', '.join(self.best)}" if self.reason is Reason.TIED else str(self.reason)
        return f"no winner by {self.metric}: {tied}"

    def _repr_html_(self) -> str:
        rows = [{"configuration": name, "in the tie set": "yes" if name in self.best else "no"} for name in self.ranked]
        return table_html(
            f"{str(self)[0].upper()}{str(self)[1:]}", rows, f"{plural(self.n, 'question')} in {plural(self.clusters, 'cluster')}."
        )

    def between(self, a: str, b: str) -> Comparison | None:
        """Return the comparison of two configurations in either order, or None if these two were not compared."""
        return next((row for row in self.comparisons if {row.a, row.b} == {a, b}), None)


def verdict(
    metric: str,
    values: Mapping[str, npt.ArrayLike],
    clusters: npt.ArrayLike,
    *,
    baseline: str | None = None,
    higher_is_better: bool = True,
    seed: int = SEED,
) -> Verdict:
    """Judge configurations by name, from their values (q, NaN if unscored) for the same queries in `clusters` (q).

    The family is all pairs, or all against the `baseline` if given. Configurations without any score are left out. The caller
    must leave out those that cannot be compared fairly. Equal inputs and seeds give equal verdicts.
    """
    sign = 1.0 if higher_is_better else -1.0
    names, scores, documents = _scored(values, np.asarray(clusters))
    scores, observed = sign * scores, units(documents)
    pairs = all_pairs(scores, observed.codes, documents)
    family = _family(pairs, names, baseline)
    tests = randomise(pairs, family, seed)
    indistinguishable = unrejected(tests.unbeaten, pairs, p_values(pairs, tests)[0])
    ranking = np.argsort(-np.nanmean(scores, axis=1), kind="stable")
    best = [place for place in ranking.tolist() if place in indistinguishable]
    n = int((~np.isnan(scores)).all(axis=0).sum())
    reason = _reason(pairs, best, n, len(names))
    selected = corrected_first(scores, observed.codes, names, seed)
    return Verdict(
        metric=metric,
        family="all pairs" if baseline is None else f"against {baseline}",
        methods=METHODS + ((CONDITIONAL,) if observed.conditional else ()),
        ranked=tuple(names[place] for place in ranking),
        comparisons=tuple(comparisons(pairs, tests, family, names, sign)),
        best=tuple(names[place] for place in best),
        winner=names[best[0]] if reason is None else None,
        reason=reason,
        selected=replace(selected, value=sign * selected.value) if selected else None,
        needed=_needed(pairs, ranking),
        conditional=observed.conditional,
        n=n,
        clusters=observed.clusters,
    )


def queries_needed(difference: float, error: float, n: int) -> int | None:
    """The number of queries at which a two-sided paired t test at 5 % finds a true difference of this size with 80 % power.

    The effect is d / sd, where sd = `error` · √n contains the design effect of clustering, `error` being the clustered standard error of
    the difference over `n` queries. Returns 100,001 for more than 100,000, and None if there is no difference or no known error.
    """
    if difference == 0 or not math.isfinite(error) or error <= 0 or n < 2:
        return None
    effect = abs(difference) / (error * math.sqrt(n))
    if effect >= _LARGE_EFFECT:
        return _FEWEST_NEEDED
    # The normal approximation. The t distribution requires about two more queries.
    if (_NORMAL / effect) ** 2 > MOST_QUERIES:
        return MOST_QUERIES + 1
    size = TTestPower().solve_power(effect_size=effect, alpha=0.05, power=0.8, alternative="two-sided")
    return min(math.ceil(float(size)), MOST_QUERIES + 1)


def _scored(values: Mapping[str, npt.ArrayLike], clusters: npt.NDArray[Any]) -> tuple[tuple[str, ...], Floats, Ints]:
    """The scored configurations (c), their values (c, q) on queries that any of them has a value for, and the queries' documents (q)."""
    rows = {name: np.asarray(row, dtype=np.float64) for name, row in values.items()}
    for name, row in rows.items():
        if row.shape != clusters.shape or np.isinf(row).any():
            raise InputError(f"{name} has {row.shape} values for {clusters.shape} clusters, or infinite ones", "give one finite value each")
    rows = {name: row for name, row in rows.items() if not np.isnan(row).all()}
    if not rows:
        raise InputError("no configuration has a value for any query", "there is nothing to compare")
    matrix = np.array(list(rows.values()))
    scored = ~np.isnan(matrix).all(axis=0)
    return tuple(rows), matrix[:, scored], np.unique(clusters[scored], return_inverse=True)[1].astype(np.int64)


def _family(pairs: Pairs, names: Sequence[str], baseline: str | None) -> Bools:
    if baseline is None:
        return pairs.n > 0
    if baseline not in names:
        raise InputError(f"the baseline {baseline!r} has no values", f"choose one of {', '.join(names)}")
    place = names.index(baseline)
    return np.asarray(((pairs.a == place) | (pairs.b == place)) & (pairs.n > 0))


def _reason(pairs: Pairs, best: Sequence[int], n: int, configurations: int) -> Reason | None:
    if configurations == 1:
        return Reason.ALONE
    among = np.isin(pairs.a, best) & np.isin(pairs.b, best)
    if len(best) > 1 and pairs.identical[among].all():
        return Reason.IDENTICAL
    if n < FEWEST_QUERIES:
        return Reason.FEW
    return None if len(best) == 1 else Reason.TIED


def _needed(pairs: Pairs, ranking: Ints) -> int | None:
    if len(ranking) < 2:
        return None
    (pair,) = np.flatnonzero((pairs.a == min(ranking[:2])) & (pairs.b == max(ranking[:2])))
    return queries_needed(float(pairs.mean[pair]), float(pairs.error[pair]), int(pairs.n[pair]))
