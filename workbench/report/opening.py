"""Open what a notebook shows: from the store where a sweep ran before, computed now where it did not."""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from workbench.errors import InputError
from workbench.experiment.run import run_experiment
from workbench.experiment.spec import read_experiment
from workbench.report.comparison import ComparisonView
from workbench.report.configuration import ConfigurationView


def open_comparison(experiment: str | Path, outputs: str | Path = "outputs", overrides: Sequence[str] = ()) -> ComparisonView:
    """All configurations of an experiment file; `overrides` are `path.to.key=value`."""
    read = read_experiment(Path(experiment), overrides)
    return ComparisonView(run_experiment(read, Path(outputs), _say))


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


def _say(line: str) -> None:
    # What came from the store is no news, and the view itself names what failed.
    if "all from the store" not in line and "FAILED" not in line:
        print(line)
