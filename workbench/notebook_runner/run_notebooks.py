"""Execute a run's notebooks: one a configuration, then the comparison of all; two at a time where there is room."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from workbench.core import cpu
from workbench.errors import WorkbenchError
from workbench.notebook_runner.kernels import Kernels, closed_loop
from workbench.notebook_runner.notebooks import imported_modules, notebook_path, run_notebook
from workbench.results.run_tables import RunTables
from workbench.storage.result_store import Store

_AT_ONCE = 2
# A notebook takes 0.3 GB where its kernel imports for itself, and the sweep needs some for what follows.
_BYTES_EACH = 1 << 30


@dataclass(frozen=True)
class NotebookJob:
    """A notebook to execute: the name of its source and of its result, what it is given, the identity of what it shows."""

    source: Path
    name: str
    parameters: dict[str, Any]
    shown: list[Any]


def run_notebooks(run: RunTables, folder: Path, store: Store, say: Callable[[str], None]) -> dict[str, str]:
    """Put the executed notebooks of a run under <folder>/notebooks/; the one-line error of each that failed, by name."""
    target, jobs = folder / "notebooks", notebook_jobs(run)
    modules = sorted({module for source in {job.source for job in jobs} for module in imported_modules(source)})
    with Kernels(modules, say) as kernels:
        errors = execute(target, store, jobs, kernels, at_once(), say)
    for stale in set(target.glob("*.ipynb")) - {target / f"{job.name}.ipynb" for job in jobs} - set(target.glob("*.failed.ipynb")):
        stale.unlink()
    return errors


def notebook_jobs(run: RunTables) -> list[NotebookJob]:
    """The notebooks of a run, in the order in which they are told."""
    # Relative to the notebook, so that a copied run shows itself.
    given, whole = {"results": ".."}, run.digest()
    source = notebook_path("configuration")
    jobs = [NotebookJob(source, name, given | {"configuration": name}, [run.digest(name)]) for name in run.names]
    return [*jobs, NotebookJob(notebook_path("comparison"), "comparison", given, [whole])]


def at_once() -> int:
    """How many notebooks run side by side: two, or one where a second core or the memory for it is missing."""
    return max(1, min(_AT_ONCE, cpu.usable(), psutil.virtual_memory().available // _BYTES_EACH))


def execute(
    folder: Path, store: Store, jobs: Sequence[NotebookJob], kernels: Kernels, workers: int, say: Callable[[str], None]
) -> dict[str, str]:
    """Execute notebooks into a folder on so many threads, told in their order whatever ends first; the error of each that failed, by name."""

    def run(one: NotebookJob) -> bool:
        target = folder / f"{one.name}.ipynb"
        with closed_loop():
            return run_notebook(store, one.source, one.parameters, one.shown, target, kernels)

    errors: dict[str, str] = {}
    with ThreadPoolExecutor(workers) as pool:
        results = [pool.submit(run, one) for one in jobs]
        try:
            for number, (one, result) in enumerate(zip(jobs, results, strict=True), 1):
                try:
                    told = "executed" if result.result() else "from the store"
                except WorkbenchError as error:
                    errors[one.name] = "; ".join(error.lines)
                    told = f"FAILED, {errors[one.name]}"
                say(f"notebook {number}/{len(jobs)} {one.name}: {told}")
        except BaseException:
            # Ctrl-C, or what no notebook should do: no further one is begun, and the kernels of those that run are ended.
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.close()
            raise
    return errors
