"""Two processes that run the same sweep on one store."""

from collections.abc import Callable

import pytest

from tests.asked_sweeps import AskedSweep

pytestmark = pytest.mark.slow

SWEEP = """
import sys, time
from pathlib import Path
from workbench.runner.execution.collect import collect
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import read_experiment
experiment = read_experiment(Path(sys.argv[1]))
print("ready", flush=True)
while not Path(sys.argv[3]).exists():
    time.sleep(0.01)
run = collect(run_experiment(experiment, Path(sys.argv[2]), lambda line: None))
print((run.answers["error"] == "").sum(), flush=True)
"""


def test_two_processes_make_each_call_once(asked_sweep: AskedSweep, fork: Callable) -> None:
    asked_sweep.provider.seconds = 0.05
    path = asked_sweep.write(conditions=["none", "gold", "retrieved"], answering={"concurrency": 2})
    gate = asked_sweep.folder / "both are ready"
    processes = [fork(SWEEP, path, asked_sweep.outputs, gate) for _ in range(2)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    gate.touch()
    assert [process.stdout.readline() for process in processes] == ["36\n"] * 2
    assert [process.wait() for process in processes] == [0, 0]
    prompts = asked_sweep.provider.prompts()
    assert len(set(prompts)) == 36
    assert len(prompts) <= 37
