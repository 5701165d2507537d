"""Estimates of a log: weighted by design, corrected for the judge, and named after what is known of the judge."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.sampled_judging import LogWorld
from tests.monitor.log_lines import arrow_table
from tests.monitor.production_traffic import traffic
from workbench.measures.statistics.judge_calibration import CalibrationValue
from workbench.monitor.judging import estimate, judge_errors
from workbench.monitor.sampling import draw, outline

END = pd.Timestamp("2026-11-04T00:00Z")
STRONG = LogWorld((0.2, 0.5, 0.7, 0.98))


def test_a_mean_of_drawn_questions_is_weighted() -> None:
    estimates, plain = [], []
    for seed in range(12):
        outlined, evaluations, _ = STRONG.simulated(np.random.default_rng(seed))
        drawn = draw(outlined, 100, END)
        estimates.append(estimate(evaluations, drawn, "faithfulness").interval.value)
        plain.append(evaluations[evaluations["id"].isin(drawn.loc[drawn["reason"] == "", "id"])]["value"].mean())
    assert np.mean(estimates) == pytest.approx(STRONG.truth, abs=0.02)
    assert np.mean(plain) < STRONG.truth - 0.05


def test_without_a_calibration_the_value_is_called_a_score() -> None:
    outlined, evaluations, _ = STRONG.simulated(np.random.default_rng(0))
    drawn = draw(outlined, 100, END)
    errors = {"support": (CalibrationValue(0.98, 0.9, 0.99, 80), CalibrationValue(0.2, 0.1, 0.3, 50))}
    overlap = evaluations.assign(metric="support_overlap")
    assert estimate(evaluations, drawn, "faithfulness").name == "faithfulness score"
    assert estimate(overlap, drawn, "support_overlap").name == "support score"
    found = estimate(overlap, drawn, "support_overlap", errors)
    assert found.name == "faithfulness"
    assert found.judged is not None
    q = found.judged.value
    assert found.interval.value == pytest.approx(min(1, (q - 0.2) / 0.78))
    assert found.interval.high - found.interval.low > found.judged.high - found.judged.low


def test_unscored_and_missing_questions_are_counted_and_left_out() -> None:
    outlined, evaluations, _ = STRONG.simulated(np.random.default_rng(0))
    drawn = draw(outlined, 100, END)
    ids = drawn.loc[drawn["reason"] == "", "id"].tolist()
    failed = evaluations["id"].isin(ids[:3])
    evaluations.loc[failed, ["value", "approved", "state", "reason"]] = [np.nan, np.nan, "unscored", "the server is down"]
    found = estimate(evaluations[~evaluations["id"].isin(ids[3:5])], drawn, "faithfulness")
    assert found.unscored == {"the server is down": 3, "not judged": 2}
    assert found.interval.n == len(ids) - 5
    assert found.of == len(outlined)


def test_declared_refusals_count_without_a_draw() -> None:
    rows = traffic(800, days=1)
    rows["refused"] = [place % 4 == 0 for place in range(len(rows))]
    rows[["answer", "error"]] = ["It is nine.", None]
    drawn = draw(outline(arrow_table(rows)), 50, END)
    ids = drawn.loc[drawn["reason"] == "", "id"]
    evaluations = pd.DataFrame({"id": ids, "metric": "refusal_rate", "value": 0.0, "approved": 0.0, "state": "scored", "reason": ""})
    found = estimate(evaluations, drawn, "refusal_rate")
    assert found.interval.value == pytest.approx(0.25, abs=0.01)
    assert found.interval.low < 0.25 < found.interval.high


def test_few_sessions_have_no_interval() -> None:
    outlined, evaluations, _ = STRONG.simulated(np.random.default_rng(0))
    outlined["cluster"] = [f"s{place % 4}" for place in range(len(outlined))]
    found = estimate(evaluations, draw(outlined, 100, END), "faithfulness").interval
    assert np.isnan(found.low)
    assert found.clusters == 4


def test_errors_are_read_from_the_table_of_a_calibration() -> None:
    rows = [
        {"task": "support", "judge": "chat m", "measure": measure, "value": value, "low": value - 0.1, "high": value + 0.1, "n": 60}
        for measure, value in (("sensitivity", 0.9), ("false_alarms", 0.2), ("kappa", 0.6))
    ]
    table = pd.DataFrame([*rows, {**rows[0], "task": "answer_relevance"}])
    found = judge_errors(table, "chat m")
    assert list(found) == ["support"]
    assert [each.value for each in found["support"]] == [0.9, 0.2]
    assert judge_errors(table, "another") == {}
