"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path

import click

from workbench.core.files import require_folder
from workbench.errors import InputError

set_option = click.option(
    "--set", "overrides", multiple=True, metavar="PATH.TO.KEY=VALUE", help="Change a value of the experiment; can be repeated."
)
allow_code_option = click.option(
    "--allow-code", is_flag=True, help="Import and run the functions that the experiment names; trust it as you would a program."
)


def outputs_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option `--outputs`, a folder that exists or can be made."""
    return click.option("--outputs", default="outputs", show_default=True, metavar="PATH", callback=_folder, help=text)


def _folder(_: click.Context, __: click.Parameter, value: str) -> Path:
    if not value:
        raise InputError("--outputs is empty", "name a folder; . is the working directory")
    return require_folder(Path(value), "--outputs")
