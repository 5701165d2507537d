"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path

import click

from workbench.errors import InputError


def outputs_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option `--outputs`, a folder that exists or can be made."""
    return click.option("--outputs", default="outputs", show_default=True, metavar="PATH", callback=_folder, help=text)


def _folder(_: click.Context, __: click.Parameter, value: str) -> Path:
    if not value:
        raise InputError("--outputs is empty", "name a folder; . is the working directory")
    path = Path(value)
    nearest = next((place for place in (path, *path.parents) if place.exists()), path)
    if not nearest.is_dir():
        raise InputError(
            f"--outputs {path} is not a folder" + ("" if nearest == path else f", since {nearest} is a file"), "name another one"
        )
    return path
