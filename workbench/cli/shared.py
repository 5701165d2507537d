"""What several commands share: their options, and where lines go."""

from collections.abc import Callable
from pathlib import Path

import click


def experiment_options(command: Callable[..., None]) -> Callable[..., None]:
    """EXPERIMENT, --outputs and --set."""
    command = click.option(
        "--set", "overrides", multiple=True, metavar="PATH.TO.KEY=VALUE", help="Change a value of the experiment; can be repeated."
    )(command)
    command = click.option("--outputs", type=click.Path(path_type=Path), default="outputs", show_default=True, help="Where results go.")(
        command
    )
    return click.argument("experiment", type=click.Path(path_type=Path))(command)


def say(line: str) -> None:
    """Print progress, beside what a command is asked to print."""
    click.echo(line, err=True)
