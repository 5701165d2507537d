"""Run a command of `workbench` with a fault, in a process that is forked for it."""

import json
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import click

from tests.faults.injection import Fault, Injector
from workbench.cli.main import Commands, main
from workbench.errors import RunError
from workbench.execution import latency
from workbench.execution.local import run_experiment
from workbench.execution.outputs import publish_report, write_outputs, writing
from workbench.experiment.read import read_experiment
from workbench.results.history import append

COUNTS = "counts.json"


def run_case(folder: Path, command: Sequence[str], fault: Fault | None) -> NoReturn:
    """Run a command in a folder, leave the counted operations there, and end this process without Python's clean-up."""
    # One timed question of a configuration instead of 50: timings are not compared.
    latency.QUESTIONS = 1
    writing = os.open(folder / COUNTS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    injector = Injector(folder / "outputs", fault)
    injector.install()
    try:
        code = _run(command)
    except BaseException:  # whatever leaves the command is a failure of the case
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(writing, json.dumps(injector.counts).encode())
    os._exit(code)


def _run(command: Sequence[str]) -> int:
    """Run a command of `workbench`, or `tables`: notebooks take longer than everything else in a sweep."""
    group = Commands("workbench", commands={**main.commands, "tables": tables})
    try:
        group.main(command, prog_name="workbench")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@click.command()
def tables() -> None:
    """Do what `workbench sweep` does besides executing notebooks."""
    outcome = run_experiment(read_experiment(Path("small.yaml")), Path("outputs"), print)
    with writing(outcome.folder, print):
        run = write_outputs(outcome)
        append(run, Path("outputs"), datetime.now(UTC))
        publish_report(run, outcome.folder, outcome.context.workspace.local_store)
    if outcome.failures:
        raise RunError("; ".join(f"{name}: {line}" for name, line in outcome.failures.items()))
