"""Means and differences of judged metrics corrected by labels, beside the uncorrected ones."""

from dataclasses import dataclass

from workbench.analysis.answers.condition_scores import condition_mean
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.statistics.intervals import Interval


@dataclass(frozen=True)
class CorrectedScore:
    """A corrected mean of a configuration, or its difference from `other`, from `labels` labels on `n` questions.

    `uncorrected` is the mean by the judge alone, None for a difference or if the run has none. `target` is `items` or `population`.
    """

    metric: str
    configuration: str
    other: str
    value: float
    low: float
    high: float
    labels: int
    n: int
    target: str
    method: str
    uncorrected: Interval | None


def corrected_means(run: RunTables) -> list[CorrectedScore]:
    """Return the corrected means in the order of the table. Empty without labels."""
    return [each for each in _scores(run) if not each.other]


def corrected_differences(run: RunTables) -> list[CorrectedScore]:
    """Return the corrected differences in the order of the table. Empty without labels."""
    return [each for each in _scores(run) if each.other]


def _scores(run: RunTables) -> list[CorrectedScore]:
    rows = run.corrected.to_dict("records")
    return [
        CorrectedScore(
            str(row["metric"]),
            str(row["configuration"]),
            str(row["other"]),
            float(row["value"]),
            float(row["low"]),
            float(row["high"]),
            int(row["labels"]),
            int(row["n"]),
            str(row["target"]),
            str(row["method"]),
            None if row["other"] else condition_mean(run, str(row["configuration"]), str(row["metric"]), RETRIEVED),
        )
        for row in rows
    ]
