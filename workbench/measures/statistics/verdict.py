"""The verdict on an experiment: the best configuration by the primary metric, and the confidence in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from workbench.core.errors import InputError
from workbench.core.text.display import table_html
from workbench.core.text.formatting import capitalised, number
from workbench.measures.metrics.coverage import Bools, Floats
from workbench.measures.statistics.clusters import CONDITIONAL, FEWEST_FOR_WINNER, Clusters
from workbench.measures.statistics.comparison import Comparison, comparisons, widened_margin
from workbench.measures.statistics.intervals import ALPHA, by_unit, counts_text, mean_intervals, robust
from workbench.measures.statistics.pairs import SMALLEST_DIFFERENCE, Detectable, Pairs, all_pairs, detectable
from workbench.measures.statistics.randomisation import FLIPS, Randomised, randomise, unrejected

_SPLITS = 200

SEED = 6

FEWEST_QUERIES = 30

METHODS = (
    "differences: the same questions in pairs, clustered by source document (CR2 with Satterthwaite's degrees of freedom), and at least "
    "the error for questions that share a document",
    "p: clustered paired t test; beside it sign flips of whole documents' sums (9,999, or all where 16 or fewer differ)",
    "corrected p: max-T over the family by the same flips, step-down (Westfall and Young), with t corrected for skew (Johnson), and 1 where fewer "
    "than 5 questions are against a difference that total losses on 3 more would undo; beside it Holm",
    "tie set: no other is better, by the same max-T over all pairs in steps at 5 %, if a paired t test agrees; with a baseline that nothing is shown to "
    "beat at 2.5 %, and without a baseline that something is shown to beat",
    "simultaneous intervals: t intervals at the level at which all of the family hold at once in 95 % of flips of what remains without the means, or "
    "Bonferroni's, which is the level if a few large documents dominate",
    "corrected value of the leader: chosen on one half of the documents, measured on the other, 200 splits; its interval is the leader's own, "
    "with the lower end moved down by the optimism",
    "unscored questions: a configuration that would be in the tie set, if its unscored values were the best possible and those of the others the worst, "
    "is in it",
    "smallest difference that these questions show: 80 % power at the level of the simultaneous intervals",
    "equivalent: the simultaneous interval is inside plus and minus the smallest difference that matters, also with bounds corrected for skew, and after "
    "total losses of as many documents as may not have been seen",
)


@dataclass(frozen=True, slots=True)
class CorrectedLeader:
    """The leader's corrected `value` with a 95 % interval, and the `optimism` of the plain mean, in the metric's direction of better.

    `chosen` is the share of halves on which each configuration is first. Ties share it.
    """

    value: float
    low: float
    high: float
    optimism: float
    chosen: Mapping[str, float]


def corrected_first(values: Floats, clusters: Clusters, names: Sequence[str], seed: int, sign: float = 1.0) -> CorrectedLeader | None:
    """Choose the leader on a random half of the clusters, measure it on the other half and vice versa, and average over 200 splits.

    `values` (c, q; higher is better, NaN if unscored) of configurations `names` (c), for queries in `clusters` (q). None with fewer than
    two clusters. `sign` is -1 if the values are negated; it turns the result back. This is cross-validation (Stone 1974). Half the
    questions choose slightly worse than all, so the value is biased downwards. Halves that share documents have a part of their luck in
    common, so their optimism is multiplied by `_underestimated`. The interval is the leader's own with its lower end
    moved by the optimism: the choice of the highest mean can only flatter.
    """
    values, clusters = clusters.averaged(values)
    codes, count = clusters.codes, int(clusters.codes.max(initial=-1)) + 1
    if count < 2:
        return None
    scored = ~np.isnan(values)
    sums, sizes = by_unit(np.where(scored, values, 0.0), codes).T, by_unit(scored.astype(np.float64), codes).T
    order = np.random.default_rng(seed).random((_SPLITS, count)).argsort(axis=1)
    half = (order < count // 2).astype(np.float64)
    firsts, seconds = _firsts(half, sums, sizes), _firsts(1 - half, sums, sizes)
    total = (firsts * ((1 - half) @ sums) + seconds * (half @ sums)).sum(axis=1)
    weight = (firsts * ((1 - half) @ sizes) + seconds * (half @ sizes)).sum(axis=1)
    if not weight.all():
        return None
    means = np.where(sizes.any(axis=0), sums.sum(axis=0) / np.maximum(sizes.sum(axis=0), 1), -np.inf)
    first = int(means.argmax())
    optimism = _underestimated(values, clusters) * (float(means.max()) - float((total / weight).mean()))
    value = float(means.max()) - optimism
    low, high = _bounds(sign * values[first], clusters, sign * max(0.0, optimism))
    chosen = dict(zip(names, ((firsts + seconds) / 2).mean(axis=0).tolist(), strict=True))
    return CorrectedLeader(sign * value, min(low, sign * value), max(high, sign * value), optimism, chosen)


def _bounds(values: Floats, clusters: Clusters, optimism: float) -> tuple[float, float]:
    """The interval of the leader's values (q, NaN if unscored), with the end that flatters moved by the `optimism` (negative if lower is better)."""
    scored = ~np.isnan(values)
    bounded = bool(((values[scored] >= 0) & (values[scored] <= 1)).all())
    own = mean_intervals(values[scored][None], clusters[scored], proportion=np.array([bounded]))[0]
    ends = own.low - max(0.0, optimism), own.high - min(0.0, optimism)
    low, high = np.clip(ends, 0, 1).tolist() if bounded else ends
    return low, high


