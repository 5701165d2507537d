"""The share of a warm re-run that checks take: a sweep of the handbook with nothing to compute, profiled.

The profiler slows Python calls, so the shares of these small functions are upper bounds. The digests of the store's files are a row of their
own: reads have checked them since the first version. Reads of the vector cache are timed separately, since a warm re-run has none.
"""

import cProfile
import pstats
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import at_most
from benchmarks.swept import HANDBOOK, quiet
from workbench.core.storage.vector_cache import VectorCache
from workbench.runner.execution.local import run_experiment
from workbench.runner.execution.outputs import publish
from workbench.runner.experiment.read import experiment_of

CHUNKINGS = [{"kind": "fixed", "size": [64, 128, 256], "overlap": 0}, {"kind": "sentence", "size": 128}]
SEARCHES = [{"kind": "dense", "k": 10}, {"kind": "dense", "k": 10, "search": "ann"}]
# The functions of each check, by file and name.
CHECKS: dict[str, Sequence[tuple[str, str]]] = {
    "manifests of results": [("stored_files.py", "read"), ("stored_files.py", "fault"), ("result_store.py", "_check_layout")],
    "vectors": [("vector_cache.py", "row_fault"), ("vector_cache.py", "vector_faults"), ("checks.py", "unit_fault")],
    "indexes": [("chroma_index.py", "_damage")],
    "files of models": [("files.py", "_digests")],
    "lines to print": [("printable.py", "printable")],
    "the lock of the outputs": [("outputs.py", "writing")],
}
DIGESTS = ("stored_files.py", "file_fault")
_RUNS, _VECTORS, _DIMENSION = 5, 50_000, 384
_MOST_SHARE = 0.02


def run() -> dict[str, Any]:
    """Return the CPU seconds of a warm re-run, the shares of its checks, the microseconds for a cached vector, and the claim."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder, "outputs")
        _sweep(outputs)
        profiles = [_profiled(lambda: _sweep(outputs)) for _ in range(_RUNS)]
        cached = _cached_vector(Path(folder))
    seconds = [profile.total_tt for profile in profiles]
    shares = {name: statistics.median(_share(profile, functions) for profile in profiles) for name, functions in CHECKS.items()}
    total = sum(shares.values())
    return {
        "CPU seconds": {"warm re-run": round(statistics.median(seconds), 2)},
        "shares": {name: round(share, 5) for name, share in shares.items()},
        "share of the files' digests": round(statistics.median(_share(profile, [DIGESTS]) for profile in profiles), 4),
        "microseconds to read and check a cached vector": round(cached, 1),
        "claims": [at_most("share of a warm re-run that checks take", round(total, 4), _MOST_SHARE)],
    }


def _sweep(outputs: Path) -> None:
    dataset = {"kind": "golden", "path": str(HANDBOOK), "split": "dev"}
    settings = {"name": "checked", "dataset": dataset, "sweep": {"chunking": CHUNKINGS, "retrieval": SEARCHES}}
    outcome = run_experiment(experiment_of(settings, "checked"), outputs, quiet)
    if outcome.failures or publish(outcome, quiet).errors:
        raise RuntimeError(f"the sweep failed: {outcome.failures}")


def _profiled(call: Callable[[], None]) -> Any:
    profiler = cProfile.Profile(time.process_time)
    profiler.runcall(call)
    return pstats.Stats(profiler)


def _share(profile: Any, functions: Sequence[tuple[str, str]]) -> float:
    """The share of a profile's time in these functions and all that they call."""
    spent = [
        cumulative
        for (file, _, name), (_, _, _, cumulative, _) in profile.stats.items()
        if (Path(file).name, name) in functions and "workbench" in file
    ]
    return float(sum(spent) / profile.total_tt)


def _cached_vector(folder: Path) -> float:
    cache, random = VectorCache(folder / "vectors.sqlite"), np.random.default_rng(0)
    vectors = random.normal(size=(_VECTORS, _DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    keys = [number.to_bytes(16) for number in range(_VECTORS)]
    cache.put(keys, vectors)
    started = time.perf_counter()
    cache.get(keys, _DIMENSION)
    return (time.perf_counter() - started) / _VECTORS * 1e6
