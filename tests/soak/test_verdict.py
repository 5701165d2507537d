"""The promises of the verdict, by simulation; docs/statistics.md has the figures of 1,000 runs."""

import pytest

from benchmarks.verdict.tables import claims_table, coverage_table

RUNS = 400
# Three standard errors of a share of .05 over so many runs.
NOISE = 3 * (0.05 * 0.95 / RUNS) ** 0.5


@pytest.fixture(scope="module")
def claims():
    found, table = claims_table(RUNS)
    print(table)
    return found


@pytest.mark.soak
def test_false_winners_and_false_pairs_are_rare(claims) -> None:
    assert max(each.false_winner for each in claims.values()) <= 0.05 + NOISE
    assert max(each.false_pair for each in claims.values()) <= 0.05 + NOISE
    assert claims["24 equal"].false_winner <= 0.05


@pytest.mark.soak
def test_the_set_holds_the_best_and_is_hardly_larger_than_an_oracles(claims) -> None:
    assert min(each.held for each in claims.values()) >= 0.95 - NOISE
    assert all(each.size <= 1.3 * each.oracle for each in claims.values())


@pytest.mark.soak
def test_what_is_better_by_05_is_found_nearly_as_often_as_an_oracle_finds_it(claims) -> None:
    for name in ("one better by .05, quiet", "one better by .05, 300 documents"):
        assert claims[name].won >= 0.9 * claims[name].oracle_won > 0.5
    better = [each for name, each in claims.items() if name.startswith("one better by .05")]
    assert all(each.found >= 0.9 * each.oracle_found for each in better)


@pytest.mark.soak
def test_the_corrected_value_of_the_first_does_not_flatter(claims) -> None:
    assert claims["24 equal"].naive > 0.01
    assert abs(claims["24 equal"].corrected) < 0.005
    assert max(each.corrected for each in claims.values()) < 0.005


@pytest.mark.soak
def test_intervals_cover_94_percent() -> None:
    found, table = coverage_table(RUNS)
    print(table)
    for cell, values in found.items():
        assert sum(values) / len(values) >= 0.94 - NOISE / 2, cell
        assert min(values) >= 0.94 - NOISE, cell
