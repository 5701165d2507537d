"""Run `workbench` in this process: without the seconds that Python takes to import pandas and scipy, and with the models that are loaded."""

import contextlib
import subprocess
from collections.abc import Mapping
from pathlib import Path

from click.testing import CliRunner

from workbench.cli.main import main


def workbench(*words: object, cwd: Path | None = None, env: Mapping[str, str | None] | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with variables changed or (None) removed. Tests of signals, terminals and entry points start a process."""
    arguments = [str(word) for word in words]
    with contextlib.chdir(cwd) if cwd else contextlib.nullcontext():
        done = CliRunner().invoke(main, arguments, env=env)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(["workbench", *arguments], done.exit_code, done.stdout, done.stderr)