def _underestimated(values: Floats, clusters: Clusters) -> float:
    """The factor by which halves that share documents show too little optimism, 1 if none do.

    Let a mean's error, apart from what all configurations have in common, have the variance p + s, s from shared documents. All questions
    choose with luck of √(p + s). A half has the variance 2p + s and s in common with the other half, where s / √(2p + s) of its luck remains.
    """
    means = robust(values - np.nanmean(values, axis=0), clusters)
    known = means.alone > 0
    shared = max(0.0, float(((means.error[known] / means.alone[known]) ** 2).mean()) - 1) if known.any() else 0.0
    return float(np.sqrt(1 + shared) / (np.sqrt(1 + shared) - shared / np.sqrt(2 + shared)))


def _firsts(members: Floats, sums: Floats, sizes: Floats) -> Floats:
    """1 for the configuration with the highest mean over the `members` (splits, clusters), divided among ties. Shape (splits, c)."""
    counts = members @ sizes
    means = np.divide(members @ sums, counts, out=np.full(counts.shape, -np.inf), where=counts > 0)
    first = (means >= means.max(axis=1, keepdims=True) - 1e-12) & np.isfinite(means)
    return np.asarray(first / np.maximum(first.sum(axis=1, keepdims=True), 1))


class Reason(StrEnum):
    """The reason for not naming a winner."""

    DRAFTS = "drafts that nobody has accepted"
    IDENTICAL = "identical"
    FEW = "fewer than 30 questions"
    FEW_DOCUMENTS = "fewer than 10 documents"
    TIED = "statistically indistinguishable"
    EQUIVALENT = "equivalent"
    MISSING = "unscored questions could change it"
    ALONE = "one configuration"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The conclusions about configurations, based on one metric.

    `ranked` lists the configurations with a score, best mean first. `best` is the tie set in that order, which contains every true best
    with at least 95 % confidence, and not a baseline that a comparison shows to be worse. `comparisons` are those of the family: all pairs, or all with the baseline. `pairs` has every pair once, in
    the one family that it belongs to: pairs with the baseline as in `comparisons`, others corrected for all pairs. `behind` are the
    configurations outside the tie set for which the corrected p of a comparison with a better one is at most .05.
    `equivalent` is the tie set if all of its pairs are `shown_equivalent`, else empty: any of these will do. `winner` is the only member of
    the tie set, or None for the reason in `reason`. A winner can be equivalent to others: it is better, by less than matters. `selected` describes
    the leader, `ranked[0]`. `power` is the smallest difference between it and the baseline, or the second, that these questions can show. `n`
    is the number of queries with a value for all configurations. `conditional` is empty, or says that the verdict covers only other questions
    on the same corpus.
    """

    metric: str
    family: str
    methods: tuple[str, ...]
    smallest_difference: float
    ranked: tuple[str, ...]
    comparisons: tuple[Comparison, ...]
    pairs: tuple[Comparison, ...]
    best: tuple[str, ...]
    equivalent: tuple[str, ...]
    behind: tuple[str, ...]
    winner: str | None
    reason: Reason | None
    selected: CorrectedLeader | None
    power: Detectable | None
    conditional: str
    n: int
    clusters: int

    def __repr__(self) -> str:
        return f"Verdict({self})"

    def __str__(self) -> str:
        if self.winner:
            return f"{self.winner} wins by {self.metric}"
        if self.equivalent:
            return f"no winner by {self.metric}: {', '.join(self.equivalent)} are equivalent within ±{number(self.smallest_difference)}"
        known = self.reason in (Reason.TIED, Reason.MISSING)
        tied = f"the tie set is {', '.join(self.best)}" if known else str(self.reason)
        return f"no winner by {self.metric}: {tied}"

    def _repr_html_(self) -> str:
        rows = [{"configuration": name, "in the tie set": "yes" if name in self.best else "no"} for name in self.ranked]
        return table_html(capitalised(str(self)), rows, f"{counts_text(self.n, self.clusters)}.")

    @property
    def enough(self) -> bool:
        """True if questions and documents suffice for any claim about a difference, and all questions are accepted."""
        return enough(self.n, self.clusters) and self.reason is not Reason.DRAFTS

    def between(self, a: str, b: str) -> Comparison | None:
        """Return the comparison a - b in its family, or None if these two were not compared."""
        pair = next((row for row in self.pairs if (row.a, row.b) in ((a, b), (b, a))), None)
        return pair if pair is None or pair.a == a else pair.reversed()

    def shown_equivalent(self, pair: Comparison) -> bool:
        """Check that a comparison shows a difference that is smaller than `smallest_difference` in either direction, with 95 % confidence.

        This is stricter than two one-sided tests (Schuirmann 1987), which have a 90 % interval. A difference can be significant as well. Raises no
        claim with fewer than 30 questions or 10 documents, or on drafts.
        """
        return self.enough and pair.equivalence_margin < self.smallest_difference

    def ahead_of(self, name: str, besides: str = "") -> tuple[str, float] | None:
        """Return the better configuration with the smallest corrected p, and that p. None unless it is at most .05. `besides` is left out."""
        rows = [row if row.a == name else row.reversed() for row in self.pairs if name in (row.a, row.b) and besides not in (row.a, row.b)]
        better = [(row.p_adjusted, row.b) for row in rows if row.p_adjusted <= ALPHA and self.ranked.index(row.b) < self.ranked.index(name)]
        return (min(better)[1], min(better)[0]) if better else None


def verdict(
    metric: str,
    values: Mapping[str, npt.ArrayLike],
    clusters: Clusters | npt.ArrayLike,
    *,
    baseline: str | None = None,
    higher_is_better: bool = True,
    smallest_difference: float = SMALLEST_DIFFERENCE,
    seed: int = SEED,
    flips: int = FLIPS,
) -> Verdict:
    """Judge configurations by name, from their values (q, NaN if unscored) for the same queries in `clusters` (q).

    The family is all pairs, or all against the `baseline` if given. Configurations without any score are left out. The caller
    must leave out those that cannot be compared fairly. Equal inputs give equal verdicts.
    """
    sign = 1.0 if higher_is_better else -1.0
    names, scores, observed = _scored(values, Clusters.of(clusters))
    scores = sign * scores
    pairs = all_pairs(scores, observed)
    family, every = _family(pairs, names, baseline), pairs.n > 0
    tests = randomise(pairs, family, seed, flips)
    chosen = tuple(comparisons(pairs, tests, family, names, sign))
    indistinguishable = _tie_set(tests, pairs, chosen, names, baseline, sign)
    own = {(row.a, row.b): row for row in chosen}
    pairwise = chosen if baseline is None else tuple(comparisons(pairs, randomise(pairs, every, seed, flips), every, names, sign))
    pairwise = tuple(own.get((row.a, row.b), row) for row in pairwise)
    worse = {row.b if sign * row.difference.value > 0 else row.a for row in pairwise if row.p_adjusted <= ALPHA}
    ranking = np.argsort(-np.nanmean(observed.averaged(scores)[0], axis=1), kind="stable")
    best = [index for index in ranking.tolist() if index in indistinguishable]
    n = int((~np.isnan(scores)).all(axis=0).sum())
    reason = _reason(pairs, best, n, observed, len(names))
    judged = Verdict(
        metric=metric,
        family="all pairs" if baseline is None else f"against {baseline}",
        methods=METHODS,
        smallest_difference=smallest_difference,
        ranked=tuple(names[index] for index in ranking),
        comparisons=chosen,
        pairs=pairwise,
        best=tuple(names[index] for index in best),
        equivalent=(),
        behind=tuple(names[index] for index in ranking if names[index] in worse and index not in best),
        winner=names[best[0]] if reason is None else None,
        reason=reason,
        selected=corrected_first(scores, observed, names, seed, sign),
        power=_power(pairs, ranking.tolist(), names, baseline, tests.level, smallest_difference),
        conditional=CONDITIONAL if pairs.conditional.any() else "",
        n=n,
        clusters=observed.count,
    )
    return _with_equivalent(judged)


def _tie_set(
    tests: Randomised, pairs: Pairs, chosen: Sequence[Comparison], names: Sequence[str], baseline: str | None, sign: float
) -> set[int]:
    """The positions of the tie set. With a baseline it shares its 5 % with the claims that something is better than the baseline.

    Such a claim, at a one-sided 2.5 %, puts the baseline outside the set. If there is one, the others have the whole 5 %, since the claim is right or
    the error is made. Else the set has the other 2.5 %.
    """
    if baseline is None:
        return set(unrejected(tests, pairs).tolist())
    gains = [sign * row.difference.value * (1 if row.b == baseline else -1) for row in chosen if row.p_adjusted <= ALPHA]
    if not any(gain > 0 for gain in gains):
        return set(unrejected(tests, pairs, ALPHA / 2).tolist())
    tied = set(unrejected(tests, pairs).tolist())
    return tied - {names.index(baseline)} or tied


def _with_equivalent(judged: Verdict) -> Verdict:
    """Add the reason that the members of the tie set are equivalent, if they are statistically indistinguishable and all of their pairs show it."""
    among = [row for row in judged.pairs if {row.a, row.b} <= set(judged.best)]
    if judged.reason is Reason.TIED and all(map(judged.shown_equivalent, among)):
        return replace(judged, reason=Reason.EQUIVALENT, equivalent=judged.best)
    return judged


def enough(n: int, clusters: int) -> bool:
    """Check that this many queries, from this many documents, allow any claim about a difference."""
    return n >= FEWEST_QUERIES and clusters >= FEWEST_FOR_WINNER


def _scored(values: Mapping[str, npt.ArrayLike], clusters: Clusters) -> tuple[tuple[str, ...], Floats, Clusters]:
    """The scored configurations (c), their values (c, q) on queries that any of them has a value for, and the queries' clusters (q)."""
    rows = {name: np.asarray(row, dtype=np.float64) for name, row in values.items()}
    for name, row in rows.items():
        if row.shape != (len(clusters),) or np.isinf(row).any():
            raise InputError(f"{name} has {row.shape} values for {len(clusters)} clusters, or infinite ones", "give one finite value each")
    rows = {name: row for name, row in rows.items() if not np.isnan(row).all()}
    if not rows:
        raise InputError("no configuration has a value for any query", "there is nothing to compare")
    matrix = np.array(list(rows.values()))
    scored = ~np.isnan(matrix).all(axis=0)
    return tuple(rows), matrix[:, scored], clusters[scored]


