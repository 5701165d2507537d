"""Find a dataset's files, and read them: regular files only, inside the folders that the user named, up to a size limit."""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from workbench.core.environment import expand
from workbench.core.errors import InputError
from workbench.core.files import in_order
from workbench.core.text.formatting import count, listed, nearest_word, same_letters

# Beside the documents of an experiment that `workbench init` made: where each document comes from, and the skipped files.
ORIGINS = "origins.json"
# A report lists no more, and reads no larger record.
_MOST_LISTED, _LARGEST_RECORD = 1_000, 100_000_000

# A file of text takes about five times its size in memory.
MAX_FILE_MB = 1024
MEGABYTE = 1_000_000
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}

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


def unread_files(source: object) -> list[dict[str, str]]:
    """Return `file` and `reason` of the skipped files of a golden folder, from its settings in an experiment. Empty without a record."""
    path = source.get("path") if isinstance(source, Mapping) else None
    record = Path(expand(path), ORIGINS) if isinstance(path, str) else None
    try:
        if record is None or record.is_symlink() or not record.is_file() or record.stat().st_size > _LARGEST_RECORD:
            return []
        skipped = json.loads(record.read_bytes())["skipped"]
        return [{"file": str(file["file"]), "reason": str(file["reason"])} for file in skipped[:_MOST_LISTED]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # Another file of this name is no record.
        return []


class RefusedFileError(ValueError):
    """A file of a dataset that is not read, with the reason and the fix."""


@dataclass(frozen=True, slots=True)
class FileAccess:
    """The paths that the user named, and the largest file that is read, in megabytes.

    A named path may be a link to any place. A file below a named folder must be inside that folder after all links are resolved, so
    that a dataset from elsewhere cannot import other files of this machine.
    """

    named: tuple[Path, ...] = ()
    max_file_mb: int = MAX_FILE_MB

    def read(self, path: Path) -> bytes:
        """Return a file's content. Raises RefusedFileError for a file that must not be read, and OSError for one that cannot be."""
        if reason := self.refusal(path):
            raise RefusedFileError(reason)
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            raw = stream.read(size + 1)
        if len(raw) != size:
            raise RefusedFileError("changed while it was read; wait until nothing writes to it")
        return raw

    def refusal(self, path: Path) -> str:
        """Return the reason not to read a file, or an empty text."""
        if outside := self.outside(path):
            return outside
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return f"is {special_kind(path)}, not a file; put a file in its place"
        return self.too_large(found.st_size)

    def outside(self, path: Path) -> str:
        """Return the fault of a file or folder that a link places outside of its named folder, or an empty text."""
        above = [named for named in self.named if path.is_relative_to(named)]
        if not above or path in above:
            return ""
        root = max(above, key=lambda named: len(named.parts))
        target = Path(os.path.realpath(path))
        if target.is_relative_to(os.path.realpath(root)):
            return ""
        return f"is a link to {target}, outside of {root}; put a copy in its place"

    def too_large(self, size: int) -> str:
        """Return the fault of content of more bytes than allowed, or an empty text."""
        if size <= self.max_file_mb * MEGABYTE:
            return ""
        most = count(self.max_file_mb)
        return f"has {count(size / MEGABYTE)} MB, more than max_file_mb allows ({most}); split it, or raise max_file_mb (--max-file-mb)"


def special_kind(path: Path) -> str:
    """Name the kind of an existing path that is not a regular file: a folder, a device, a pipe or a socket. Otherwise return an empty text."""
    return _KINDS.get(stat.S_IFMT(path.stat().st_mode), "")


@contextmanager
def readable() -> Iterator[None]:
    """Turn the failure to read a path into an InputError."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read ({error.strerror})", "give a readable file or folder") from error


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
    around = [folder.absolute().parent, *in_order(child for child in folder.iterdir() if child.is_dir())]
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
