"""Prepare `label.ipynb` for the dataset of an experiment, and `explore.ipynb` for a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.terminal import say_aside
from workbench.errors import InputError, WorkbenchError

if TYPE_CHECKING:
    from workbench.datasets.sources import Source
    from workbench.records import Dataset

_LABEL, _EXPLORE = "label", "explore"


def label_notebook(experiment: Path, outputs: Path) -> Path:
    """Return a copy of label.ipynb, in `notebooks`, that labels the dataset of an experiment.

    It takes the documents to judge from the run of the experiment, if there is one with all its questions. A copy that exists keeps what a
    person changed in it. Raises InputError if the notebook cannot load the dataset, and DatasetError with the faults of the dataset.
    """
    from workbench.experiment.read import read_experiment
    from workbench.notebook_runner.notebooks import notebook_path
    from workbench.notebook_runner.prepared import prepare_notebook

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
    from workbench.notebook_runner.prepared import prepare_notebook
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
