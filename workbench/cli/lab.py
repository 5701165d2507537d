"""The command `lab`, and the notebooks that it prepares: `label.ipynb` for the dataset of an experiment, `work.ipynb` for a run."""

import ast
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

import click

from workbench.cli.options import outputs_option
from workbench.core.environment import require_installed
from workbench.core.errors import InputError, WorkbenchError
from workbench.core.files import in_order, write_text
from workbench.core.operating_system import become, is_root
from workbench.core.text.terminal import say_aside

if TYPE_CHECKING:
    import nbformat

    from workbench.core.records import Dataset
    from workbench.data.sources import Source

_TAG = "parameters"
_COMMENT = re.compile(r"\s*# type: \w+\s*$")
_LABEL, _WORK = "label", "work"
_EXECUTED = Path("notebooks", "comparison.ipynb")
_START = "start"
_DATASET = Path("experiments", "handbook")
QUICKSTART = Path("experiments", "quickstart.yaml")


@click.command(context_settings={"ignore_unknown_options": True}, options_metavar="[OPTIONS]")
@outputs_option("Where the experiment's results are.")
@click.option(
    "--notebook",
    type=click.Choice([_LABEL, _WORK]),
    help=(
        "Open the labeller on the dataset of EXPERIMENT, for example to review drafts, in notebooks/label-DATASET.ipynb, "
        "or the explorer and its panels on its OUTPUT, in notebooks/work-OUTPUT.ipynb."
    ),
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[EXPERIMENT | OUTPUT] [-- JUPYTER ARGUMENTS]")
def lab(outputs: Path, notebook: str | None, words: tuple[str, ...]) -> None:
    """Open the executed notebook of an experiment or of its OUTPUT in JupyterLab, rooted at the working directory.

    Without an argument, or before the first sweep, it opens start.ipynb. Further arguments, such as --no-browser, go to JupyterLab.
    """
    require_lab()
    given, arguments = (words[0], words[1:]) if words and not words[0].startswith("-") else (None, words)
    target = None if given is None else _found(Path(given), outputs)
    if notebook:
        opened: Path | None = _prepared(notebook, target, outputs)
    else:
        opened = _executed(target, outputs) if target else None
    open_lab(opened or start_files(), arguments)


def open_lab(notebook: Path, arguments: Sequence[str] = ()) -> NoReturn:
    """Become JupyterLab with a notebook, rooted at the working directory."""
    become([sys.executable, "-m", "jupyterlab", *lab_arguments(notebook, Path.cwd()), *arguments])


def require_lab() -> None:
    """Raise ModelError if JupyterLab is not installed."""
    require_installed("workbench lab", "jupyterlab", "nbformat", extra="lab")


def lab_arguments(notebook: Path, root: Path) -> list[str]:
    """Return the arguments with which JupyterLab opens a notebook and can browse everything under `root`."""
    try:
        inside = notebook.resolve().relative_to(root.resolve())
    except ValueError:
        raise InputError(f"{notebook} is not under the working directory {root}", "run the command in a folder above it") from None
    # JupyterLab would use the folder of a notebook given as a file as its root.
    arguments = [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{quote(inside.as_posix())}"]
    # JupyterLab would ask PyPI for its latest release, and offer its news.
    arguments += ["--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate", "--LabApp.news_url=None"]
    return [*arguments, "--allow-root"] if is_root() else arguments


def _found(given: Path, outputs: Path) -> Path:
    """Return an experiment file, or the folder of a run, which can be given by its name. Raises InputError with the runs if there is no such run."""
    from workbench.report.results.run_tables import RunTables, run_folder

    target = run_folder(given, outputs)
    if not target.exists() and target.suffix not in (".yaml", ".yml"):
        RunTables.read(target)
    return target


def _prepared(notebook: str, target: Path | None, outputs: Path) -> Path:
    """Return the notebook that labels the dataset of an experiment, or in which a person works with its results."""
    work = notebook == _WORK
    if target is None or (target.is_dir() and not work):
        fix = f"give its file: workbench lab experiments/NAME.yaml --notebook {notebook}"
        raise InputError(f"--notebook {notebook} needs an experiment", fix)
    if not work:
        return label_notebook(target, outputs)
    return work_notebook(target if target.is_dir() else _output(target, outputs))


def _executed(target: Path, outputs: Path) -> Path | None:
    """Return the executed notebook of an output folder or experiment file, or None if the experiment was never swept."""
    if target.is_dir():
        if not (target / _EXECUTED).is_file():
            raise InputError(f"{target} has no {_EXECUTED}", "give the folder of a finished sweep, such as outputs/quickstart")
        return target / _EXECUTED
    executed = _output(target, outputs) / _EXECUTED
    if executed.is_file():
        return executed
    say_aside(f"workbench: {target} was not swept into {outputs} yet: workbench sweep {target}")
    return None


def _output(experiment: Path, outputs: Path) -> Path:
    from workbench.runner.experiment.read import read_experiment

    return outputs / read_experiment(experiment).name


def start_files() -> Path:
    """Return the notebook to start from, in the checkout or copied to the working directory with its sister notebooks and its experiment."""
    from workbench.runner.notebook_runner.notebooks import notebook_path

    shipped = notebook_path(_START)
    if shipped.resolve().is_relative_to(Path.cwd().resolve()):
        return shipped
    for source in in_order(shipped.parent.glob("*.ipynb")):
        _copy(source, Path("notebooks", source.name))
    for path in (_DATASET / "documents", _DATASET / "questions.jsonl", QUICKSTART):
        _copy(shipped.parent.parent / path, path)
    return Path("notebooks", shipped.name)


def _copy(source: Path, target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
    say_aside(f"workbench: copied {target}")


def prepare_notebook(source: Path, target: Path, first: Mapping[str, Any], always: Mapping[str, Any]) -> bool:
    """Copy a notebook to `target` with values for its parameters, and return True if it is new or changed.

    An existing target gets only the values of `always`; its cells and its other parameters stay as they are. Raises InputError if it is
    no notebook or declares a parameter no longer.
    """
    import nbformat

    existing = target.exists()
    notebook = _read(target if existing else source)
    cell = next((cell for cell in notebook.cells if _TAG in cell.metadata.get("tags", [])), None)
    if cell is None:
        raise InputError(f"{target} has no cell with the tag {_TAG}", "move or rename it, and run the command again")
    before = cell.source
    cell.source = _with_values(before, dict(always) if existing else {**first, **always}, target)
    if existing and cell.source == before:
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    write_text(target, f"{nbformat.writes(notebook)}\n")
    return True


def _read(path: Path) -> "nbformat.NotebookNode":
    import nbformat

    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError, nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        raise InputError(f"{path} cannot be read as a notebook ({type(error).__name__})", "move or rename it") from None


def _with_values(code: str, values: Mapping[str, Any], target: Path) -> str:
    """Return the code of a parameters cell with other values in the same lines, and with their comments on the type."""
    lines = code.split("\n")
    try:
        assigned = {
            statement.targets[0].id: statement
            for statement in ast.parse(code).body
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        }
    except SyntaxError:
        raise InputError(f"the parameters of {target} are no Python", "correct them, or move the notebook") from None
    missing = [name for name in values if name not in assigned]
    if missing:
        raise InputError(f"{target} has no parameter {missing[0]}", "move or rename it, and run the command again")
    # From the last line on, so that the numbers of the lines before it stay right.
    for name, statement in sorted(assigned.items(), key=lambda item: -item[1].lineno):
        if name in values:
            last = statement.end_lineno or statement.lineno
            comment = _COMMENT.search(lines[last - 1])
            lines[statement.lineno - 1 : last] = [f"{name} = {_literal(values[name])}{comment[0] if comment else ''}"]
    return "\n".join(lines)


def _literal(value: Any) -> str:
    """Return a value as Python, a text in double quotes as in the notebooks."""
    plain = repr(value)
    return f'"{value}"' if isinstance(value, str) and plain == f"'{value}'" and '"' not in value else plain


def label_notebook(experiment: Path, outputs: Path) -> Path:
    """Return a copy of label.ipynb, in `notebooks`, that labels the dataset of an experiment.

    It takes the documents to judge from the run of the experiment, if there is one with all its questions. A copy that exists keeps what a
    person changed in it. Raises InputError if the notebook cannot load the dataset, and DatasetError with the faults of the dataset.
    """
    from workbench.runner.experiment.read import read_experiment
    from workbench.runner.notebook_runner.notebooks import notebook_path

    spec = read_experiment(experiment)
    source = spec.dataset
    dataset = source.load(unlabelled=True)
    name = "-".join(filter(None, [dataset.name.replace("/", "-"), source.split]))
    run = outputs / spec.name
    always = _loading(source, experiment) | {"results": _path(run) if _fits(run, dataset) else ""}
    first = {"file": _path(Path("labels", f"{name}.jsonl"))}
    target = Path("notebooks", f"{_LABEL}-{name}.ipynb")
    if prepare_notebook(notebook_path(_LABEL), target, first, always):
        say_aside(f"workbench: prepared {target} for {experiment}")
    return target


def work_notebook(run: Path) -> Path:
    """Return a copy of work.ipynb, in `notebooks`, that shows a run. A copy that exists keeps what a person changed in it.

    Raises InputError if there is no run.
    """
    from workbench.report.results.run_tables import RunTables
    from workbench.runner.notebook_runner.notebooks import notebook_path

    RunTables.read(run)
    target = Path("notebooks", f"{_WORK}-{run.resolve().name}.ipynb")
    if prepare_notebook(notebook_path(_WORK), target, {}, {"results": _path(run)}):
        say_aside(f"workbench: prepared {target} for {run}")
    return target


def _loading(source: "Source", experiment: Path) -> dict[str, Any]:
    """Return the parameters with which the notebook loads the dataset of an experiment."""
    from workbench.data.sources import recognise

    settings = source.settings()
    path = settings.pop("path", None)
    if not path:
        what = f"the dataset of {experiment} has no path, which {_LABEL}.ipynb needs"
        raise InputError(what, f"give the path of its folder: dataset: {{kind: {settings['kind']}, path: …}}")
    settings.pop("split", None)
    same = recognise(str(path), source.split) == source
    # A path with a variable or `~` is right everywhere.
    data = str(path) if str(path).startswith(("$", "~")) else _path(Path(path))
    rest = {name: _path(Path(value)) if name in ("documents", "qrels") else value for name, value in settings.items()}
    return {"data": data, "split": source.split or "", "settings": {} if same else rest}


def _fits(run: Path, dataset: "Dataset") -> bool:
    """Return True if a run asked all questions of a dataset. Say why if it cannot be used."""
    if not run.is_dir():
        return False
    from workbench.api.results import load

    try:
        asked = set(load(run).questions["query_id"])
    except WorkbenchError as error:
        say_aside(f"workbench: {run} is not used: {error}")
        return False
    missing = [query.query_id for query in dataset.queries if query.query_id not in asked]
    if missing:
        say_aside(
            f"workbench: {run} is not used: it lacks questions such as {missing[0]!r}; a search by keywords finds the documents to judge"
        )
    return not missing


def _path(path: Path) -> str:
    """Return a path as the notebook finds it after `wb.project_folder()`: as it is if that will be the working directory."""
    return (path if Path("experiments").is_dir() else path.absolute()).as_posix()
