"""The verdict on an experiment: which configuration is best by the metric that decides, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from workbench.errors import InputError
from workbench.metrics.coverage import Bools, Floats, Ints
from workbench.statistics.clusters import Units, units
from workbench.statistics.comparison import Comparison, comparisons, p_values
from workbench.statistics.pairs import Pairs, all_pairs
from workbench.statistics.power import queries_needed
from workbench.statistics.resampling.best_set import unrejected
from workbench.statistics.resampling.randomisation import randomise
from workbench.statistics.resampling.selection import corrected_first

SEED = 6
FEWEST_QUERIES = 30
CONDITIONAL = "over questions of these documents only"
METHODS = (
    "differences: the same questions in pairs, clustered by source document (CR2 with Satterthwaite's degrees of freedom)",
    "p: clustered paired t test; beside it sign flips of whole documents' sums (9,999, or all where 16 or fewer differ)",
    "corrected p: max-T over the family by the same flips, step-down (Westfall and Young); beside it Holm",
    "tie set: no other is better, one-sided max-T at 2.5 % for each configuration (Mogstad et al., Hsu), if a paired t test agrees",
    "corrected value of the leader: chosen on one half of the documents, measured on the other, 200 splits",
    "questions needed: 80 % power, two-sided paired t test at 5 %, the difference and its clustered spread as they are here",
)


class Reason(StrEnum):
    """Why there is no winner."""

    IDENTICAL = "identical"
    FEW = "fewer than 30 questions"
    TIED = "statistically indistinguishable"
    ALONE = "one configuration"


@dataclass(frozen=True, slots=True)
class Selected:
    """The first's `value` without the luck of being first, the `optimism` of the plain mean, and the share of halves each came first on."""

    value: float
    optimism: float
    chosen: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be said about configurations by one metric.

    `ranked`: those with a score, the best mean first. `best`: those that cannot be told from the best, in that order; they hold the
    true best with at least 95 %. `winner` is its only member, else None and `reason` says why. `selected` is about `ranked[0]`.
    `needed` queries would tell the first two apart (None: nothing to tell; see `power.needed_text`). `n` queries have a value for all
    of them. `conditional`: documents are too few, so that all this holds over questions of these documents only.
    """

    metric: str
    family: str
    methods: tuple[str, ...]
    ranked: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    best: tuple[str, ...]
    winner: str | None
    reason: Reason | None
    selected: Selected | None
    needed: int | None
    conditional: bool
    n: int
    clusters: int

    def between(self, a: str, b: str) -> Comparison | None:
        """The comparison of two configurations, whichever way round it is kept; None where the family has none."""
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
    """The verdict on configurations by name, each with its values (q, NaN where unscored) of the same queries in `clusters` (q).

    The family is all pairs, or all against the `baseline` where one is given. Configurations without any score are left out, and so
    should be, by the caller, those that cannot be compared fairly. Equal inputs and seeds give equal verdicts.
    """
    found = _bench(values, clusters, 1.0 if higher_is_better else -1.0)
    pairs = all_pairs(found.values, found.observed.codes, found.documents)
    family = _family(pairs, found.names, baseline)
    tests = randomise(pairs, family, seed)
    unbeaten = unrejected(tests.unbeaten, pairs, p_values(pairs, tests)[0])
    ranking = np.argsort(-np.nanmean(found.values, axis=1), kind="stable")
    best = [int(one) for one in ranking if one in unbeaten]
    n = int((~np.isnan(found.values)).all(axis=0).sum())
    reason = _reason(pairs, best, n, len(found.names))
    return Verdict(
        metric=metric,
        family="all pairs" if baseline is None else f"against {baseline}",
        methods=METHODS + ((CONDITIONAL,) if found.observed.conditional else ()),
        ranked=tuple(found.names[one] for one in ranking),
        comparisons=tuple(comparisons(pairs, tests, family, found.names, found.sign)),
        best=tuple(found.names[one] for one in best),
        winner=found.names[best[0]] if reason is None else None,
        reason=reason,
        selected=_selected(found, seed),
        needed=_needed(pairs, ranking),
        conditional=found.observed.conditional,
        n=n,
        clusters=found.observed.clusters,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Bench:
    """`values` (c, q) times `sign`, so that higher is better, of queries that anyone has a value for."""

    names: tuple[str, ...]
    values: Floats
    observed: Units
    documents: Ints
    sign: float


def _bench(values: Mapping[str, npt.ArrayLike], clusters: npt.ArrayLike, sign: float) -> _Bench:
    groups = np.asarray(clusters)
    rows = {name: np.asarray(row, dtype=np.float64) for name, row in values.items()}
    for name, row in rows.items():
        if row.shape != groups.shape or np.isinf(row).any():
            raise InputError(f"{name} has {row.shape} values for {groups.shape} clusters, or infinite ones", "give one for each query")
    rows = {name: row for name, row in rows.items() if not np.isnan(row).all()}
    if not rows:
        raise InputError("no configuration has a value for any query", "there is nothing to compare")
    matrix = np.array(list(rows.values()))
    scored = ~np.isnan(matrix).all(axis=0)
    documents = np.unique(groups[scored], return_inverse=True)[1].astype(np.int64)
    return _Bench(tuple(rows), sign * matrix[:, scored], units(documents), documents, sign)


def _family(pairs: Pairs, names: Sequence[str], baseline: str | None) -> Bools:
    if baseline is None:
        return pairs.n > 0
    if baseline not in names:
        raise InputError(f"the baseline {baseline!r} has no values", f"choose one of {', '.join(names)}")
    one = names.index(baseline)
    against: Bools = (pairs.a == one) | (pairs.b == one)
    return against & (pairs.n > 0)


def _reason(pairs: Pairs, best: Sequence[int], n: int, configurations: int) -> Reason | None:
    if configurations == 1:
        return Reason.ALONE
    among = np.isin(pairs.a, best) & np.isin(pairs.b, best)
    if len(best) > 1 and pairs.identical[among].all():
        return Reason.IDENTICAL
    if n < FEWEST_QUERIES:
        return Reason.FEW
    return None if len(best) == 1 else Reason.TIED


def _selected(found: _Bench, seed: int) -> Selected | None:
    corrected = corrected_first(found.values, found.observed.codes, seed)
    if corrected is None:
        return None
    return Selected(found.sign * corrected.value, corrected.optimism, dict(zip(found.names, corrected.chosen, strict=True)))


def _needed(pairs: Pairs, ranking: Ints) -> int | None:
    if len(ranking) < 2:
        return None
    (pair,) = np.flatnonzero((pairs.a == min(ranking[:2])) & (pairs.b == max(ranking[:2])))
    return queries_needed(float(pairs.mean[pair]), float(pairs.error[pair]), int(pairs.n[pair]))
