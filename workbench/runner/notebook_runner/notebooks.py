"""Run notebooks with papermill and keep only those that ran to the end.

papermill 2.7 marks a notebook as completed even if its kernel was killed or timed out. So a run counts only if the call returned, no
cell is pending, and the last cell's result is the run's record. The executed notebook is stored under the hash of its source,
its parameters, the results it shows and the package's code.
"""

import ast
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

import workbench
from workbench.core.environment import usable_cores
from workbench.core.errors import InputError, NotebookError, WorkbenchError
from workbench.core.fingerprint import code_digest, file_digest, fingerprint
from workbench.core.storage.result_store import ResultWriter, Store
from workbench.report.analysis.judges import has_judges
from workbench.report.render.notebook import MIME
from workbench.report.results.history import history_path, scores_path
from workbench.report.results.run_tables import RunTables

# Jupyter, papermill and the renderer of pages take a second to import, and a sweep whose notebooks are all stored needs none of them.
if TYPE_CHECKING:
    from workbench.runner.notebook_runner.kernels import Kernels

_KIND = "notebooks"
_CELL_SECONDS = 900
_START_SECONDS = 180


def notebook_path(name: str) -> Path:
    """Return the path of a notebook: beside the package in a checkout, inside an installed package."""
    package = Path(workbench.__file__).parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / f"{name}.ipynb").is_file():
            return folder / f"{name}.ipynb"
    raise InputError(f"the notebook {name}.ipynb is missing from {package.parent}", "install workbench again")


def run_notebook(
    store: Store, source: Path, parameters: Mapping[str, Any], shown: Any, target: Path, kernels: "Kernels | None" = None
) -> bool:
    """Execute a notebook, or take it from the store, and write it to `target`. Returns True if it was executed now.

    Its kernel starts in the folder of `target`, as in JupyterLab; without `kernels`, Jupyter starts it. `shown` is the
    identity of the results it shows.

    Raises InputError for a parameter that the notebook does not declare, and NotebookError, with the failed notebook saved beside the
    target, if it does not run to the end.
    """
    run_id = _run_id(source, parameters, shown)
    failed = target.with_suffix(".failed.ipynb")

    def compute(writer: ResultWriter) -> None:
        _check_declared(source, parameters)
        executed = writer.folder / "notebook.ipynb"
        injected = dict(parameters) | {"run_id": run_id}
        forked = kernels is not None and not kernels.lost()
        try:
            record = _execute(source, executed, injected, failed, kernels)
        except NotebookError:
            # If the forking process is lost, its kernels are lost too: that is not the notebook's fault.
            if not (forked and kernels and kernels.lost()):
                raise
            record = _execute(source, executed, injected, failed, kernels)
        writer.values("record", record)

    entry = store.obtain(_KIND, run_id, compute)
    entry.copy("notebook.ipynb", target)
    failed.unlink(missing_ok=True)
    return entry.computed


def _run_id(source: Path, parameters: Mapping[str, Any], shown: Any) -> str:
    return fingerprint(file_digest(source), dict(parameters), shown, code_digest())


def imported_modules(source: Path) -> list[str]:
    """Return the modules that a notebook's cells import."""
    import nbformat

    cells = [cell.source for cell in nbformat.read(source, as_version=4).cells if cell.cell_type == "code"]
    nodes = [node for cell in cells for node in ast.parse(cell).body]
    plain = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return sorted({*plain, *(node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module)})


def _check_declared(source: Path, parameters: Mapping[str, Any]) -> None:
    import papermill

    declared = papermill.inspect_notebook(_template(source))
    unknown = sorted(set(parameters) - set(declared))
    if unknown or "run_id" not in declared:
        raise InputError(f"the notebook {source} declares no parameter {', '.join(unknown) or 'run_id'}", f"it has {', '.join(declared)}")


def _execute(source: Path, executed: Path, parameters: dict[str, Any], failed: Path, kernels: "Kernels | None") -> Any:
    import papermill
    from traitlets.config import Config

    failed.parent.mkdir(parents=True, exist_ok=True)
    name, manager = failed.stem.removesuffix(".failed"), {"kernel_manager_class": kernels.manager_class} if kernels else {}
    try:
        # With the default address, two processes in one folder would talk to each other's kernels.
        with tempfile.TemporaryDirectory(prefix="workbench-") as sockets:
            papermill.execute_notebook(
                _template(source),
                _template(executed),
                parameters=parameters,
                kernel_name="python3",
                progress_bar=False,
                start_timeout=_START_SECONDS,
                execution_timeout=_CELL_SECONDS,
                interrupt_on_timeout=True,
                # As in JupyterLab, so that `..` is the run's folder. papermill's cwd would change the directory of all threads.
                resources={"metadata": {"path": str(failed.parent)}},
                # A polite shutdown first interrupts the idle kernel, which then prints a complaint on the terminal.
                shutdown_kernel="immediate",
                config=Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/kernel"}),
                **manager,
            )
    except papermill.PapermillExecutionError as error:
        # Keep the notebook only for papermill's own failures: that of a killed or timed-out kernel is marked as completed.
        shutil.copyfile(executed, failed)
        raise NotebookError(f"the notebook {name} failed: {error.ename}: {error.evalue}", f"open {failed}") from error
    except (OSError, WorkbenchError):
        raise
    except Exception as error:  # nbclient's errors of dead and slow kernels, jupyter_client's of messages it cannot read, ZeroMQ's
        what = f"the kernel of the notebook {name} did not finish ({type(error).__name__})"
        raise NotebookError(what, "run again; if the error persists, the machine may be short of memory") from error
    return _record(executed, parameters["run_id"], name, source)


