"""The commands `sweep`, `plan`, `report` and `export`."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.execution.local import Outcome


# Progress goes to stderr, apart from a command's output.
_say = functools.partial(click.echo, err=True)


def _experiment_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add EXPERIMENT, --outputs and --set to a command."""
    path, change = click.Path(path_type=Path), "Change a value of the experiment; can be repeated."
    command = click.option("--set", "overrides", multiple=True, metavar="PATH.TO.KEY=VALUE", help=change)(command)
    command = click.option("--outputs", type=path, default="outputs", show_default=True, help="The folder for results.")(command)
    return click.argument("experiment", type=path)(command)


@click.command()
@_experiment_options
@click.option("--screen", "screening", is_flag=True, help="First drop configurations that are far behind according to a cheap proxy.")
@click.option("--screen-queries", type=int, metavar="N", help="Screen on a sample of N questions; implies --screen.  [default: 200]")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Compute on N processes of this machine.")
@click.option("--scheduler", metavar="TCP://HOST:PORT", help="Compute on the workers of this Dask scheduler.")
def sweep(
    experiment: Path,
    outputs: Path,
    overrides: tuple[str, ...],
    screening: bool,
    screen_queries: int | None,
    jobs: int | None,
    scheduler: str | None,
) -> None:
    """Run an experiment and write its tables, executed notebooks and report.html to OUTPUTS/<name>/.

    Results already in the store are reused, so an interrupted sweep resumes where it stopped.
    """
    from workbench.execution.local import run_experiment
    from workbench.execution.scheduling import on_workers
    from workbench.execution.screening import QUERIES, screen
    from workbench.experiment.read import read_experiment
    from workbench.report.text.sentences import screened_lines

    precompute = on_workers(jobs, scheduler)
    spec = read_experiment(experiment, overrides)
    if screening or screen_queries is not None:
        spec = screen(spec, outputs, _say, QUERIES if screen_queries is None else screen_queries)
        for line in screened_lines(spec.screening):
            _say(line)
    _publish(run_experiment(spec, outputs, _say, precompute))


@click.command()
@_experiment_options
@click.option("--trends", is_flag=True, help="Make OUTPUTS/<name>/trends.html from the history of all runs instead.")
def report(experiment: Path, outputs: Path, overrides: tuple[str, ...], trends: bool) -> None:
    """Write the notebooks and report.html of a finished sweep again. Only those that would change are made."""
    from workbench.execution.local import run_experiment
    from workbench.execution.plan import plan_experiment
    from workbench.execution.screening import as_screened
    from workbench.experiment.read import read_experiment

    spec = read_experiment(experiment, overrides)
    if trends:
        from workbench.execution.outputs import writing
        from workbench.notebook_runner.run_notebooks import write_trends
        from workbench.pipeline.context import Workspace

        with writing(outputs / spec.name, _say):
            click.echo(f"trends: {write_trends(outputs, spec.name, Workspace.at(outputs).store)}")
        return
    spec = as_screened(spec, outputs)
    if not plan_experiment(spec, outputs).complete:
        raise InputError(f"{outputs} lacks results of {experiment}, or data or code changed since", f"run workbench sweep {experiment}")
    _publish(run_experiment(spec, outputs, _say), remember=False)


def _publish(outcome: "Outcome", remember: bool = True) -> None:
    """Write the files of a run and print its summary. Exits with 3 if a part of the run failed."""
    from workbench.execution.outputs import publish

    published = publish(outcome, _say, remember)
    for line in published.errors:
        _say(f"workbench: {line}")
    for line in published.lines:
        click.echo(line)
    click.echo(f"\nreport: {published.report}")
    if outcome.failures or published.errors:
        sys.exit(3)


@click.command()
@_experiment_options
def plan(experiment: Path, outputs: Path, overrides: tuple[str, ...]) -> None:
    """Print which results a sweep would compute and reuse, the tokens to embed and the expected minutes."""
    from workbench.execution.plan import plan_experiment, plan_lines
    from workbench.experiment.read import read_experiment

    for line in plan_lines(plan_experiment(read_experiment(experiment, overrides), outputs)):
        click.echo(line)


@click.command()
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--configuration", help="The configuration; needed if OUTPUT has several.")
@click.option("--to", "folder", type=click.Path(path_type=Path), help="The folder to create.  [default: OUTPUT/export/CONFIGURATION]")
def export(output: Path, configuration: str | None, folder: Path | None) -> None:
    """Write a configuration of OUTPUT (outputs/<name>) as a folder that answers questions without Workbench."""
    from workbench.export.export import export_configuration

    target = export_configuration(output, configuration, folder)
    click.echo(f"{target}: pip install -r requirements.txt, then python retrieve.py 'a question'")
