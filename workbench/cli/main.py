"""The command `workbench`: parse, call, print.

Exit codes: 0 success, 1 a check failed, 2 wrong input, 3 an error while running, 4 undecided, 130 interrupted with Ctrl-C.
"""

import errno
import gc
import pkgutil
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import click

from workbench import __version__, cli
from workbench.core.environment import skip_schema_grammar
from workbench.core.errors import WorkbenchError, error_line, is_panic
from workbench.core.text.printable import printable, printable_line
from workbench.core.text.terminal import print_messages_safely, say_aside

_SHOWN_FAULTS = 100


class Commands(click.Group):
    """A group whose commands report errors as lines with an exit code, without a traceback."""

    def make_context(self, *values: Any, **options: Any) -> click.Context:
        """Read the group's own arguments."""
        with _printable_usage():
            return super().make_context(*values, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and turn errors into lines and exit codes."""
        try:
            with _printable_usage():
                return super().invoke(ctx)
        except WorkbenchError as error:
            for line in error.lines[:_SHOWN_FAULTS]:
                say_aside(f"workbench: {line}")
            if len(error.lines) > _SHOWN_FAULTS:
                say_aside(f"workbench: and {len(error.lines) - _SHOWN_FAULTS} more")
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            say_aside("")
            say_aside("workbench: interrupted; finished results are kept, run the same command again to resume")
            ctx.exit(130)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:
            # The reader of the output, such as `head`, wants no more. Click ends the process.
            raise
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                self._unexpected(ctx, error)
            say_aside(f"workbench: the path {str(error.filename)[:80]}… is too long for a file; give a shorter one")
            ctx.exit(2)
        except BaseException as error:
            if not isinstance(error, Exception) and not is_panic(error):
                raise
            self._unexpected(ctx, error)

    def _unexpected(self, ctx: click.Context, error: BaseException) -> NoReturn:
        # The traceback goes to a file, not to the terminal.
        say_aside(f"workbench: unexpected {error_line(error)}; finished results are kept{_details()}")
        ctx.exit(3)


@contextmanager
def _printable_usage() -> Iterator[None]:
    """Make click's errors printable: they repeat arguments, which can be names of files."""
    try:
        yield
    except click.UsageError as error:
        if printable(error.message) == error.message:
            raise
        raise click.UsageError(printable_line(error.format_message()), error.ctx) from None


def _details() -> str:
    """Write the traceback to a file and return where it is, or an empty text if the file cannot be written."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", prefix="workbench-error-", suffix=".txt", delete=False
        ) as file:
            file.write(printable(traceback.format_exc()))
    except OSError:
        return ""
    return f", details are in {file.name}"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="workbench")
def main() -> None:
    """Compare chunking, embedding and retrieval on your documents, with the uncertainty of every result."""


def _commands() -> Iterator[click.Command]:
    """Yield the commands of the other files of this folder, without those that a group has."""
    for name in (module.name for module in pkgutil.iter_modules(cli.__path__) if module.name != "main"):
        commands = [value for value in vars(import_module(f"{cli.__name__}.{name}")).values() if isinstance(value, click.Command)]
        inner = [command for group in commands if isinstance(group, click.Group) for command in group.commands.values()]
        yield from (command for command in commands if command not in inner)


for _command in _commands():
    main.add_command(_command)


def run() -> None:
    """Run the command in this process, as its entry point."""
    # Imports make many objects and nothing to collect: looking for it takes a tenth of a short command.
    gc.set_threshold(50_000)
    skip_schema_grammar()
    print_messages_safely()
    main()
