"""Run notebooks with papermill and keep only those that ran to the end.

papermill 2.7 marks a notebook as completed even if its kernel was killed or timed out. So a run counts only if the call returned, no
cell is pending, and the last cell's result is the run's record. The executed notebook is stored under the hash of its source,
its parameters, the results it shows and the package's code.
"""

import ast
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

import workbench
from workbench.core.errors import InputError, NotebookError, WorkbenchError
from workbench.core.fingerprint import code_digest, file_digest, fingerprint
from workbench.core.storage.result_store import ResultWriter, Store
from workbench.report.render.notebook import MIME
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
    store: Store, source: Path, parameters: Mapping[str, Any], shown: Any, target: Path, kernels: Kernels | None = None
) -> bool:
    """Execute a notebook, or take it from the store, and write it to `target`. Returns True if it was executed now.

    Its kernel starts in the folder of `target`, as in JupyterLab; without `kernels`, Jupyter starts it. `shown` is the
    identity of the results it shows.

    Raises InputError for a parameter that the notebook does not declare, and NotebookError, with the failed notebook saved beside the
    target, if it does not run to the end.
    """
    _check_declared(source, parameters)
    run_id = fingerprint(file_digest(source), dict(parameters), shown, code_digest())
    failed = target.with_suffix(".failed.ipynb")

    def compute(writer: ResultWriter) -> None:
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


def imported_modules(source: Path) -> list[str]:
    """Return the modules that a notebook's cells import."""
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


def _execute(source: Path, executed: Path, parameters: dict[str, Any], failed: Path, kernels: Kernels | None) -> Any:
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
