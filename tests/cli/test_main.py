import pkgutil
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from workbench import cli
from workbench.cli.main import Commands, main


@click.command()
def broken() -> None:
    raise LookupError("no cats\x1b]0;owned\x07 at http://me:hunter2@host")


def test_an_unexpected_error_prints_one_line_and_saves_a_printable_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = CliRunner().invoke(Commands(commands=[broken]), ["broken"])
    (details,) = tmp_path.glob("workbench-error-*.txt")
    error = r"LookupError: no cats\x1b]0;owned\x07 at http://host"
    assert (done.exit_code, done.stdout) == (3, "")
    assert done.stderr == f"workbench: unexpected {error}; finished results are kept, details are in {details}\n"
    saved = details.read_text("utf-8")
    assert saved.startswith("Traceback (most recent call last):\n")
    assert saved.splitlines()[-1] == error
    assert not {"\x1b", "\x07"} & set(saved)
    assert "hunter2" not in saved


@pytest.mark.slow
def test_a_reader_that_stops_early_such_as_head_is_no_error(tmp_path: Path) -> None:
    command = [Path(sys.executable).parent / "workbench", "plan", "experiments/quickstart.yaml", "--outputs", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as plan:
        assert plan.stdout is not None
        assert plan.stderr is not None
        plan.stdout.close()
        assert plan.stderr.read() == ""
    assert plan.returncode == 1


def test_each_file_of_the_folder_gives_a_command_with_a_help_text() -> None:
    names = [module.name for module in pkgutil.iter_modules(cli.__path__) if module.name not in ("main", "options")]
    modules = {command.callback.__module__ for command in main.commands.values() if command.callback}
    for name in names:
        assert f"workbench.cli.{name}" in modules, f"workbench/cli/{name}.py has no command: decorate a function with @click.command()"
    for name, command in main.commands.items():
        assert command.help, f"the command {name} has no docstring, which is its help text"


def test_each_command_and_each_option_says_how_it_is_used_and_is_run_by_a_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parents[1].rglob("test_*.py"))
    for name, command in main.commands.items():
        for option in (option for part in (command, *getattr(command, "commands", {}).values()) for option in part.params):
            assert isinstance(option, click.Argument) or getattr(option, "help", None), (
                f"workbench {name}: the option {option.opts[0]} has no help="
            )
        assert re.search(rf"\w*\([^()\"]*\"{name}\"", tests), f"no test runs workbench {name}: write one with tests.commands.workbench"
