"""Print lines. Everything that Workbench prints goes through `say` or, beside progress bars, `core.text.progress.say_above`."""

import logging
import os
import sys
import textwrap
import warnings
from contextlib import suppress
from io import TextIOWrapper
from shutil import get_terminal_size

import click

from workbench.core.operating_system import ON_WINDOWS
from workbench.core.text.printable import printable, printable_line


def say(line: str = "", err: bool = False) -> None:
    """Print a line, with visible control characters and without secrets."""
    click.echo(printable_line(line), err=err)


def say_prose(line: str) -> None:
    """Print a line, broken between words where the terminal ends. Indented lines, such as commands, stay whole, and all lines outside a terminal."""
    whole = not sys.stdout.isatty() or line.startswith(" ")
    parts = [] if whole else textwrap.wrap(line, get_terminal_size().columns, break_long_words=False, break_on_hyphens=False)
    for part in parts or [line]:
        say(part)


def say_command(line: str) -> None:
    """Print a workflow command of GitHub Actions, whose values are printable."""
    click.echo(line)


def say_aside(line: str) -> None:
    """Print a line to stderr, apart from a command's output."""
    say(line, err=True)


def print_messages_safely() -> None:
    """Make Python's warnings, and log records without a handler, pass through `printable` too, and show characters that the output has not as `\\u2212`."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A pipe on Windows has an encoding without a minus sign.
        encoding = "utf-8" if ON_WINDOWS and "PYTHONIOENCODING" not in os.environ else None
        # A stream that reads and writes a pipe cannot be changed.
        with suppress(OSError):
            sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    usual = warnings.formatwarning
    warnings.formatwarning = lambda *values, **options: printable(usual(*values, **options))
    if logging.lastResort:
        logging.lastResort.setFormatter(_PrintableFormatter())


class _PrintableFormatter(logging.Formatter):
    """A formatter of printable messages."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))
