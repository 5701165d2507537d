"""Execute a run's notebooks, one per configuration, then their comparison, answers and judges, two at a time if cores and memory allow."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from jupyter_core.utils import ensure_event_loop

from workbench.core.environment import usable_cores
from workbench.core.errors import WorkbenchError
from workbench.core.fingerprint import file_digest
from workbench.core.storage.result_store import Store
from workbench.report.analysis.judging.judges import has_judges
from workbench.report.render.html import write_page
from workbench.report.results.history import history_path
from workbench.report.results.question_scores import scores_path
from workbench.report.results.run_tables import RunTables
from workbench.report.trends import load_history
from workbench.runner.notebook_runner.kernels import Kernels
from workbench.runner.notebook_runner.notebooks import imported_modules, notebook_path, run_notebook

_AT_ONCE = 2
# A notebook takes 0.3 GB without a forked kernel, and the sweep needs memory too.
_BYTES_EACH = 1 << 30
# The notebooks import only `workbench`, which imports these on first use: a second in each kernel.
USED = ("scipy.stats", "workbench.api.results")


@dataclass(frozen=True)
class NotebookJob:
    """A notebook to execute: its source, the name of the result, its parameters, and the digests of the results it shows."""

    source: Path
    name: str
    parameters: dict[str, Any]
    shown: list[Any]


def run_notebooks(run: RunTables, folder: Path, store: Store, say: Callable[[str], None]) -> dict[str, str]:
    """Execute a run's notebooks into <folder>/notebooks/ and return one-line errors by name for those that failed."""
    target, jobs = folder / "notebooks", notebook_jobs(run)
    modules = {module for source in {job.source for job in jobs} for module in imported_modules(source)}
    with Kernels([*sorted(modules), *USED], say) as kernels:
        errors = execute(target, store, jobs, kernels, at_once(), say)
    for stale in set(target.glob("*.ipynb")) - {target / f"{job.name}.ipynb" for job in jobs} - set(target.glob("*.failed.ipynb")):
        stale.unlink()
    return errors


def notebook_jobs(run: RunTables) -> list[NotebookJob]:
    """Return the notebooks of a run in the order of their reports."""
    # Relative to the notebook, so that a copied run shows its own results.
    parameters, source = {"results": ".."}, notebook_path("configuration")
    jobs = [NotebookJob(source, name, parameters | {"configuration": name}, [run.digest(name)]) for name in run.names]
    jobs.append(NotebookJob(notebook_path("comparison"), "comparison", parameters, [run.digest()]))
    if len(run.answers):
        jobs.append(NotebookJob(notebook_path("answers"), "answers", parameters, [run.digest()]))
    if has_judges(run):
        labels = [table.to_json(orient="values") for table in (run.labels, run.calibration, run.corrected)]
        jobs.append(NotebookJob(notebook_path("judge"), "judge", parameters, [run.digest(), *labels]))
    return jobs


def at_once() -> int:
    """Return how many notebooks to run at once: two, or one without a second core or enough memory."""
    return max(1, min(_AT_ONCE, usable_cores(), int(psutil.virtual_memory().available) // _BYTES_EACH))


def execute(
    folder: Path, store: Store, jobs: Sequence[NotebookJob], kernels: Kernels, workers: int, say: Callable[[str], None]
) -> dict[str, str]:
    """Execute notebooks into a folder on several threads, report them in order, and return the one-line errors of failed ones by name."""
    from papermill.iorw import local_file_io_cwd

    def run(job: NotebookJob) -> bool:
        # Jupyter creates an event loop for each thread and leaves it open.
        with closing(ensure_event_loop()):
            return run_notebook(store, job.source, job.parameters, job.shown, folder / f"{job.name}.ipynb", kernels)

    errors: dict[str, str] = {}
    # papermill changes the working directory while it writes, for all threads. Runs side by side leave it at that of the run before
    # them, in which relative paths name nothing: one outer run sets it for all.
    with local_file_io_cwd(), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            for number, (job, future) in enumerate(zip(jobs, futures, strict=True), 1):
                try:
                    outcome = "executed" if future.result() else "from the store"
                except WorkbenchError as error:
                    errors[job.name] = "; ".join(error.lines)
                    outcome = f"FAILED, {errors[job.name]}"
                say(f"notebook {number}/{len(jobs)} {job.name}: {outcome}")
        except BaseException:
            # After Ctrl-C or an unexpected error, start no further notebook and end the running kernels.
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.close()
            raise
    return errors


def write_trends(outputs: Path, experiment: str, store: Store) -> Path:
    """Run the trends notebook on the history into `<outputs>/<experiment>/trends.ipynb`, write `trends.html` and return its path."""
    view, folder = load_history(outputs, experiment), outputs / experiment
    parameters = {"outputs": "..", "experiment": experiment}
    shown = [file_digest(path) for path in (history_path(outputs), scores_path(outputs)) if path.is_file()]
    run_notebook(store, notebook_path("trends"), parameters, shown, folder / "trends.ipynb")
    return write_page(view.document(), folder / "trends.html")
