"""Folders that programs have written, which are no documents of a person."""

from collections.abc import Mapping
from pathlib import Path

from workbench.datasets.formats.golden import QUESTION_FILES

_PACKAGES = frozenset(("node_modules", "bower_components", "site-packages", "__pycache__", "__pypackages__"))
# Files that a folder of a program has, all of them, and what the folder is.
_MARKS: Mapping[tuple[str, ...], str] = {
    ("pyvenv.cfg",): "is a Python environment",
    # The mark of the Cache Directory Tagging Specification.
    ("CACHEDIR.TAG",): "is a cache",
    (".store", ".indexes"): "has the outputs of sweeps",
    # With the store in another place.
    ("history.parquet", "history_scores.parquet"): "has the outputs of sweeps",
    ("manifest.json", "configurations.parquet"): "has the outputs of a sweep",
    **{(name, "documents"): "is the dataset of an experiment" for name in QUESTION_FILES},
    ("explore.ipynb", "label.ipynb"): "has the notebooks of Workbench",
}


def folder_refusal(folder: Path) -> str:
    """Return why a folder is not searched for documents, or an empty text."""
    if folder.name.startswith("."):
        return "is hidden"
    if folder.name in _PACKAGES:
        return "has packages of programs"
    return next((what for names, what in _MARKS.items() if all((folder / name).exists() for name in names)), "")
