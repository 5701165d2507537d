"""The rows of the ranking: statuses, places, what is ahead, causes, and the axis of the scores."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.made_runs import Made
from workbench.report.analysis.findings import findings
from workbench.report.analysis.ranking import RankStatus, ScoreAxis, Unranked, best_unranked, grouped, ranking_rows, score_axis
from workbench.report.results.run_tables import RunTables

N = 120
LOW = np.round(np.random.default_rng(8).random(N) * 0.5, 3)
OTHER = np.round(np.random.default_rng(9).random(N) * 0.5, 3)


def statuses(run: RunTables) -> list[RankStatus]:
    return [row.status for row in ranking_rows(findings(run))]


def test_a_winner_has_the_others_behind_it(made: Made) -> None:
    rows = ranking_rows(findings(made.valued([LOW, LOW + 0.4, LOW + 0.1], name="rows-winner")))
    assert [(row.name, row.place, row.status) for row in rows] == [
        ("fixed-24-0", 1, RankStatus.WINNER),
        ("fixed-32-0", 2, RankStatus.BEHIND),
        ("fixed-16-0", 3, RankStatus.BEHIND),
    ]
    assert [(row.ahead.name, row.ahead.place) if row.ahead else None for row in rows] == [None, ("fixed-24-0", 1), ("fixed-24-0", 1)]
    assert [row.reference for row in rows] == [True, False, False]
    assert rows[1].pair is not None
    assert (rows[1].pair.a, rows[1].pair.b) == ("fixed-32-0", "fixed-24-0")
    assert [row.short for row in rows] == ["fixed 24", "fixed 32", "fixed 16"]


def test_those_of_the_tie_set_may_be_best_and_few_questions_are_not_tested(made: Made) -> None:
    assert statuses(made.valued([LOW, OTHER], name="rows-tie")) == [RankStatus.BEST, RankStatus.BEST]
    assert statuses(made.valued([LOW[:20], OTHER[:20]], documents=2, name="rows-few")) == [RankStatus.UNTESTED] * 2
    assert statuses(made.valued([LOW], name="rows-single")) == [RankStatus.UNTESTED]


def test_the_baseline_is_the_reference(made: Made) -> None:
    rows = ranking_rows(findings(made.valued([LOW, OTHER + 0.2], name="rows-baseline", baseline="fixed-16-0")))
    assert [(row.name, row.reference, row.pair is None) for row in rows] == [("fixed-24-0", False, False), ("fixed-16-0", True, True)]


def test_the_lowest_of_a_metric_that_is_better_if_lower_is_first(made: Made) -> None:
    rows = ranking_rows(findings(made.valued([LOW + 0.4, LOW], name="rows-lower", primary="irrelevant@3", metrics=["irrelevant@3"])))
    assert [(row.name, row.status) for row in rows] == [("fixed-24-0", RankStatus.WINNER), ("fixed-16-0", RankStatus.BEHIND)]


def test_the_unranked_are_grouped_by_cause_and_the_best_of_them_is_known(made: Made) -> None:
    few, none = np.where(np.arange(N) < 60, 0.95, np.nan), np.full(N, np.nan)
    found = findings(made.valued([LOW, few, none, few - 0.1], name="rows-unranked"))
    rows = ranking_rows(found)
    assert [(row.name, row.place, row.cause) for row in rows] == [
        ("fixed-16-0", 1, None),
        ("fixed-24-0", None, Unranked.COVERAGE),
        ("fixed-40-0", None, Unranked.COVERAGE),
        ("fixed-32-0", None, Unranked.VALUES),
    ]
    assert [len(group) for group in grouped(rows)] == [1, 2, 1]
    best = best_unranked(found)
    assert best is not None
    assert best.name == "fixed-24-0"


def test_an_unranked_score_below_the_leaders_hides_nothing(made: Made) -> None:
    few = np.where(np.arange(N) < 60, 0.01, np.nan)
    assert best_unranked(findings(made.valued([LOW, few], name="rows-below"))) is None


def test_failures_with_one_cause_follow_one_another(made: Made) -> None:
    run = made.valued([LOW], name="rows-failed")
    failures = {"a": "chunks of a failed", "b": "out of memory", "c": "chunks of c failed"}
    settings = {**run.manifest["configurations"], **dict.fromkeys(failures, run.manifest["configurations"]["fixed-16-0"])}
    rows = ranking_rows(findings(replace(run, manifest={**run.manifest, "failures": failures, "configurations": settings})))
    assert [(row.name, row.error) for row in rows[1:]] == [("a", "chunks of … failed"), ("c", "chunks of … failed"), ("b", "out of memory")]
    assert [len(group) for group in grouped(rows)] == [1, 2, 1]


def test_one_error_that_names_one_of_the_configurations_that_it_failed_is_said_once_with_its_name(made: Made) -> None:
    run = made.valued([LOW], name="rows-failed")
    failures = {"code": "chunking 'code' failed", "code-bm25": "chunking 'code' failed"}
    settings = {**run.manifest["configurations"], **dict.fromkeys(failures, run.manifest["configurations"]["fixed-16-0"])}
    rows = ranking_rows(findings(replace(run, manifest={**run.manifest, "failures": failures, "configurations": settings})))
    assert [(row.name, row.error) for row in rows[1:]] == [("code", "chunking 'code' failed"), ("code-bm25", "chunking 'code' failed")]
    assert [len(group) for group in grouped(rows)] == [1, 2]


@pytest.mark.parametrize(
    ("means", "low", "high"),
    [
        # One that is far away does not stretch the axis; near ones do.
        ([0.8, 0.78, 0.5, 0.01], 0.4, 1.0),
        ([0.8, 0.78], 0.5, 1.0),
    ],
)
def test_far_configurations_are_at_the_edge_of_the_axis(made: Made, means: Sequence[float], low: float, high: float) -> None:
    values = [np.clip(mean + (LOW - 0.25) / 5, 0, 1) for mean in means]
    found = findings(made.valued(values, name=f"rows-axis-{len(means)}"))
    axis = score_axis(found, ranking_rows(found))
    assert low < axis.low < axis.high < high
    assert axis.at(0.01) == 4.0
    assert axis.at(axis.high) == 96.0
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)


def test_ticks_are_round() -> None:
    assert ScoreAxis(0.586, 0.947).ticks == (0.6, 0.7, 0.8, 0.9)
    assert ScoreAxis(0.739, 0.94).ticks == (0.75, 0.8, 0.85, 0.9)
    assert (ScoreAxis(0.739, 0.94).digits, ScoreAxis(120, 480).digits) == (2, 0)
    assert ScoreAxis(120, 480).ticks == (200, 300, 400)


def test_a_metric_without_limits_has_an_axis_of_its_own(made: Made) -> None:
    run = made.valued([np.full(N, 240.0)], name="rows-unbounded")
    metrics = {name: record | {"proportion": False} for name, record in run.manifest["metrics"].items()}
    found = findings(replace(run, manifest={**run.manifest, "metrics": metrics}))
    (row,) = ranking_rows(found)
    assert row.mean is not None
    alone = replace(row, mean=replace(row.mean, low=np.nan, high=np.nan))
    assert score_axis(found, [alone]) == ScoreAxis(216, 264)


def test_configurations_that_differ_by_less_than_matters_are_equivalent(made: Made) -> None:
    near = np.clip(LOW + np.random.default_rng(3).normal(0, 0.02, N), 0, 1)
    assert statuses(made.valued([LOW, near], name="rows-equivalent", smallest_difference=0.1)) == [RankStatus.EQUIVALENT] * 2