def _family(pairs: Pairs, names: Sequence[str], baseline: str | None) -> Bools:
    if baseline is None:
        return pairs.n > 0
    if baseline not in names:
        raise InputError(f"the baseline {baseline!r} has no values", f"choose one of {', '.join(names)}")
    index = names.index(baseline)
    return np.asarray(((pairs.a == index) | (pairs.b == index)) & (pairs.n > 0))


def _power(
    pairs: Pairs, ranking: Sequence[int], names: Sequence[str], baseline: str | None, level: float, smallest: float
) -> Detectable | None:
    """The power for the leader and the baseline, or the second without a baseline or if it leads."""
    if len(ranking) < 2:
        return None
    other = names.index(baseline) if baseline is not None else ranking[0]
    a, b = sorted([ranking[0], ranking[1] if other == ranking[0] else other])
    (pair,) = np.flatnonzero((pairs.a == a) & (pairs.b == b)).tolist()
    return detectable(pairs, pair, names, level, smallest)


def _reason(pairs: Pairs, best: Sequence[int], n: int, clusters: Clusters, configurations: int) -> Reason | None:
    if configurations == 1:
        return Reason.ALONE
    if not clusters.tested:
        return Reason.DRAFTS
    among = np.isin(pairs.a, best) & np.isin(pairs.b, best)
    if len(best) > 1 and pairs.identical[among].all():
        return Reason.IDENTICAL
    if not enough(n, clusters.count):
        return Reason.FEW if n < FEWEST_QUERIES else Reason.FEW_DOCUMENTS
    return None if len(best) == 1 else Reason.TIED


