"""Rules about metrics of a judge that labels calibrate: corrected limits, and margins that shrink as its errors shrink a difference."""

import math
from dataclasses import replace
from statistics import NormalDist

import pandas as pd
import pytest

from tests.answered_runs import Planted, answered
from tests.gated_runs import floors
from tests.judged_runs import Judged, judged
from workbench.core.text.formatting import number
from workbench.gate.baseline import baseline_of, write_baseline
from workbench.gate.check import check_gate
from workbench.gate.rules import Floor, GateSettings, Subject
from workbench.measures.statistics.decisions import Decision
from workbench.report.results.run_tables import RunTables


@pytest.fixture(scope="module")
def labelled_run(unanswered: RunTables) -> RunTables:
    """A run with values of judged metrics, whose judge of claims is calibrated by labels."""
    run = judged(answered(unanswered, Planted()), Judged(labels=60))
    like = run.manifest["metrics"]["answer_recall"]
    measures = {"faithfulness": like | {"name": "faithfulness"}}
    measures["contradiction_rate"] = like | {"name": "contradiction_rate", "higher_is_better": False}
    tables = {
        name: pd.concat([table, *(table[table["metric"] == "answer_recall"].assign(metric=each) for each in measures)], ignore_index=True)
        for name, table in (("queries", run.queries), ("metrics", run.metrics))
    }
    return replace(with_tables(run, **tables), manifest=dict(run.manifest) | {"metrics": run.manifest["metrics"] | measures})


def with_tables(run: RunTables, **tables: pd.DataFrame) -> RunTables:
    return replace(run, sources={**run.sources, **{name: lambda _, table=table: table for name, table in tables.items()}})


def with_corrected(run: RunTables, metric: str, value: float, low: float, high: float) -> RunTables:
    row = {"scope": "mean", "metric": metric, "configuration": run.names[0], "other": "", "value": value, "low": low, "high": high}
    row |= {"labels": 60, "n": 100, "target": "population", "method": "post-stratified"}
    return with_tables(run, corrected=pd.DataFrame([row]))


@pytest.mark.parametrize(
    ("rule", "outcome"),
    [
        ("faithfulness >= 0.7", Decision.PASS),
        ("faithfulness >= 0.701", Decision.UNDECIDED),
        ("faithfulness >= 0.9", Decision.UNDECIDED),
        ("faithfulness >= 0.91", Decision.FAIL),
        ("contradiction_rate <= 0.9", Decision.PASS),
        ("contradiction_rate <= 0.899", Decision.UNDECIDED),
        ("contradiction_rate <= 0.7", Decision.UNDECIDED),
        ("contradiction_rate <= 0.69", Decision.FAIL),
    ],
)
def test_labels_decide_a_limit_of_a_judged_metric_by_the_corrected_interval(labelled_run, rule, outcome):
    floor = Floor.parse(rule)
    run = with_corrected(labelled_run, floor.subject.metric, 0.8, 0.7, 0.9)
    (found,) = check_gate(run, GateSettings(configuration=run.names[0], floors=(floor,))).rules
    assert (found.rule, found.outcome, found.value, found.low, found.high) == (rule, outcome, 0.8, 0.7, 0.9)
    assert f"0.800 [0.700, 0.900], corrected by 60 labels, on {found.n} questions" in found.reason
    assert ("the interval contains the limit" in found.reason) == (outcome is Decision.UNDECIDED)
    # The interval is 1.96 standard errors wide on either side, and p is that of a mean on the wrong side of the limit.
    errors = (0.8 - floor.limit) / (0.1 / NormalDist().inv_cdf(0.975)) * (1 if floor.bound == ">=" else -1)
    assert found.p == pytest.approx(NormalDist().cdf(errors), rel=1e-6)


def test_labels_that_leave_nothing_open_decide_without_a_p(labelled_run):
    run = with_corrected(labelled_run, "faithfulness", 1.0, 1.0, 1.0)
    (found,) = check_gate(run, floors("faithfulness >= 0.9", configuration=run.names[0])).rules
    assert found.outcome is Decision.PASS
    assert math.isnan(found.p)


@pytest.mark.parametrize("subject", ["faithfulness[kind=odd]", "faithfulness[condition=gold]"])
def test_labels_of_all_questions_of_one_condition_do_not_correct_others(labelled_run, subject):
    run = with_corrected(labelled_run, "faithfulness", 0.8, 0.7, 0.9)
    (found,) = check_gate(run, floors(f"{subject} >= 0.5", configuration=run.names[0])).rules
    assert "corrected" not in found.reason
    assert found.value != 0.8


@pytest.mark.parametrize(
    ("labels", "factor", "said"),
    [
        ({"sensitivity": 0.9, "false_alarms": 0.2}, 0.7, "the margin is {margin} after the judge's errors"),
        ({"sensitivity": 0.3, "false_alarms": 0.6}, 0.0, "the margin is 0.000 after the judge's errors"),
        ({"sensitivity": 0.9}, 1.0, "on the judge's scale"),
    ],
)
def test_the_errors_of_a_judge_shrink_the_tolerated_drop_as_they_shrink_a_difference(labelled_run, tmp_path, labels, factor, said):
    table = labelled_run.calibration
    table = table[table["measure"].isin(labels)].assign(value=lambda rows: rows["measure"].map(labels))
    run = with_tables(labelled_run, calibration=table)
    path = tmp_path / "base.json"
    better = run.queries.assign(value=run.queries["value"].where(run.queries["metric"] != "faithfulness", 0.9))
    write_baseline(baseline_of([with_tables(run, queries=better)], run.names[0], path, fewest=1), path)
    compare = (Subject("faithfulness"), Subject("answer_recall"))
    settings = GateSettings(configuration=run.names[0], baseline=path, compare=compare, max_unscored=0.5)
    by_judge, by_words = check_gate(run, settings).rules
    assert by_judge.limit == pytest.approx(-0.05 * by_judge.reference * factor)
    assert said.format(margin=number(-by_judge.limit)) in by_judge.reason
    assert by_words.limit == pytest.approx(-0.05 * by_words.reference)
    assert "judge" not in by_words.reason
