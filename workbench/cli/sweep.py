"""The commands `sweep`, `plan`, `report` and `export`."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from workbench.cli.options import allow_code_option, outputs_option, run_argument, set_option
from workbench.core.errors import InputError
from workbench.core.files import store_errors
from workbench.core.text.terminal import say, say_aside, say_prose

if TYPE_CHECKING:
    from workbench.runner.execution.local import Outcome
    from workbench.runner.experiment.read import ExperimentSpec


@dataclass(frozen=True)
class ExperimentArguments:
    """The arguments EXPERIMENT, --outputs, --set and --allow-code of a command."""

    path: Path
    outputs: Path
    overrides: tuple[str, ...]
    allow_code: bool

    def read(self) -> "ExperimentSpec":
        """Read the experiment with its changes."""
        from workbench.runner.experiment.read import read_experiment

        return read_experiment(self.path, self.overrides, self.allow_code)

    def read_run(self) -> "tuple[ExperimentSpec, Path]":
        """Read the experiment, from its file or from its run, and return it with the folder of its outputs."""
        from workbench.report.results.run_tables import RunTables, run_folder
        from workbench.runner.experiment.read import experiment_of_run

        folder = run_folder(self.path, self.outputs)
        if folder.is_file() or folder.suffix in (".yaml", ".yml"):
            return self.read(), self.outputs
        run = RunTables.read(folder)
        if self.overrides:
            raise InputError(f"--set changes an experiment file, and {folder} is a run", "give the file")
        return replace(experiment_of_run(run), allow_code=self.allow_code), folder.parent


def _experiment_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add EXPERIMENT, --outputs, --set and --allow-code to a command, which receives them as its first argument."""

    @wraps(command)
    def call(experiment: Path, outputs: Path, overrides: tuple[str, ...], allow_code: bool, **options: Any) -> None:
        command(ExperimentArguments(experiment, outputs, overrides, allow_code), **options)

    path = click.argument("experiment", type=click.Path(path_type=Path))
    return path(outputs_option("The folder for results.")(set_option(allow_code_option(call))))


@click.command()
@_experiment_options
@click.option("--screen", "screening", is_flag=True, help="First drop configurations that are far behind according to a cheap proxy.")
@click.option("--screen-queries", type=int, metavar="N", help="Screen on a sample of N questions; implies --screen.  [default: 200]")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Compute on N processes of this machine.")
@click.option("--scheduler", metavar="TCP://HOST:PORT", help="Compute on the workers of this Dask scheduler.")
@click.option("--verbose", is_flag=True, help="Print a line for each configuration with the seconds of its stages.")
def sweep(
    experiment: ExperimentArguments, screening: bool, screen_queries: int | None, jobs: int | None, scheduler: str | None, verbose: bool
) -> None:
    """Run an experiment and write its tables, executed notebooks and report.html to OUTPUTS/<name>/.

    Results already in the store are reused, so an interrupted sweep resumes where it stopped. A terminal shows the progress, the time left and the
    best score in one line; a log has a line for each finished configuration.
    """
    from workbench.core.text.progress import notice_line, reporting, sweep_progress
    from workbench.report.sentences import screened_lines
    from workbench.runner.execution.local import FILES, on_workers, run_experiment
    from workbench.runner.execution.outputs import publish
    from workbench.runner.execution.screening import QUERIES, screen

    precompute = on_workers(jobs, scheduler)
    spec = experiment.read()
    if screening or screen_queries is not None:
        spec = screen(spec, experiment.outputs, say_aside, QUERIES if screen_queries is None else screen_queries)
        for line in screened_lines(spec.screening):
            say_aside(line)
    with sweep_progress(spec.name, verbose):
        outcome = run_experiment(spec, experiment.outputs, notice_line, precompute)
        with reporting(FILES):
            publish(outcome, notice_line)
    _print(outcome)