Judge = Callable[[Mapping[str, Floats]], Verdict]


def with_unscored(
    original: Verdict,
    values: Mapping[str, Floats],
    unscored: Mapping[str, Bools],
    clusters: Clusters,
    judge: Judge,
    bounds: tuple[float, float],
) -> Verdict:
    """Add to the tie set every configuration that would be in it if the unscored values were those most favourable to it.

    A configuration could otherwise win by having no value for the questions on which it is worse. Margins of equivalence are widened as if all
    unscored questions of a pair were lost on one side. The values (q) of the configurations are NaN where they are `unscored` (q), for queries in `clusters` (q).
    `judge` gives the verdict on other values. `bounds` are the worst and the best possible value.

    References
    ----------
    Horowitz and Manski (2000), Nonparametric analysis of randomized experiments with missing covariate and outcome data, JASA 95.
    """
    if original.reason is Reason.DRAFTS or not any(unscored[name].any() for name in original.ranked):
        return original
    outside = [name for name in original.ranked if name not in original.best]
    worst, best_value = bounds
    possible = set()
    for favoured in outside:
        # The best possible value for the unscored questions of a configuration, and the worst for those of the others.
        filled = {name: np.where(unscored[name], best_value if name == favoured else worst, row) for name, row in values.items()}
        possible |= {favoured} & set(judge(filled).best)
    known = {name: unscored[name] | ~np.isnan(row) for name, row in values.items()}

    def widened(pair: Comparison) -> Comparison:
        lost = known[pair.a] & known[pair.b] & (unscored[pair.a] | unscored[pair.b])
        margin = widened_margin(pair, values[pair.a] - values[pair.b], lost, clusters, abs(best_value - worst))
        return replace(pair, equivalence_margin=margin)

    reason = Reason.TIED if original.equivalent else original.reason
    if possible and reason in (None, Reason.IDENTICAL):
        reason = Reason.MISSING
    return _with_equivalent(
        replace(
            original,
            comparisons=tuple(map(widened, original.comparisons)),
            pairs=tuple(map(widened, original.pairs)),
            best=tuple(name for name in original.ranked if name in {*original.best, *possible}),
            behind=tuple(name for name in original.behind if name not in possible),
            equivalent=(),
            winner=None if possible else original.winner,
            reason=reason,
        )
    )
