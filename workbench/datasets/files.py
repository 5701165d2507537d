"""Find a dataset's files. A missing one is an error that names what exists in its place."""

import re
from collections.abc import Sequence
from pathlib import Path

from workbench.core.formatting import listed, nearest_word, same_letters
from workbench.datasets.file_access import readable, special_kind
from workbench.errors import InputError

_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")
_ARCHIVES = (".zip", ".gz", ".tar", ".tgz", ".7z", ".bz2", ".xz")
# Names that other tools give to these files, without their suffixes.
_USUAL = {
    "questions": ("question", "queries", "query", "topics", "qa", "qas", "qna", "faq", "testset", "golden", "eval"),
    "documents": ("document", "docs", "doc", "corpus", "pages", "texts", "articles"),
    "corpus": ("documents", "docs", "passages", "collection"),
    "queries": ("questions", "topics", "query"),
    "topics": ("queries", "questions", "topic"),
    "qrels": ("qrel", "judgements", "judgments", "relevance", "labels", "test"),
}
_ADDRESS = re.compile("[a-z][a-z0-9]+:/")
_MOST = 1000


def require(path: Path, what: str) -> Path:
    """Return the path if it exists. Raises InputError, naming it `what`, otherwise and for a spreadsheet or an archive."""
    if fix := _conversion(path):
        raise InputError(f"{what} {path} cannot be read", fix)
    if _ADDRESS.match(str(path)):
        raise InputError(f"{what} {path} is an address, not a path", "download it, and give its folder")
    with readable():
        found = path.exists()
    if not found:
        raise InputError(*missing(path, what, "give its path (dataset.path in an experiment)"))
    if (kind := special_kind(path)) and not path.is_dir():
        raise InputError(f"{what} {path} is {kind}, not a file", "give a file or a folder")
    return path


def without_documents(path: Path) -> tuple[str, str]:
    """Return the problem and the fix of a file of questions given without documents."""
    folder = next(
        (other for other in ("documents", "documents.jsonl", "documents.csv", "documents.parquet") if (path.parent / other).exists()), ""
    )
    fix = (
        f"give {path.parent / folder} as dataset.documents or --documents, or the folder {path.parent}"
        if folder
        else "name them: dataset.documents or --documents"
    )
    return f"{path} is a list of questions without documents", fix


def missing(path: Path, what: str, fix: str) -> tuple[str, str]:
    """Return the problem and the fix of a path that does not exist: the path most like it, or else `fix`."""
    place = "" if path.is_absolute() else f" in the working directory {Path.cwd()}"
    near = nearest_path(path)
    if variable := re.search(r"\$\{?(\w+)", str(path)):
        return f"{what} {path} does not exist", f"set the environment variable {variable[1]}"
    return f"{what} {path} does not exist{place}", f"did you mean {near}?" if near else fix


def nearest_path(path: Path) -> Path | None:
    """Return the existing path whose first differing part is most similar, or None."""
    parts = path.parts
    known = next((count for count in range(len(parts) - 1, -1, -1) if Path(*parts[:count]).is_dir()), None)
    if known is None:
        return None
    folder = Path(*parts[:known])
    try:
        close = nearest_word(parts[known], _names(folder), likeness=0.7)
    except PermissionError:
        return None
    whole = folder.joinpath(close, *parts[known + 1 :]) if close else None
    return (whole if whole.exists() else folder / close) if whole and close else None


def first_file(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the first of these files that the folder contains, or None."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def find_in(folder: Path, names: Sequence[str], what: str) -> Path:
    """Return the first of these files and folders (`name/`) that the folder contains. Raises InputError with what it contains instead."""
    if folder.is_file():
        raise InputError(f"{folder} is a file, not a folder with {what}", f"give a folder, such as {folder.parent}")
    if path := next((folder / name for name in names if (folder / name).exists()), None):
        return path
    expected = f"expected {' or '.join([', '.join(names[:-1]), names[-1]] if names[1:] else names)}"
    near = _similar(folder, names)
    if near is not None:
        fix = _conversion(folder / near)
        raise InputError(f"{folder} has no {what}", f"found {near}; {f'{fix}; ' if fix else ''}{expected}")
    around = [folder.absolute().parent, *sorted(child for child in folder.iterdir() if child.is_dir())]
    if place := next((other for other in around if any((other / name).exists() for name in names)), None):
        raise InputError(f"{folder} has no {what}, but {place} has", "give that folder")
    there = _names(folder)
    raise InputError(f"{folder} has no {what}", f"{expected}; it contains {listed(there)}" if there else f"{expected}; the folder is empty")


def _similar(folder: Path, names: Sequence[str]) -> str | None:
    """Return the name in the folder that probably means one of these: another suffix or case, a synonym, or a typing error."""
    stems = {same_letters(name).split(".")[0]: name for name in _names(folder)}
    wanted = names[0].rstrip("/").split(".")[0]
    if path := next((stems[stem] for stem in (wanted, *_USUAL.get(wanted, ())) if stem in stems), None):
        return path
    close = nearest_word(wanted, stems, likeness=0.75)
    return stems[close] if close else None


def _conversion(path: Path) -> str:
    """Return how to make a readable file of a spreadsheet or an archive, or an empty text for other files."""
    suffix = path.suffix.lower()
    if suffix in _SPREADSHEETS:
        return "it is a spreadsheet: export it as CSV (UTF-8)"
    return "it is an archive: unpack it" if suffix in _ARCHIVES and not path.is_dir() else ""


def _names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))[:_MOST]
