"""Print lines. Everything that Workbench prints goes through `say` or, beside progress bars, `core.text.progress.say_above`."""

import logging
import warnings

import click

from workbench.core.text.printable import printable, printable_line


def say(line: str = "", err: bool = False) -> None:
    """Print a line, with visible control characters and without secrets."""
    click.echo(printable_line(line), err=err)


def say_command(line: str) -> None:
    """Print a workflow command of GitHub Actions, whose values are printable."""
    click.echo(line)


def say_aside(line: str) -> None:
    """Print a line to stderr, apart from a command's output."""
    say(line, err=True)


def print_messages_safely() -> None:
    """Make Python's warnings, and log records without a handler, pass through `printable` too."""
    usual = warnings.formatwarning
    warnings.formatwarning = lambda *values, **options: printable(usual(*values, **options))
    if logging.lastResort:
        logging.lastResort.setFormatter(_PrintableFormatter())


class _PrintableFormatter(logging.Formatter):
    """A formatter of printable messages."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
