import numpy as np
import pytest

from workbench.report.analysis.standings import difference, standings
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome


def test_means_are_those_of_the_table_of_metrics(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    table = run.metrics[run.metrics["slice"] == "all"].set_index(["configuration", "metric"])
    for one in standings(run).ranked:
        assert list(one.means) == list(run.measures)
        for metric, mean in one.means.items():
            row = table.loc[(one.name, metric)]
            assert (mean.value, mean.low, mean.high, mean.n) == pytest.approx(
                (row["value"], row["low"], row["high"], row["n"]), nan_ok=True
            )


def test_they_are_ordered_by_the_primary_metric_or_by_another(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    found = standings(run)
    for metric, ordered in ((run.primary, found.ranked), (run.measures["irrelevant@3"], found.by(run.measures["irrelevant@3"]))):
        values = [one.means[str(metric)].value * (-1 if metric.higher_is_better else 1) for one in ordered]
        assert values == sorted(values)
    assert found.baseline is found.ranked[0]


def test_a_difference_is_that_of_the_table_of_comparisons(few: Outcome) -> None:
    run = RunTables.read(few.folder)
    for _, row in run.comparisons.iterrows():
        found = difference(run, row["metric"], row["a"], row["b"])
        ends = ("low", "high") if np.isnan(row["p"]) else ("low_adjusted", "high_adjusted")
        assert (found.value, found.low, found.high, found.n) == pytest.approx((row["difference"], *row[[*ends, "n"]]), nan_ok=True)
