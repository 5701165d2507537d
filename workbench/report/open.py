"""Open a run, one of its configurations, or the history of an outputs folder for a notebook."""

from pathlib import Path

from workbench.core.environment import find_upwards
from workbench.core.formatting import listed, nearest_word
from workbench.errors import InputError
from workbench.report.comparison import ComparisonView
from workbench.report.configuration import ConfigurationView
from workbench.report.trends import TrendsView
from workbench.results.history import history_path, read_history
from workbench.results.run_tables import RETRIEVED, RunTables


def open_comparison(results: str | Path) -> ComparisonView:
    """Open all configurations of the run in the folder `results`, such as `outputs/quickstart`.

    A relative path is resolved against the working directory, then each of its parents. Raises InputError if no run is found.
    """
    return ComparisonView(_run_at(results))


def open_configuration(results: str | Path, configuration: str) -> ConfigurationView:
    """Open one configuration of a run by name. Raises InputError if the run does not contain it, or if it failed."""
    run = _run_at(results)
    if configuration in run.failures:
        raise InputError(f"the configuration {configuration} failed: {run.failures[configuration]}")
    return ConfigurationView(run, _one_of(configuration, list(run.names), f"{results} has no configuration"))


def open_trends(outputs: str | Path = "outputs", experiment: str = "", metric: str = "") -> TrendsView:
    """Open the history of a metric of an experiment. A relative `outputs` is resolved like the folder of a run.

    `experiment` defaults to that of the last run, `metric` to the primary metric of the experiment's last run.
    Errors: InputError if the history does not exist or lacks the experiment or metric; StoreError if it is corrupt.
    """
    history = read_history(find_upwards(history_path(Path(outputs))) or history_path(Path(outputs)))
    history = history[(history["condition"] == RETRIEVED) & (history["slice"] == "all")]
    missing = "the history has no"
    chosen = (
        _one_of(experiment, sorted(set(history["experiment"])), f"{missing} experiment")
        if experiment
        else str(history["experiment"].iloc[-1])
    )
    rows = history[history["experiment"] == chosen]
    last = rows[rows["run"] == rows["run"].iloc[-1]]
    decides = str(last.loc[last["primary"], "metric"].iloc[0])
    wanted = _one_of(metric, sorted(set(rows["metric"])), f"{missing} metric of {chosen}") if metric else decides
    return TrendsView(history, chosen, wanted)


def _run_at(results: str | Path) -> RunTables:
    return RunTables.read(find_upwards(results) or results)


def _one_of(name: str, names: list[str], missing: str) -> str:
    if name in names:
        return name
    close = nearest_word(name, names)
    raise InputError(f"{missing} {name!r}", f"did you mean {close}?" if close else f"the names are {listed(names, 12)}")
