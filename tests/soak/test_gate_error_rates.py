"""The promises of the gate, by simulation; docs/statistics.md has the figures of more repetitions."""

from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

import numpy as np
import pytest
from scipy import stats

from benchmarks.gate_error_rates import Rates, simulated, table, worlds
from workbench.measures.statistics.comparison import holm
from workbench.measures.statistics.decisions import ALARM

pytestmark = pytest.mark.soak
REPETITIONS, HISTORIES = 400, 100
# Each commit alarms at .05 and is confirmed at .04.
HISTORY = 1 - (1 - 0.05 * 0.04) ** 50


def most(rate: float, number: int) -> float:
    """The largest share of `number` that a rate gives in 99 % of simulations."""
    return float(stats.binom.ppf(0.99, number, rate)) / number


@pytest.fixture(scope="module")
def found() -> list[Rates]:
    every = list(worlds())
    with ProcessPoolExecutor(2) as pool:
        rates = list(pool.map(simulated, every, repeat(REPETITIONS), repeat(HISTORIES)))
    print(table(rates))
    return rates


def test_an_unchanged_commit_rarely_fails(found) -> None:
    for rates in found:
        assert rates.history <= most(HISTORY, HISTORIES), rates
        if rates.world.flips == 0:
            assert (rates.false_fail, rates.undecided) == (0, 0), rates


def test_a_drop_of_the_whole_margin_rarely_passes(found) -> None:
    for rates in found:
        if not rates.world.skewed:
            assert rates.false_pass <= most(ALARM, REPETITIONS), rates


def test_drops_are_noticed_nearly_as_often_as_by_an_oracle(found) -> None:
    # With 50 questions the smallest difference is .02, and an oracle's rate jumps by .05 where its limit crosses one.
    # With 100 questions on 10 documents at a rate of .95, often fewer than 5 documents differ: then nothing fails (docs/statistics.md).
    few = [rates.world for rates in found if rates.world.documents and rates.world.base > 0.9 and rates.world.n == 100]
    assert len(few) == 1
    for rates in found:
        if not rates.world.skewed and rates.world.n > 50 and rates.world not in few:
            noise = 3 * (2 * rates.oracle * (1 - rates.oracle) / REPETITIONS) ** 0.5
            assert rates.power >= rates.oracle - 0.03 - noise, rates


def test_of_several_rules_one_rarely_fails_without_a_drop() -> None:
    random = np.random.default_rng(5)
    for correlation in (0.0, 0.8):
        shared, own = random.normal(size=(4_000, 1)), random.normal(size=(4_000, 6))
        p = stats.norm.cdf(correlation**0.5 * shared + (1 - correlation) ** 0.5 * own)
        failed = np.mean([holm(row).min() <= ALARM for row in p])
        assert failed <= most(ALARM, 4_000)
        assert np.mean(p.min(axis=1) <= ALARM) > 2 * failed
