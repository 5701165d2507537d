"""Workers killed at random moments, and a task that kills every worker it gets."""

import contextlib
import functools
import os
import random
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import psutil
import pytest

from workbench.core.schemas import SCHEMAS
from workbench.runner.execution.dask_sweep import precompute
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import experiment_of

SWEEP = {"chunking": [{"kind": "fixed", "size": [64, 128, 256], "overlap": 0}, {"kind": "sentence", "size": 128}]}


def run(part: Path, outputs: Path, sweep: dict[str, object], jobs: int | None = None) -> Outcome:
    settings = {"name": "soak", "dataset": {"kind": "golden", "path": str(part)}, "sweep": sweep}
    ahead = functools.partial(precompute, jobs=jobs) if jobs else None
    outcome = run_experiment(replace(experiment_of(settings, "soak"), allow_code=True), outputs, lambda _: None, ahead)
    write_outputs(outcome)
    return outcome


def same(found: Outcome, expected: Outcome) -> None:
    for name in {name for name, schema in SCHEMAS.items() if schema.required} - {"timings"}:
        ours, theirs = (pd.read_parquet(one.folder / f"{name}.parquet") for one in (found, expected))
        pd.testing.assert_frame_equal(ours, theirs, atol=1e-5)


def workers() -> list[psutil.Process]:
    """The worker processes of this process's sweep."""
    found = []
    for child in psutil.Process().children(recursive=True):
        # One that was killed before may be a zombie now.
        with contextlib.suppress(psutil.Error):
            if "spawn_main" in " ".join(child.cmdline()):
                found.append(child)
    return found


class Killer:
    """Kills a worker every few seconds, `times` times, while the context is open."""

    def __init__(self, times: int, seed: int) -> None:
        self._left, self._moments = times, random.Random(seed)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.killed = 0

    def __enter__(self) -> "Killer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        while self.killed < self._left and not self._end.wait(self._moments.uniform(2, 8)):
            if found := workers():
                self._moments.choice(found).send_signal(signal.SIGKILL)
                self.killed += 1


@pytest.mark.soak
def test_workers_killed_at_random_moments_change_nothing(handbook_part, tmp_path):
    alone = run(handbook_part, tmp_path / "alone", SWEEP)
    killed = 0
    for seed in range(5):
        with Killer(3, seed) as killer:
            found = run(handbook_part, tmp_path / f"killed-{seed}", SWEEP, jobs=2)
        killed += killer.killed
        assert not found.failures
        same(found, alone)
    assert killed >= 5


@pytest.mark.soak
def test_a_task_that_kills_its_workers_fails_its_configuration_alone(handbook_few, tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text("import os, signal\n\n\ndef cut(text):\n    os.kill(os.getpid(), signal.SIGKILL)\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    sweep = {"chunking": [{"kind": "callable", "callable": "deadly:cut"}, *SWEEP["chunking"]]}
    started = time.monotonic()
    found = run(handbook_few, tmp_path / "outputs", sweep, jobs=2)
    print(f"{time.monotonic() - started:.0f} s")
    assert list(found.failures) == ["callable-deadly.cut"]
    assert "workers died while they ran chunks-" in found.failures["callable-deadly.cut"]
    assert len(found.results) == 4
