"""Run sweeps with a fault, each in a process forked from one that has imported everything: `python -m tests.faults.sweeps`.

A request is a line of JSON on standard input: the folder of the case, the command and the fault. The answer is a line with the exit code and
the counted operations. A fork instead of a new process saves three seconds for each of thousands of sweeps.
"""

import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

_IMPORTED = (
    "chromadb.api.rust",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "PIL.PngImagePlugin",
    "papermill",
    "tests.faults.injection",
    "tokenizers",
    "workbench.embedding.static",
    "workbench.execution.outputs",
    "workbench.experiment.read",
    "workbench.report.render.html",
    "workbench.report.render.terminal",
)


def main() -> None:
    """Serve requests until standard input closes."""
    for name in _IMPORTED:
        importlib.import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        process = os.fork()
        if process == 0:
            _case(request)
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        counts = Path(request["folder"], "counts.json")
        # A killed sweep leaves it empty.
        print(json.dumps([status, json.loads(counts.read_text() or "{}")]), flush=True)


def _case(request: dict[str, Any]) -> NoReturn:
    """Run one request in the forked process, and leave without Python's clean-up."""
    from tests.faults.injection import Fault, Injector

    folder = Path(request["folder"])
    os.chdir(folder)
    counts = folder / "counts.json"
    counts.unlink(missing_ok=True)
    log = os.open("log.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    injector = Injector(folder / "outputs", Fault(*request["fault"]) if request["fault"] else None)
    writing = os.open(counts, os.O_WRONLY | os.O_CREAT)
    injector.install()
    try:
        code = _run(request["command"])
    except BaseException:  # whatever leaves the command is a failure of the case
        traceback.print_exc()
        code = 99
    sys.stdout.flush()
    sys.stderr.flush()
    os.write(writing, json.dumps(injector.counts).encode())
    os._exit(code)


def _run(command: list[str]) -> int:
    """Run a command of `workbench` in this process. `tables` is a sweep without its notebooks, which take longer than everything else."""
    import click

    from workbench.cli.main import Commands, main

    @click.command()
    def tables() -> None:
        sweep_without_notebooks()

    group = Commands("workbench", commands={**main.commands, "tables": tables})
    try:
        group.main(command, prog_name="workbench")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def sweep_without_notebooks() -> None:
    """Do what `workbench sweep` does besides executing notebooks."""
    from datetime import UTC, datetime

    from workbench.errors import RunError
    from workbench.execution.local import run_experiment
    from workbench.execution.outputs import publish_report, write_outputs, writing
    from workbench.experiment.read import read_experiment
    from workbench.results.history import append

    outcome = run_experiment(read_experiment(Path("small.yaml")), Path("outputs"), print)
    with writing(outcome.folder, print):
        run = write_outputs(outcome)
        append(run, Path("outputs"), datetime.now(UTC))
        publish_report(run, outcome.folder, outcome.context.workspace.local_store)
    if outcome.failures:
        raise RunError("; ".join(f"{name}: {line}" for name, line in outcome.failures.items()))


if __name__ == "__main__":
    main()
