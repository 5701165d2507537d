"""How often a gate fails an unchanged commit, passes a drop of its whole margin, and notices a drop, beside an oracle that knows the standard error.

`python -m benchmarks.gate_error_rates 1000` prints the tables of docs/statistics.md.
"""

import itertools
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from workbench.measures.metrics.coverage import Bools, Floats, Ints
from workbench.measures.statistics.clusters import Clusters
from workbench.measures.statistics.decisions import ALARM, CONFIRM, Decision, PairedTest, Values, average, paired_test, second_stage

BASE, TOLERANCE, DROP = 0.8, 0.05, 0.08
COMMITS, BASELINE_RUNS = 50, 3
SIZES, FLIPS = (50, 100, 300), (0.0, 0.02, 0.10)
# The documents of n questions, in worlds with clusters.
QUESTIONS_A_DOCUMENT = 4
# The part of the latent variance of an outcome that belongs to one arm alone.
_ARM = 0.1


@dataclass(frozen=True)
class GateWorld:
    """Binary outcomes of `n` questions, judged with a flip rate of `flips`.

    With clusters, documents have a fifth of the latent variance, and their effects on one arm a twentieth. `unequal`: Zipf sizes of documents. `skewed`: a drop is a
    total loss of a few documents. `base` is the baseline's rate.
    """

    n: int
    flips: float
    clustered: bool = False
    unequal: bool = False
    skewed: bool = False
    documents: int = 0
    base: float = BASE

    @property
    def margin(self) -> float:
        """The margin on the judge's scale: 1 - 2f = TPR + TNR - 1 of its true value."""
        return self.base * TOLERANCE * (1 - 2 * self.flips)

    @property
    def count(self) -> int:
        """The number of documents."""
        return (self.documents or max(10, self.n // QUESTIONS_A_DOCUMENT)) if self.clustered else self.n

    def codes(self, random: np.random.Generator) -> Ints:
        """Return the document of each question. Shape (n,)."""
        count = self.count
        if not self.unequal:
            return np.arange(self.n) % count
        chances = 1 / np.arange(1, count + 1)
        rest = random.choice(count, self.n - count, p=chances / chances.sum())
        return np.concatenate([np.arange(count), rest])

    def truths(self, codes: Ints, drop: float, random: np.random.Generator) -> tuple[Bools, Bools]:
        """Return the true outcomes of the baseline and of a candidate whose rate is lower by `drop`. A commit that changes nothing has drop 0."""
        document, arm = (0.2, 0.05) if self.clustered else (0.0, 0.0)
        question = 1 - document - arm - _ARM
        common = self._normal(random)[codes] * document**0.5 + self._normal(random) * question**0.5
        arms = [common + self._normal(random)[codes] * arm**0.5 + self._normal(random) * _ARM**0.5 for _ in range(2)]
        before = arms[0] < special.ndtri(self.base)
        if drop == 0:
            return before, before
        if self.skewed:
            lost = random.random(self.n)[codes] < drop / self.base
            return before, before & ~lost
        return before, arms[1] < special.ndtri(self.base - drop)

    def _normal(self, random: np.random.Generator) -> Floats:
        return random.normal(size=self.n)

    def run(self, truth: Bools, random: np.random.Generator) -> Floats:
        """Return the judgements of one run. Shape (n,)."""
        return (truth ^ (random.random(self.n) < self.flips)).astype(np.float64)


@dataclass(frozen=True)
class Rates:
    """The shares of outcomes over repetitions: of unchanged commits, of histories with an alarm or a failure, at a drop of M, and at `DROP` for gate and oracle."""

    world: GateWorld
    repetitions: int
    false_fail: float
    alarmed: float
    history: float
    undecided: float
    false_pass: float
    power: float
    oracle: float


def simulated(world: GateWorld, repetitions: int, histories: int) -> Rates:
    """Simulate a world."""
    seed = [world.n, round(1000 * world.flips), world.clustered, world.unequal, world.skewed, world.documents, round(1000 * world.base)]
    random = np.random.default_rng(seed)
    past = [_history(world, random) for _ in range(histories)]
    drops = world.base * TOLERANCE, DROP
    at_margin, at_drop = ([_commit(world, drop, random) for _ in range(repetitions)] for drop in drops)
    commits = [outcome for history in past for outcome, _ in history]
    return Rates(
        world,
        repetitions,
        false_fail=_share(commits, Decision.FAIL),
        alarmed=float(np.mean([any(alarm for _, alarm in history) for history in past])),
        history=float(np.mean([any(outcome is Decision.FAIL for outcome, _ in history) for history in past])),
        undecided=_share(commits, Decision.UNDECIDED),
        false_pass=_share([outcome for outcome, _, _ in at_margin], Decision.PASS),
        power=_share([outcome for outcome, _, _ in at_drop], Decision.FAIL),
        oracle=_oracle(world, np.array([stages for _, _, stages in at_drop])),
    )


def _history(world: GateWorld, random: np.random.Generator) -> list[tuple[Decision, bool]]:
    """The outcomes of unchanged commits against one baseline, each with whether there was an alarm."""
    codes = world.codes(random)
    truth, _ = world.truths(codes, 0, random)
    clusters, baseline = Clusters.of(codes), _mean_run(world, truth, random)
    return [_outcome(world, clusters, baseline, truth, truth, random)[:2] for _ in range(COMMITS)]


def _commit(world: GateWorld, drop: float, random: np.random.Generator) -> tuple[Decision, bool, tuple[float, float]]:
    """The outcome of a commit, whether there was an alarm, and the differences of its two stages."""
    codes = world.codes(random)
    before, after = world.truths(codes, drop, random)
    return _outcome(world, Clusters.of(codes), _mean_run(world, before, random), before, after, random)


def _outcome(
    world: GateWorld, clusters: Clusters, baseline: Floats, before: Bools, after: Bools, random: np.random.Generator
) -> tuple[Decision, bool, tuple[float, float]]:
    candidate = _values(world.run(after, random))
    first = _test(world, candidate, _values(baseline), clusters, ALARM)
    again = _values(world.run(after, random)), _values(world.run(before, random))
    differences = first.difference, float((again[0].values - again[1].values).mean())
    if world.flips == 0 or first.outcome is not Decision.FAIL:
        return first.outcome, False, differences
    second = _test(world, *again, clusters, CONFIRM)
    both = _test(world, average(candidate, again[0]), average(_values(baseline), again[1]), clusters, CONFIRM)
    return second_stage(first, second, both).outcome, True, differences


def _test(world: GateWorld, candidate: Values, baseline: Values, clusters: Clusters, level: float) -> PairedTest:
    same = bool((candidate.values == baseline.values).all())
    return paired_test(candidate, baseline, clusters, world.margin, same_outputs=same, level=level)


def _mean_run(world: GateWorld, truth: Bools, random: np.random.Generator) -> Floats:
    return np.asarray(np.mean([world.run(truth, random) for _ in range(BASELINE_RUNS if world.flips else 1)], axis=0))


def _values(values: Floats) -> Values:
    return Values(values, np.zeros(len(values), dtype=np.bool_))


def _oracle(world: GateWorld, differences: Floats) -> float:
    """The power of t tests that know the true standard errors, with the same rule: PASS first, then an alarm, then its confirmation."""
    first, second = differences.T
    errors, student = differences.std(axis=0), stats.t(world.count - 1)
    passed = first - student.isf(ALARM) * errors[0] > -world.margin
    alarm = ~passed & (first / errors[0] <= student.ppf(ALARM))
    return float((alarm & (second / errors[1] <= student.ppf(CONFIRM))).mean() if world.flips else alarm.mean())


def _share(outcomes: Sequence[Decision], wanted: Decision) -> float:
    return float(np.mean([outcome is wanted for outcome in outcomes]))


def worlds() -> Iterator[GateWorld]:
    """The worlds of the table, then some that do not suit the tests."""
    yield from (GateWorld(n, flips, clustered) for clustered, n, flips in itertools.product((False, True), SIZES, FLIPS))
    yield from (GateWorld(100, flips, True, unequal=True) for flips in FLIPS)
    yield from (GateWorld(100, flips, True, documents=10) for flips in FLIPS)
    yield from (GateWorld(n, 0.0, True, documents=10, base=0.95) for n in (100, 300))
    yield GateWorld(100, 0.0, True, base=0.95)
    yield from (GateWorld(n, flips, True, skewed=True) for n, flips in itertools.product(SIZES, FLIPS[:2]))


def table(found: Sequence[Rates]) -> str:
    """The rates as Markdown."""
    columns = [
        "questions",
        "world",
        "flips",
        "histories with an alarm",
        "false FAIL",
        "histories with one",
        "undecided",
        "false PASS at −M",
        "power",
        "oracle",
    ]
    lines = [columns, ["---"] * len(columns)]
    for rates in found:
        world = rates.world
        kinds = {"unequal": world.unequal, "10 documents": world.documents == 10, f"rate {world.base:g}": world.base != BASE}
        kinds |= {"whole documents lost": world.skewed}
        name = ", ".join(["clustered" if world.clustered else "independent", *(kind for kind, is_so in kinds.items() if is_so)])
        shares = (rates.alarmed, rates.false_fail, rates.history, rates.undecided, rates.false_pass, rates.power, rates.oracle)
        lines.append([str(world.n), name, f"{world.flips:g}", *(f"{share:.3f}" for share in shares)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    every = list(worlds())
    with ProcessPoolExecutor(2) as pool:
        results = []
        for rates in pool.map(simulated, every, [number] * len(every), [max(1, number // 5)] * len(every)):
            results.append(rates)
            print(rates, file=sys.stderr, flush=True)
    print(table(results))
