import numpy as np
import pandas as pd
import pytest

from workbench.measures.statistics.change_points import FEWEST_RESULTS, LEVEL, MOST_OBSERVATIONS, _gaps, change_points

# tests/soak/test_histories.py has enough of them for rates.
HISTORIES, RUNS = 40, 30


def series(values) -> pd.Series:
    return pd.Series(values, index=[f"r{place}" for place in range(len(values))], dtype=float)


def noise(seed: int, runs: int = RUNS) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.7, 0.01, (HISTORIES, runs))


def test_a_step_is_found_with_its_run_and_the_levels_on_either_side():
    found = change_points(series([0.8] * 6 + [0.7] * 6))
    (point,) = found.points
    assert (point.run, point.before, point.after) == ("r6", pytest.approx(0.8), pytest.approx(0.7))
    assert point.p <= LEVEL
    assert (found.runs, found.enough) == (12, True)


def test_two_steps_are_two_points_and_levels_lie_between_them():
    found = change_points(series([0.5] * 10 + [0.6] * 10 + [0.5] * 10))
    assert [point.run for point in found.points] == ["r10", "r20"]
    assert [round(point.after, 6) for point in found.points] == [0.6, 0.5]


@pytest.mark.parametrize("runs", range(FEWEST_RESULTS))
def test_too_few_runs_say_so_and_claim_nothing(runs):
    found = change_points(series([0.1] * (runs // 2) + [0.9] * (runs - runs // 2)))
    assert not found.points
    assert not found.enough


def test_the_fewest_runs_are_enough_for_the_cleanest_step():
    half = FEWEST_RESULTS // 2
    values = [0.1] * half + [0.9] * (FEWEST_RESULTS - half)
    assert [point.run for point in change_points(series(values)).points] == [f"r{half}"]


def test_identical_values_are_one_level_and_unscored_runs_are_left_out():
    assert change_points(series([0.7] * 30)).points == ()
    assert change_points(series([0.7, np.nan] * 5)).runs == 5
    values = [0.8] * 6 + [np.nan] + [0.7] * 6
    assert [point.run for point in change_points(series(values)).points] == ["r7"]


def test_one_run_that_is_off_is_no_level():
    assert change_points(series([0.7, 0.71] * 7 + [0.1])).points == ()


def test_the_same_series_gives_the_same_points():
    values = series(noise(0)[0])
    assert change_points(values) == change_points(values)


def test_noise_alone_is_split_in_few_histories():
    # Of these none is split, and two would be without the correction for two tests.
    assert sum(bool(change_points(series(values)).points) for values in noise(1)) <= 1


def dependent(correlation: float) -> np.ndarray:
    """Noise of which each value depends on the one before."""
    values = np.random.default_rng(5).normal(size=(HISTORIES, RUNS))
    for run in range(1, RUNS):
        values[:, run] = correlation * values[:, run - 1] + (1 - correlation**2) ** 0.5 * values[:, run]
    return values


def split(histories: np.ndarray) -> float:
    return float(np.mean([bool(change_points(series(values)).points) for values in histories]))


def test_values_that_depend_on_the_one_before_are_split_in_few_histories() -> None:
    # Without prewhitening .28 and .68 of them are.
    assert split(dependent(0.3)) <= 0.15
    assert split(dependent(0.6)) <= 0.35


def test_a_spread_that_changes_is_no_change_of_level() -> None:
    # Without flipped signs a seventh of them are split.
    assert split(noise(6) * np.repeat([1.0, 3.0], RUNS // 2) - 0.7 * np.repeat([0.0, 2.0], RUNS // 2)) <= 0.075


def test_a_step_among_values_that_depend_on_the_one_before_is_found() -> None:
    assert split(dependent(0.3) + 5 * (np.arange(RUNS) >= 15)) >= 0.9


def test_a_step_of_three_standard_deviations_is_found_within_a_run():
    steps = noise(2) + 0.03 * (np.arange(RUNS) >= 15)
    found = [[point.run for point in change_points(series(values)).points] for values in steps]
    assert np.mean([not {"r14", "r15", "r16"}.isdisjoint(runs) for runs in found]) >= 0.90
    assert np.mean([len(runs) > 1 for runs in found]) <= 0.15


def test_a_long_history_is_looked_at_from_its_end():
    found = change_points(series([0.9] * 100 + [0.7, 0.71] * (MOST_OBSERVATIONS // 2)))
    assert (found.runs, found.observations, found.points) == (100 + MOST_OBSERVATIONS, MOST_OBSERVATIONS, ())


def test_consecutive_repeats_are_one_observation():
    values = [0.70, 0.71, 0.69, 0.72, 0.70, 0.80, 0.81, 0.79, 0.80, 0.82]
    repeated = np.repeat(values, 3)
    runs, results = series(repeated), series(np.repeat(np.arange(10), 3)).astype(int)
    found = change_points(runs, results)
    assert (found.runs, found.observations, found.results) == (30, 10, 10)
    (point,) = found.points
    assert (point.run, point.before, point.after) == ("r15", pytest.approx(0.704), pytest.approx(0.804))
    assert point.p == change_points(series(values)).points[0].p


def test_equal_values_of_different_settings_are_different_results():
    assert change_points(series([0.7] * 12)).results == 12


def test_runs_that_repeat_few_results_are_no_evidence_of_a_change():
    values = series([0.7] * 15 + [0.8] * 15)
    assert change_points(values).points
    found = change_points(values, (values > 0.75).astype(int))
    assert (found.observations, found.enough, found.points) == (2, False, ())


def test_a_result_that_returns_is_not_a_new_one():
    numbers = np.array([*[0, 1] * 8, *[2, 3] * 8, 4, 5, 6, 7, 8])
    values = series(np.array([0.70, 0.71, 0.73, 0.74, 0.69, 0.75, 0.71, 0.74, 0.72])[numbers])
    assert change_points(values).points
    found = change_points(values, series(numbers).astype(int))
    assert (found.observations, found.results, found.enough) == (37, 9, True)
    assert not found.points


def test_unscored_runs_do_not_separate_repeats():
    values = series([0.7, np.nan, 0.7, 0.8])
    assert change_points(values, series([0, 1, 0, 2]).astype(int)).observations == 2


def test_the_smallest_p_is_that_of_1999_permutations_in_two_tests():
    assert change_points(series([0.7] * 15 + [0.8] * 15)).points[0].p == 2 / 2000


def test_the_gap_is_the_standardised_difference_of_means():
    values, starts, ends = np.random.default_rng(3).normal(size=(2, 9)), np.array([0, 2, 4]), np.array([3, 7, 9])
    expected = []
    for row in values:
        parts = [(row[start:end], np.delete(row, slice(start, end))) for start, end in zip(starts, ends, strict=True)]
        expected.append([abs(part.mean() - rest.mean()) * (len(part) * len(rest) / 9) ** 0.5 for part, rest in parts])
    assert _gaps(values, (starts, ends)) == pytest.approx(np.array(expected))


@pytest.mark.parametrize(
    ("values", "runs"),
    [
        ([0.0] * 6 + [1.0] * 6, ["r6"]),
        ([0.1, 0.11] + [0.7, 0.71] * 14, ["r2"]),
        ([0.7, 0.71] * 14 + [0.1, 0.11], ["r28"]),
        ([0.7] * 2 + [0.1] * 8 + [0.7] * 2, ["r2", "r10"]),
        ([0.7] * 2 + [0.1] * 17 + [0.7], []),
    ],
)
def test_a_level_has_two_runs_or_more_at_either_end_too(values, runs):
    assert [point.run for point in change_points(series(values)).points] == runs
