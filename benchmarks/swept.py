"""Our side of the sweep benchmark: sweeps with their seconds, cold, again and with one chunking more."""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.loops import Chunking
from workbench.report.results.run_tables import RunTables
from workbench.runner.execution.local import Outcome, run_experiment
from workbench.runner.execution.outputs import publish_report, write_outputs
from workbench.runner.experiment.read import experiment_of, read_experiment
from workbench.runner.notebook_runner.notebooks import run_notebooks
from workbench.runner.pipeline.registry import STAGES

HANDBOOK = Path(__file__).parents[1] / "experiments" / "handbook"
FILE = "covid.yaml"
_AGAIN = 3


@dataclass
class Swept:
    """A sweep without notebooks, with its seconds and those of its tables."""

    outcome: Outcome
    seconds: float
    tables: float


def warm(outputs: Path) -> None:
    """Load everything that a sweep needs, and convert the model, on other texts."""
    dataset = {"kind": "golden", "path": str(HANDBOOK), "split": "dev"}
    settings = {"name": "warm", "dataset": dataset, "sweep": {"chunking": {"kind": "whole", "enrich": [False, True]}}}
    write_outputs(run_experiment(experiment_of(settings, "warm"), outputs, quiet))


def sweep(place: Path, outputs: str, chunkings: Sequence[Chunking]) -> Swept:
    """Our side: chunks, vectors, indexes, exact and approximate ranks, all default metrics, tables."""
    path = place / FILE
    settings = {"name": "covid", "dataset": {"kind": "beir", "path": str(place / "part")}, "sweep": {"chunking": list(chunkings)}}
    path.write_text(yaml.safe_dump(settings))
    started = time.perf_counter()
    outcome = run_experiment(read_experiment(path), place / outputs, quiet)
    computed = time.perf_counter()
    write_outputs(outcome)
    ended = time.perf_counter()
    if outcome.failures:
        raise RuntimeError(f"the sweep failed: {outcome.failures}")
    return Swept(outcome, ended - started, ended - computed)


def notebooks(swept: Swept) -> float:
    """The seconds of a sweep's notebooks and its report."""
    started = time.perf_counter()
    folder, store = swept.outcome.folder, swept.outcome.run.workspace.store
    run = RunTables.read(folder)
    errors = run_notebooks(run, folder, store, quiet)
    publish_report(run, folder, store)
    if errors:
        raise RuntimeError(f"notebooks failed: {errors}")
    return time.perf_counter() - started


def later(place: Path, chunkings: Sequence[Chunking], added: Chunking) -> dict[str, float]:
    """Seconds of the sweeps after a cold one: the same as a command and again, with one more chunking, and that one alone."""
    process = as_command(place)
    again = statistics.median(sweep(place, "outputs", chunkings).seconds for _ in range(_AGAIN))
    more = sweep(place, "outputs", [*chunkings, added])
    alone = sweep(place, "alone", [added])
    return {
        "again": again,
        "again, as a command with notebooks and report": process,
        "one more": more.seconds,
        "that one alone": alone.seconds,
        "that one alone, its questions": parts(alone)["queries"],
        "that one alone, again": statistics.median(sweep(place, "alone", [added]).seconds for _ in range(_AGAIN)),
    }


def as_command(place: Path) -> float:
    """Time `workbench sweep` in a new process, in seconds: imports, tables, notebooks, report."""
    words = ["-c", "from workbench.cli.main import run; run()", "sweep", str(place / FILE), "--outputs", str(place / "outputs")]
    started = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    return time.perf_counter() - started


def parts(swept: Swept) -> dict[str, float]:
    """The seconds of a sweep by stage, of its tables, and of everything else (reading, keys, locks)."""
    found = dict.fromkeys(STAGES, 0.0)
    for result in swept.outcome.results:
        for stage, entries in result.entries.items():
            found[stage] += sum(entry.seconds for entry in entries.values() if entry.computed)
    found["tables"] = swept.tables
    return found | {"rest": swept.seconds - sum(found.values())}


def quiet(line: str) -> None:
    """Print no progress, only figures."""
