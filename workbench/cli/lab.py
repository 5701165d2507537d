"""The command `lab`."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

import click

from workbench.cli.options import outputs_option
from workbench.core.environment import advice
from workbench.core.terminal import say_aside
from workbench.errors import InputError

_EXECUTED = Path("notebooks", "comparison.ipynb")
_START = "start"
_DATASET = Path("experiments", "handbook")


@click.command(context_settings={"ignore_unknown_options": True}, options_metavar="[OPTIONS]")
@outputs_option("Where the experiment's results are.")
@click.option(
    "--notebook",
    type=click.Choice(["label", "explore"]),
    help=(
        "Open the labeller on the dataset of EXPERIMENT, for example to review drafts, in notebooks/label-DATASET.ipynb, "
        "or the explorer on its OUTPUT, in notebooks/explore-OUTPUT.ipynb."
    ),
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[EXPERIMENT | OUTPUT] [-- JUPYTER ARGUMENTS]")
def lab(outputs: Path, notebook: str | None, words: tuple[str, ...]) -> None:
    """Open the executed notebook of an experiment or of its OUTPUT in JupyterLab, rooted at the working directory.

    Without an argument, or before the first sweep, it opens start.ipynb. Further arguments, such as --no-browser, go to JupyterLab.
    """
    if find_spec("jupyterlab") is None:
        raise InputError("JupyterLab is not installed", advice("lab"))
    target, arguments = (words[0], words[1:]) if words and not words[0].startswith("-") else (None, words)
    if notebook:
        opened: Path | None = _prepared(notebook, target, outputs)
    else:
        opened = _executed(Path(target), outputs) if target else None
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *lab_arguments(opened or _start(), Path.cwd()), *arguments])


def lab_arguments(notebook: Path, root: Path) -> list[str]:
    """Return the arguments with which JupyterLab opens a notebook and can browse everything under `root`."""
    try:
        place = notebook.resolve().relative_to(root.resolve())
    except ValueError:
        raise InputError(f"{notebook} is not under the working directory {root}", "run the command in a folder above it") from None
    # JupyterLab would use the folder of a notebook given as a file as its root.
    arguments = [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{quote(place.as_posix())}"]
    # JupyterLab would ask PyPI for its latest release, and offer its news.
    arguments += ["--LabApp.check_for_updates_class=jupyterlab.handlers.announcements.NeverCheckForUpdate", "--LabApp.news_url=None"]
    return [*arguments, "--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else arguments


def _prepared(notebook: str, target: str | None, outputs: Path) -> Path:
    """Return the notebook that labels the dataset of an experiment, or that explores its results."""
    from workbench.cli.prepared_notebooks import explore_notebook, label_notebook

    explore = notebook == "explore"
    if target is None or (Path(target).is_dir() and not explore):
        fix = f"give its file: workbench lab experiments/NAME.yaml --notebook {notebook}"
        raise InputError(f"--notebook {notebook} needs an experiment", fix)
    if not explore:
        return label_notebook(Path(target), outputs)
    return explore_notebook(Path(target) if Path(target).is_dir() else _output(Path(target), outputs))


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
    from workbench.experiment.read import read_experiment

    return outputs / read_experiment(experiment).name


def _start() -> Path:
    """Return the notebook to start from, in the checkout or copied to the working directory with its sister notebooks and its dataset."""
    from workbench.notebook_runner.notebooks import notebook_path

    shipped = notebook_path(_START)
    if shipped.resolve().is_relative_to(Path.cwd().resolve()):
        return shipped
    for source in sorted(shipped.parent.glob("*.ipynb")):
        _copy(source, Path("notebooks", source.name))
    for name in ("documents", "questions.jsonl"):
        _copy(shipped.parent.parent / _DATASET / name, _DATASET / name)
    return Path("notebooks", shipped.name)


def _copy(source: Path, target: Path) -> None:
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if source.is_dir() else shutil.copyfile)(source, target)
    say_aside(f"workbench: copied {target}")
