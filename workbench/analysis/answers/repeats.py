"""The variance between repeats of the same question beside the variance between questions."""

from workbench.analysis.answers.values import answer_measure, repeated_values
from workbench.results.run_tables import RETRIEVED, RunTables
from workbench.statistics.answers.repeats import RepeatVariance, repeat_variance


def repeats_of(
    run: RunTables, configuration: str, metric: str, condition: str = RETRIEVED, perturbation: str = ""
) -> RepeatVariance | None:
    """Return the components of variance of an answer metric, None if no two questions have repeated values."""
    answer_measure(run, metric)
    return repeat_variance(repeated_values(run, configuration, metric, condition, perturbation))
