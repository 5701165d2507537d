"""The commands `sweep`, `plan` and `report`."""

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from workbench.cli.shared import experiment_options, say
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.execution.local import Outcome, Precompute


@click.command()
@experiment_options
@click.option("--screen", "screening", is_flag=True, help="First put aside what is far behind by a cheap proxy; the rest runs in full.")
@click.option("--screen-queries", type=int, metavar="N", help="On a sample of so many questions; implies --screen.  [default: 200]")
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
    """Run an experiment: its tables, executed notebooks and report.html under OUTPUTS/<name>/.

    What is in the store is not computed again; a sweep that was killed goes on where it was.
    """
    if jobs and scheduler:
        raise InputError("--jobs and --scheduler exclude each other", "leave one of them out")
    from workbench.execution.local import run_experiment
    from workbench.execution.screening import QUERIES, screen
    from workbench.experiment.read import read_experiment
    from workbench.report.text.screening import screened_lines

    spec = read_experiment(experiment, overrides)
    if screening or screen_queries is not None:
        spec = screen(spec, outputs, say, QUERIES if screen_queries is None else screen_queries)
        for line in screened_lines(spec.screening):
            say(line)
    _publish(run_experiment(spec, outputs, say, _on_workers(jobs, scheduler)))


def _on_workers(jobs: int | None, scheduler: str | None) -> "Precompute | None":
    """What lets workers compute; None where they are not asked for."""
    if not (jobs or scheduler):
        return None
    from workbench.execution.dask.precompute import precompute

    return functools.partial(precompute, jobs=jobs, scheduler=scheduler)


@click.command()
@experiment_options
@click.option("--trends", is_flag=True, help="Make OUTPUTS/<name>/trends.html from the history of all runs instead.")
def report(experiment: Path, outputs: Path, overrides: tuple[str, ...], trends: bool) -> None:
    """Make the notebooks and report.html from results that are all in the store; what shows nothing new is taken from there too."""
    from workbench.execution.local import run_experiment
    from workbench.execution.plan import plan_experiment
    from workbench.execution.screening import as_screened
    from workbench.experiment.read import read_experiment

    spec = read_experiment(experiment, overrides)
    if trends:
        _report_trends(spec.name, outputs)
        return
    spec = as_screened(spec, outputs)
    if not plan_experiment(spec, outputs).complete:
        raise InputError(f"the results of {experiment} are not all in {outputs}", f"run workbench sweep {experiment}")
    _publish(run_experiment(spec, outputs, say), remember=False)


def _report_trends(name: str, outputs: Path) -> None:
    from workbench.notebook_runner.trends import write_trends
    from workbench.pipeline.context import Workspace

    click.echo(f"trends: {write_trends(outputs, name, Workspace.at(outputs).store)}")


def _publish(outcome: "Outcome", remember: bool = True) -> None:
    """Write what a run leaves and print what it says; exit 3 where a part of it failed."""
    from workbench.execution.outputs import publish, write_outputs

    if not outcome.results:
        write_outputs(outcome)
        click.echo(f"workbench: all {len(outcome.failures)} configurations failed; nothing to report", err=True)
        sys.exit(3)
    page, lines, errors = publish(outcome, say, remember)
    for line in errors:
        say(f"workbench: {line}")
    for line in lines:
        click.echo(line)
    click.echo(f"\nreport: {page}")
    if outcome.failures or errors:
        sys.exit(3)


@click.command()
@experiment_options
def plan(experiment: Path, outputs: Path, overrides: tuple[str, ...]) -> None:
    """Print what a sweep would compute and reuse, the tokens to embed and the minutes expected."""
    from workbench.execution.plan import plan_experiment, plan_lines
    from workbench.experiment.read import read_experiment

    for line in plan_lines(plan_experiment(read_experiment(experiment, overrides), outputs)):
        click.echo(line)
