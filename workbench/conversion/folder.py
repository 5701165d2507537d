"""Find the files of a folder, and say why some are not read."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.conversion.registry import format_of, unknown_format
from workbench.datasets.files import FileAccess
from workbench.datasets.formats.documents import DEEPEST
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


@dataclass(frozen=True)
class FoundFile:
    """A file or a folder: its path below the folder that was searched, and the `reason` why it is not read, or an empty text."""

    path: Path
    relative: str
    reason: str = ""


def find_files(root: Path, files: FileAccess, without: Collection[Path] = ()) -> Iterator[FoundFile]:
    """Yield the files below a folder in order of their paths, except the paths `without`, which must be resolved. Links to folders are not followed.

    A folder that a program has written is yielded with the reason, without its files.
    """
    places = [root]
    while places:
        folder = places.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield FoundFile(folder, _below(folder, root), f"cannot be read ({error.strerror})")
            continue
        inside = []
        for entry in entries:
            path = Path(entry.path)
            if _resolved(path) in without:
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield FoundFile(path, _below(path, root), _refusal(path, files))
            elif reason := folder_refusal(path) or _too_deep(path, root):
                yield FoundFile(path, f"{_below(path, root)}/", reason)
            else:
                inside.append(path)
        places += reversed(inside)


def _too_deep(path: Path, root: Path) -> str:
    return f"is below {DEEPEST} folders; move it up" if len(path.relative_to(root).parts) > DEEPEST else ""


def _resolved(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))
    except OSError:
        # A link that may not be read; `_refusal` gives the reason.
        return path


def _below(path: Path, root: Path) -> str:
    """Return a path below the root, in which bytes that are not UTF-8 are replaced."""
    return os.fsencode(path.relative_to(root).as_posix()).decode("utf-8", "replace")


def _refusal(path: Path, files: FileAccess) -> str:
    if path.name.startswith("."):
        return "is hidden"
    if os.fsencode(path).decode("utf-8", "replace") != str(path):
        return "has a name that is not UTF-8; rename it"
    try:
        # Without its target: the reasons are published with the run.
        if files.outside(path):
            return "is a link to a place outside of the folder; put a copy in its place"
        if path.is_symlink() and path.is_dir():
            return "is a link to a folder, which is not followed"
        if reason := files.refusal(path):
            return reason
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    found = format_of(path)
    if found is None:
        return unknown_format(path)
    return found.missing or ("" if os.access(path, os.R_OK) else "cannot be read (Permission denied)")
