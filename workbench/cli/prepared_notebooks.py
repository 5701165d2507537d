"""Prepare `label.ipynb` for the dataset of an experiment, and `explore.ipynb` for a run."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat

from workbench.core.files import write_text
from workbench.core.terminal import say_aside
from workbench.errors import InputError, WorkbenchError

if TYPE_CHECKING:
    from workbench.datasets.sources import Source
    from workbench.records import Dataset

_TAG = "parameters"
_COMMENT = re.compile(r"\s*# type: \w+\s*$")
_LABEL, _EXPLORE = "label", "explore"


def prepare_notebook(source: Path, target: Path, first: Mapping[str, Any], always: Mapping[str, Any]) -> bool:
    """Copy a notebook to `target` with values for its parameters, and return True if it is new or changed.

    An existing target gets only the values of `always`; its cells and its other parameters stay as they are. Raises InputError if it is
    no notebook or declares a parameter no longer.
    """
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


def _read(path: Path) -> nbformat.NotebookNode:
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
    from workbench.experiment.read import read_experiment
    from workbench.notebook_runner.notebooks import notebook_path

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


def explore_notebook(run: Path) -> Path:
    """Return a copy of explore.ipynb, in `notebooks`, that shows a run. A copy that exists keeps what a person changed in it.

    Raises InputError if there is no run.
    """
    from workbench.notebook_runner.notebooks import notebook_path
    from workbench.results.run_tables import RunTables

    RunTables.read(run)
    target = Path("notebooks", f"{_EXPLORE}-{run.resolve().name}.ipynb")
    if prepare_notebook(notebook_path(_EXPLORE), target, {}, {"results": _path(run)}):
        say_aside(f"workbench: prepared {target} for {run}")
    return target


def _loading(source: "Source", experiment: Path) -> dict[str, Any]:
    """Return the parameters with which the notebook loads the dataset of an experiment."""
    from workbench.datasets.sources import recognise

    settings = source.settings()
    path = settings.pop("path", None)
    if not path:
        what = f"the dataset of {experiment} has no path, which {_LABEL}.ipynb needs"
        raise InputError(what, f"give the path of its folder: dataset: {{kind: {settings['kind']}, path: …}}")
    settings.pop("split", None)
    same = recognise(str(path), source.split) == source
    # A path with a variable or `~` is right everywhere.
    place = str(path) if str(path).startswith(("$", "~")) else _path(Path(path))
    others = {name: _path(Path(value)) if name in ("documents", "qrels") else value for name, value in settings.items()}
    return {"data": place, "split": source.split or "", "settings": {} if same else others}


def _fits(run: Path, dataset: "Dataset") -> bool:
    """Return whether a run asked all questions of a dataset. Say why if it cannot be used."""
    if not run.is_dir():
        return False
    from workbench.api.results import load

    try:
        asked = set(load(run).tables.questions["query_id"])
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
