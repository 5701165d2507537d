"""The command `workbench`: parse, call, print. Exit 0 good, 1 a check says no, 2 the input is wrong, 3 it broke while running."""

import functools
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from workbench import __version__
from workbench.errors import InputError, WorkbenchError

_SHOWN_FAULTS = 100
# Written out, since importing the sources takes longer than showing the help.
_KINDS = ("golden", "list", "beir", "nfcorpus", "trec", "table")


class Commands(click.Group):
    """A group whose commands end with one clear line and the exit code of the error, never with a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors become lines and exit codes."""
        try:
            return super().invoke(ctx)
        except WorkbenchError as error:
            for line in error.lines[:_SHOWN_FAULTS]:
                click.echo(f"workbench: {line}", err=True)
            if len(error.lines) > _SHOWN_FAULTS:
                click.echo(f"workbench: and {len(error.lines) - _SHOWN_FAULTS} more", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("\nworkbench: interrupted; what was finished is kept, the same command goes on from there", err=True)
            ctx.exit(130)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:  # the last line of defence: a person sees one line and where the rest is
            line = " ".join(f"{type(error).__name__}: {error}".split())
            click.echo(f"workbench: unexpected {line}; what was finished is kept{_details()}", err=True)
            ctx.exit(3)


def _details() -> str:
    """Where the traceback was written; nothing where even that failed."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="workbench-error-", suffix=".txt", delete=False) as file:
            file.write(traceback.format_exc())
    except OSError:
        return ""
    return f", details are in {file.name}"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="workbench")
def main() -> None:
    """Which chunking, embedding and retrieval is better on your documents, and how sure that is."""


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    command = click.option(
        "--set", "overrides", multiple=True, metavar="PATH.TO.KEY=VALUE", help="Change a value of the experiment; can be repeated."
    )(command)
    command = click.option("--outputs", type=click.Path(path_type=Path), default="outputs", show_default=True, help="Where results go.")(
        command
    )
    return click.argument("experiment", type=click.Path(path_type=Path))(command)


@main.command()
@_shared
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
    from workbench.execution.outputs import write_outputs
    from workbench.execution.screening import QUERIES, screen
    from workbench.experiment.read import read_experiment
    from workbench.report.text.screening import screened_lines

    spec = read_experiment(experiment, overrides)
    if screening or screen_queries is not None:
        spec = screen(spec, outputs, _say, QUERIES if screen_queries is None else screen_queries)
        for line in screened_lines(spec.screening):
            _say(line)
    outcome = run_experiment(spec, outputs, _say, _on_workers(jobs, scheduler))
    write_outputs(outcome)
    remembered = _remember(outcome, outputs)
    _publish(outcome, experiment, overrides)
    if not remembered:
        sys.exit(3)


def _on_workers(jobs: int | None, scheduler: str | None) -> Any:
    """What lets workers compute; None where they are not asked for."""
    if not (jobs or scheduler):
        return None
    from workbench.execution.dask.precompute import compute_ahead

    return functools.partial(compute_ahead, jobs=jobs, scheduler=scheduler)


def _remember(outcome: Any, outputs: Path) -> bool:
    """Append the run to the history; a history that cannot be written is said, and stops neither tables nor report."""
    from workbench.results.history import append

    try:
        append(outcome, outputs, datetime.now(UTC))
    except WorkbenchError as error:
        click.echo(f"workbench: this run is not in the history: {'; '.join(error.lines)}", err=True)
        return False
    return True


@main.command()
@_shared
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
    _publish(run_experiment(spec, outputs, _say), experiment, overrides)


def _report_trends(name: str, outputs: Path) -> None:
    from workbench.report.render.trends_page import write_trends

    click.echo(f"trends: {write_trends(outputs, name)}")


def _publish(outcome: Any, experiment: Path, overrides: tuple[str, ...]) -> None:
    from workbench.notebook_runner.run_notebooks import run_notebooks
    from workbench.report.cached import kept_report

    if not outcome.results:
        click.echo(f"workbench: all {len(outcome.failures)} configurations failed; nothing to report", err=True)
        sys.exit(3)
    errors = run_notebooks(outcome, experiment, overrides, _say)
    report = kept_report(outcome)
    for line in report.lines:
        click.echo(line)
    click.echo(f"\nreport: {report.path}")
    if outcome.failures or errors:
        sys.exit(3)


@main.command()
@_shared
def plan(experiment: Path, outputs: Path, overrides: tuple[str, ...]) -> None:
    """Print what a sweep would compute and reuse, the tokens to embed and the minutes expected."""
    from workbench.execution.plan import plan_experiment
    from workbench.experiment.read import read_experiment
    from workbench.report.render.terminal import plan_lines

    for line in plan_lines(plan_experiment(read_experiment(experiment, overrides), outputs)):
        click.echo(line)


@main.group()
def dataset() -> None:
    """Datasets: documents, questions, labels."""


def _place(command: Callable[..., None]) -> Callable[..., None]:
    options = [
        click.option("--kind", type=click.Choice(_KINDS), help="What it is; without it the path is looked at."),
        click.option("--split", help="The questions of one split only."),
        click.option("--documents", help="Documents that lie elsewhere: a folder, a JSON Lines file or a table."),
        click.option("--qrels", help="The judgements of TREC topics, where they lie elsewhere."),
    ]
    for option in reversed(options):
        command = option(command)
    return click.argument("path")(command)


@dataset.command()
@_place
def check(path: str, split: str | None, **given: str | None) -> None:
    """Report every fault of a dataset at once, whatever its kind. Exit 1 if there is one."""
    from workbench.datasets.checks import faults, notes
    from workbench.datasets.sources import recognise

    draft = recognise(path, split, **given).read()
    found = faults(draft)
    for note in notes(draft):
        click.echo(f"note: {note}")
    for fault in found:
        click.echo(fault)
    counts = f"{len(draft.documents):,} documents, {len(draft.queries):,} queries, {len(draft.qrels):,} judgements, {len(draft.evidence):,} evidence spans"
    click.echo(f"{path}: {counts}; {f'{len(found):,} faults' if len(found) != 1 else '1 fault'}")
    sys.exit(1 if found else 0)


@dataset.command("import")
@_place
@click.option("--to", "folder", type=click.Path(path_type=Path), required=True, help="The folder to write; new or empty.")
@click.option("--recurrences/--no-recurrences", default=True, show_default=True, help="Verbatim recurrences of evidence are alternatives.")
def import_(path: str, folder: Path, split: str | None, recurrences: bool, **given: str | None) -> None:
    """Read a dataset of any kind and write it as a golden folder: documents.jsonl and questions.jsonl.

    Texts given as relevant chunks become evidence spans, and verbatim recurrences of evidence become alternatives.
    """
    from workbench.datasets.checks import notes
    from workbench.datasets.formats.golden_rows import write_golden
    from workbench.datasets.sources import recognise

    source = recognise(path, split, **given)
    if "recurrences" in type(source).model_fields:
        source = source.model_copy(update={"recurrences": recurrences})
    draft = source.read()
    made = source.dataset(draft)
    write_golden(made, folder)
    for note in notes(draft):
        click.echo(f"note: {note}")
    places = sum(len(need.alternatives) for need in made.needs)
    counts = f"{len(made.documents):,} documents, {len(made.queries):,} queries, {len(made.qrels):,} judgements"
    click.echo(f"{folder}: {counts}, {len(made.needs):,} needs of evidence with {places:,} places")


@main.command()
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--configuration", help="Which one; may be left out where there is only one.")
@click.option("--to", "folder", type=click.Path(path_type=Path), help="The folder to make.  [default: OUTPUT/export/CONFIGURATION]")
def export(output: Path, configuration: str | None, folder: Path | None) -> None:
    """Write a configuration of OUTPUT (outputs/<name>) as a folder that answers questions without Workbench."""
    from workbench.export.export import export_configuration

    made = export_configuration(output, configuration, folder)
    click.echo(f"{made}: pip install -r requirements.txt, then python retrieve.py 'a question'")


@main.command()
def lab() -> None:
    """Open the notebooks in JupyterLab."""
    from importlib.util import find_spec

    from workbench.notebook_runner.notebooks import notebook_path

    if find_spec("jupyterlab") is None:
        raise InputError("JupyterLab is not installed", "pip install 'workbench[lab]'")
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", str(notebook_path("comparison"))])


def _say(line: str) -> None:
    click.echo(line, err=True)