def _template(path: Path) -> str:
    """Return the template of a path, which papermill fills with parameters: a brace in a name of a folder is written twice.

    It is absolute, because papermill reads and writes in a directory that two runs at once can leave changed.
    """
    return str(path.absolute()).replace("{", "{{").replace("}", "}}")


def _record(executed: Path, run_id: str, name: str, source: Path) -> Any:
    """Return the values that the last cell recorded under the run's id. Raises NotebookError if the notebook did not reach it."""
    import nbformat

    try:
        cells = nbformat.read(executed, as_version=4).cells
    except (OSError, nbformat.reader.NotJSONError) as error:
        raise NotebookError(f"the notebook {name} was written only in part", "free space and run again") from error
    pending = [cell for cell in cells if cell.cell_type == "code" and cell.metadata.get("papermill", {}).get("status") != "completed"]
    if pending:
        raise NotebookError(f"cells of the notebook {name} did not run ({len(pending)})", "a notebook must not call sys.exit")
    for record in (output.data[MIME] for output in cells[-1].get("outputs", []) if MIME in output.get("data", {})):
        if record["run_id"] == run_id:
            return record["values"]
    raise NotebookError(f"the notebook {name} ended without its record", f"its last cell must be view.record(run_id) ({source})")


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
    if all(store.has(_KIND, _run_id(job.source, job.parameters, job.shown)) for job in jobs):
        errors = _reported(jobs, [partial(_run, store, job, target, None) for job in jobs], say)
    else:
        from workbench.runner.notebook_runner.kernels import Kernels

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
    folder: Path, store: Store, jobs: Sequence[NotebookJob], kernels: "Kernels", workers: int, say: Callable[[str], None]
) -> dict[str, str]:
    """Execute notebooks into a folder on several threads, report them in order, and return the one-line errors of failed ones by name."""
    from jupyter_core.utils import ensure_event_loop
    from papermill.iorw import local_file_io_cwd

    def run(job: NotebookJob) -> bool:
        # Jupyter creates an event loop for each thread and leaves it open.
        with closing(ensure_event_loop()):
            return _run(store, job, folder, kernels)

    # papermill changes the working directory while it writes, for all threads. Runs side by side leave it at that of the run before
    # them, in which relative paths name nothing: one outer run sets it for all.
    with local_file_io_cwd(), ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(run, job) for job in jobs]
        try:
            return _reported(jobs, [future.result for future in futures], say)
        except BaseException:
            # After Ctrl-C or an unexpected error, start no further notebook and end the running kernels.
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.close()
            raise


def _run(store: Store, job: NotebookJob, folder: Path, kernels: "Kernels | None") -> bool:
    return run_notebook(store, job.source, job.parameters, job.shown, folder / f"{job.name}.ipynb", kernels)


def _reported(jobs: Sequence[NotebookJob], runs: Sequence[Callable[[], bool]], say: Callable[[str], None]) -> dict[str, str]:
    """Report the runs of notebooks in order, and return the one-line errors of failed ones by name. A run returns True if it was executed now."""
    errors: dict[str, str] = {}
    for number, (job, run) in enumerate(zip(jobs, runs, strict=True), 1):
        try:
            outcome = "executed" if run() else "from the store"
        except WorkbenchError as error:
            errors[job.name] = "; ".join(error.lines)
            outcome = f"FAILED, {errors[job.name]}"
        say(f"notebook {number}/{len(jobs)} {job.name}: {outcome}")
    return errors


def write_trends(outputs: Path, experiment: str, store: Store) -> Path:
    """Run the trends notebook on the history into `<outputs>/<experiment>/trends.ipynb`, write `trends.html` and return its path."""
    from workbench.report.render.html import write_page
    from workbench.report.trends import load_history

    view, folder = load_history(outputs, experiment), outputs / experiment
    parameters = {"outputs": "..", "experiment": experiment}
    shown = [file_digest(path) for path in (history_path(outputs), scores_path(outputs)) if path.is_file()]
    run_notebook(store, notebook_path("trends"), parameters, shown, folder / "trends.ipynb")
    return write_page(view.document(), folder / "trends.html")
