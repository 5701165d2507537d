"""kill -9 while answers are judged: the next sweep makes the calls that were in flight again, and no others."""

import time
from collections import Counter
from collections.abc import Callable

import pytest

from tests.judged_sweeps import JudgedSweep, about_the_run

pytestmark = pytest.mark.slow

CONCURRENCY = 4
SWEEP = """
import json
import sys
from pathlib import Path
from workbench.runner.execution.local import run_experiment
from workbench.runner.experiment.read import experiment_of
settings = json.loads(Path(sys.argv[1]).read_text("utf-8"))
run_experiment(experiment_of(settings, "here"), Path(sys.argv[2]), lambda _: None)
"""


@pytest.mark.parametrize("kills", [1, pytest.param(6, marks=pytest.mark.soak)])
def test_a_kill_loses_at_most_the_calls_in_flight(judged_sweep: JudgedSweep, fork: Callable, kills: int) -> None:
    provider = judged_sweep.provider
    judging = dict.fromkeys(("support", "relevance", "correctness"), judged_sweep.judge(concurrency=CONCURRENCY))
    path = judged_sweep.write(judging=judging)
    for number in range(1, kills + 1):
        process = fork(SWEEP, path, judged_sweep.outputs)
        provider.seconds = 0.0
        while len(about_the_run(provider)) < 6 * number and process.poll() is None:
            # Only the calls about the run take long enough to be under way when the process is killed.
            provider.seconds = 0.1 if about_the_run(provider) else 0.0
            time.sleep(0.005)
        assert process.poll() is None, process.stderr.read()
        process.kill()
        process.wait()
    time.sleep(0.3)
    provider.seconds = 0.0
    judged_sweep.run(judging=judging)
    made = Counter(about_the_run(provider))
    assert sum(made.values()) - len(made) <= kills * CONCURRENCY
    calls = len(provider.asked)
    assert all(not new for result in judged_sweep.run(judging=judging).results for new in result.computed.values())
    assert len(provider.asked) == calls
