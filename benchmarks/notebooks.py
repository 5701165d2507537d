"""Ten notebooks of a sweep whose results are all in the store: plain papermill, forked kernels, and two forked kernels at once.

The notebooks show configurations of BM25 over fixed chunks of the handbook on the development questions. The three methods take
turns, and each round's ratios refer to its own plain run, since the speed of a shared machine varies.
"""

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import write_outputs
from workbench.runner.experiment.read import read_experiment
from workbench.runner.notebook_runner.kernels import Kernels
from workbench.runner.notebook_runner.notebooks import NotebookJob, execute, imported_modules, notebook_jobs

ROUNDS = 3
WAYS = {"plain": (False, 1), "forked": (True, 1), "forked, two at once": (True, 2)}
EXPERIMENT = """
name: ten
dataset: {kind: golden, path: HANDBOOK, split: dev}
pipeline: {retrieval: {kind: bm25}}
sweep: {chunking: [{kind: fixed, size: [48, 64, 96, 128, 160], overlap: [0, 16]}]}
"""


def run() -> dict[str, object]:
    """Seconds of wall and of CPU (kernels included) for ten notebooks, and the ratios to plain ones."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ten.yaml"
        path.write_text(EXPERIMENT.replace("HANDBOOK", str(Path(__file__).parents[1] / "experiments" / "handbook")))
        outcome = run_experiment(read_experiment(path, ()), Path(folder) / "outputs", lambda _: None)
        jobs = notebook_jobs(write_outputs(outcome))[:-1]
        execute_all(outcome, jobs, *WAYS["forked"])  # not measured: papermill's import
        rounds = [{name: execute_all(outcome, jobs, *options) for name, options in WAYS.items()} for _ in range(ROUNDS)]
    return {
        "notebooks": len(outcome.results),
        "rounds": rounds,
        "ratios": {
            f"plain / {name}, {kind}": statistics.median(times["plain"][kind] / times[name][kind] for times in rounds)
            for name in list(WAYS)[1:]
            for kind in ("wall", "cpu")
        },
    }


def execute_all(outcome: Outcome, jobs: Sequence[NotebookJob], fork: bool, workers: int) -> dict[str, float]:
    """Seconds of wall and of CPU for executing notebooks, none of which is in the store."""
    store = outcome.run.workspace.store
    for kind in ("notebooks", "records"):
        shutil.rmtree(store.root / kind, ignore_errors=True)
    wall, cpu = time.perf_counter(), sum(os.times()[:4])
    with Kernels(imported_modules(jobs[0].source), lambda _: None, fork) as kernels:
        errors = execute(outcome.folder / "notebooks", store, jobs, kernels, workers, lambda _: None)
    assert not errors, errors
    return {"wall": round(time.perf_counter() - wall, 2), "cpu": round(sum(os.times()[:4]) - cpu, 2)}
