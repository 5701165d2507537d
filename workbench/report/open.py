"""Open what a notebook shows: from the store where a sweep ran before, computed now where it did not."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from workbench.core.formatting import listed
from workbench.errors import InputError
from workbench.execution.local import run_experiment, workplace_at
from workbench.execution.screening import as_screened
from workbench.execution.tables import CONDITION
from workbench.experiment.read import read_experiment
from workbench.report.comparison import ComparisonView
from workbench.report.configuration import ConfigurationView
from workbench.report.trends import TrendsView
from workbench.results.history import history_path, read_history


def open_comparison(experiment: str | Path, outputs: str | Path = "outputs", overrides: Sequence[str] = ()) -> ComparisonView:
    """All configurations of an experiment file, without what its last sweep screened out; `overrides` are `path.to.key=value`."""
    read = read_experiment(Path(experiment), overrides)
    return ComparisonView(run_experiment(as_screened(read, Path(outputs)), Path(outputs), _say))


def open_configuration(
    experiment: str | Path, configuration: str, outputs: str | Path = "outputs", overrides: Sequence[str] = ()
) -> ConfigurationView:
    """One configuration of an experiment file by its name; InputError if it has none of that name or if it fails."""
    read = read_experiment(Path(experiment), overrides)
    names = [one.name for one in read.configurations]
    if configuration not in names:
        close = difflib.get_close_matches(configuration, names, n=1)
        fix = f"did you mean {close[0]}?" if close else f"they are {', '.join(names)}"
        raise InputError(f"{experiment} has no configuration {configuration!r}", fix)
    alone = replace(read, configurations=tuple(one for one in read.configurations if one.name == configuration))
    view = ConfigurationView(run_experiment(alone, Path(outputs), _say))
    _ = view.result
    return view


def open_trends(outputs: str | Path = "outputs", experiment: str = "", metric: str = "") -> TrendsView:
    """A metric of an experiment over the runs of an outputs folder.

    `experiment` is its name, by default that of the last run; `metric` is by default the one that was primary in the last run.
    A relative `outputs` is also looked for one folder up, since JupyterLab runs a notebook in the notebook's own folder.
    Errors: InputError where there is no history, or no such experiment or metric in it; StoreError if it is corrupt.
    """
    folder = Path(outputs)
    folder = folder if history_path(folder).exists() or not history_path(".." / folder).exists() else ".." / folder
    history = read_history(history_path(folder))
    history = history[(history["condition"] == CONDITION) & (history["slice"] == "all")]
    chosen = _one_of(experiment, history["experiment"], "experiment") if experiment else str(history["experiment"].iloc[-1])
    rows = history[history["experiment"] == chosen]
    last = rows[rows["run"] == rows["run"].iloc[-1]]
    decides = str(last.loc[last["primary"], "metric"].iloc[0])
    wanted = _one_of(metric, rows["metric"], f"metric of {chosen}") if metric else decides
    return TrendsView(history, chosen, wanted, workplace_at(folder).store)


def _one_of(name: str, there: "pd.Series[str]", what: str) -> str:
    names = sorted(set(there))
    if name in names:
        return name
    close = difflib.get_close_matches(name, names, n=1)
    raise InputError(f"the history has no {what} {name!r}", f"did you mean {close[0]}?" if close else f"it has {listed(names, 12)}")


def _say(line: str) -> None:
    # What came from the store is no news, and the view itself names what failed.
    if "all from the store" not in line and "FAILED" not in line:
        print(line)