@click.command()
@_experiment_options
@click.argument("later", required=False, type=click.Path(path_type=Path))
@click.option("--trends", is_flag=True, help="Make OUTPUTS/<name>/trends.html from the history of all runs instead.")
@click.option("--output", type=click.Path(path_type=Path), metavar="FILE", help="The page of two runs.  [default: LATER/compared.html]")
def report(experiment: ExperimentArguments, later: Path | None, trends: bool, output: Path | None) -> None:
    """Write the notebooks and report.html of a finished sweep again. Only those that would change are made.

    EXPERIMENT can be its OUTPUT, too. With a second OUTPUT, LATER, compare both runs on one page instead: what changed, and what that did. If
    EXPERIMENT is an executed notebook (.ipynb), write it as a self-contained HTML page beside it instead.
    """
    if later is not None:
        _compare(experiment, later, trends, output)
        return
    if output is not None:
        raise InputError("--output names the page of two runs", "give a second run, or leave it out")
    if experiment.path.suffix == ".ipynb":
        from workbench.report.render.notebook_page import write_notebook_page

        say(f"page: {write_notebook_page(experiment.path)}")
        return
    from workbench.runner.execution.local import check_code, run_experiment
    from workbench.runner.execution.outputs import publish
    from workbench.runner.execution.plan import plan_experiment
    from workbench.runner.execution.screening import as_screened

    spec, outputs = experiment.read_run()
    if trends:
        from workbench.runner.execution.outputs import writing
        from workbench.runner.notebook_runner.notebooks import write_trends
        from workbench.runner.pipeline.context import Workspace

        with writing(outputs / spec.name, say_aside):
            say(f"trends: {write_trends(outputs, spec.name, Workspace.at(outputs).local_store)}")
        return
    check_code(spec)
    spec = as_screened(spec, outputs)
    if not plan_experiment(spec, outputs).complete:
        fix = f"run workbench sweep {experiment.path if experiment.path.is_file() else 'with its experiment file'}"
        raise InputError(f"{outputs} lacks results of {spec.name}, or data or code changed since", fix)
    outcome = run_experiment(spec, outputs, say_aside)
    _print(publish(outcome, say_aside, remember=False))


def _compare(experiment: ExperimentArguments, later: Path, trends: bool, output: Path | None) -> None:
    """Write the comparison of two runs, and print its conclusion."""
    from workbench.report.results.run_tables import RunTables, run_folder
    from workbench.report.runs.comparison_page import RunComparison
    from workbench.report.runs.index import refresh_index

    if output is not None and output.suffix not in (".html", ".htm"):
        raise InputError(f"--output {output} is no name of a page", "name a file that ends in .html")
    if trends or experiment.overrides:
        raise InputError(f"{'--trends' if trends else '--set'} is for one experiment", "leave it out to compare two runs")
    folders = [run_folder(path, experiment.outputs) for path in (experiment.path, later)]
    compared = RunComparison.of(*map(RunTables.read, folders))
    page = folders[1] / "compared.html" if output is None else output
    with store_errors(page.parent):
        page.parent.mkdir(parents=True, exist_ok=True)
        compared.to_html(page)
        refresh_index(folders[1])
    for line in compared.lines:
        say_prose(line)
    say()
    say(f"comparison: {page}")


def _print(outcome: "Outcome") -> None:
    """Print the summary of a run. Exits with 3 if a part of it failed."""
    for line in (*outcome.notes, *outcome.errors):
        say_aside(f"workbench: {line}")
    for line in outcome.lines:
        say_prose(line)
    say()
    say(f"report: {outcome.report}")
    if outcome.failures or outcome.errors:
        sys.exit(3)


@click.command()
@_experiment_options
@click.option(
    "--pilot", "ask", is_flag=True, help="Also ask each model 20 questions and estimate the tokens and the cost of all; this costs calls."
)
def plan(experiment: ExperimentArguments, ask: bool) -> None:
    """Print which results a sweep would compute and reuse, the tokens to embed, the most that answers cost, and the expected minutes.

    A configuration that cannot be planned is named with its error. The exit code is then still 0, since a sweep runs the others. It is 3 if
    all of a pilot's calls failed.
    """
    from workbench.runner.execution.plan import plan_experiment, plan_lines

    spec = experiment.read()
    for line in plan_lines(plan_experiment(spec, experiment.outputs)):
        say(line)
    if ask:
        from workbench.runner.execution.costs import pilot

        results = pilot(spec, experiment.outputs, say_aside)
        for line, _ in results:
            say(line)
        if not all(estimated for _, estimated in results):
            sys.exit(3)


@click.command()
@run_argument
@click.option("--configuration", help="The configuration; needed if OUTPUT has several.")
@click.option("--to", type=click.Path(path_type=Path), help="The folder to create.  [default: OUTPUT/export/CONFIGURATION]")
@allow_code_option
def export(folder: Path, configuration: str | None, to: Path | None, allow_code: bool) -> None:
    """Write a configuration of OUTPUT as a folder that answers questions without Workbench, and say what the verdict says of it."""
    from workbench.api.export.export import export_configuration
    from workbench.report.analysis.findings import findings
    from workbench.report.results.run_tables import RunTables
    from workbench.report.sentences import choice_sentence

    target = export_configuration(folder, configuration, to, allow_code)
    if configuration and (chosen := choice_sentence(findings(RunTables.read(folder)), configuration)):
        say_aside(chosen)
    say(f"{target}: pip install -r requirements.txt, then python retrieve.py 'a question'")
