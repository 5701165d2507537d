"""Read, append and write files safely, read our own JSON, and report errors in one line with a fix."""

import atexit
import codecs
import errno
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from io import FileIO
from pathlib import Path, PurePath
from typing import Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from workbench.core.errors import InputError, StoreError, WorkbenchError
from workbench.core.operating_system import move, open_descriptor, sync

Model = TypeVar("Model", bound=BaseModel)
AnyPath = TypeVar("AnyPath", bound=PurePath)
# Inode, size, and the times of the last change of the content and of anything.
FileState: TypeAlias = tuple[int, int, int, int]

_TOO_DEEP = "it is nested too deeply"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# SQLite and numpy raise this error without an error number.
_SAYS_FULL = re.compile(r"disk is full|requested and \d+ written")
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG)
# The first is that of O_NOFOLLOW for a link.
_NOT_REGULAR = (errno.ELOOP, errno.EISDIR)
_BINARY_FILES = {
    b"PK\x03\x04": "a ZIP archive, as .docx, .xlsx and .odt files are",
    b"\xd0\xcf\x11\xe0": "an old Office file, as .doc and .xls files are",
    b"%PDF": "a PDF",
    b"PAR1": "a parquet file",
    b"\x1f\x8b": "compressed by gzip",
}
# A broken disk, or one that was unplugged or unmounted.
_BROKEN = (errno.EIO, errno.ENXIO, errno.ENODEV, errno.ESTALE)
_TEMPORARY: set[Path] = set()


def temporary_folder() -> Path:
    """Make a folder that is deleted when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="workbench-"))
    atexit.register(partial(shutil.rmtree, folder, ignore_errors=True))
    _TEMPORARY.add(folder)
    return folder


def is_temporary(path: Path) -> bool:
    """Check whether a path is in a folder that is deleted when Python ends."""
    return not _TEMPORARY.isdisjoint(path.parents)


@contextmanager
def store_errors(place: Path) -> Iterator[None]:
    """Turn disk errors while reading or writing under `place` into one line with a fix. Finished results survive them."""
    try:
        yield
    except WorkbenchError:
        raise
    except BaseException as error:
        number = error.errno if isinstance(error, OSError) else None
        if number in _FULL or _SAYS_FULL.search(str(error)):
            raise StoreError(f"the disk is full at {place}", "free space and run again: finished results are kept") from error
        if number in _UNWRITABLE:
            what = f"{getattr(error, 'filename', None) or place} cannot be written"
            raise StoreError(what, "choose another folder or change its permissions") from error
        if number in _NOT_REGULAR:
            what = f"{getattr(error, 'filename2', None) or getattr(error, 'filename', None) or place} is a link, or not a regular file"
            raise StoreError(what, "move it away and run again") from error
        if number in _BROKEN:
            what = f"the disk failed at {getattr(error, 'filename', None) or place} ({os.strerror(number or 0)})"
            raise StoreError(what, "check the disk and run again: finished results are kept") from error
        raise


def write_atomically(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name, flush it and rename it, so that readers see either the old file or the complete new one."""
    with store_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            # A link would lead the writing elsewhere, and a pipe would wait.
            aside.unlink(missing_ok=True)
            write(aside)
            sync(aside)
            move(aside, path)
            sync(path.parent)
        finally:
            aside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8 with the line ends of the text on every system."""
    write_atomically(path, lambda aside: aside.write_bytes(text.encode()))


def in_order(paths: Iterable[AnyPath]) -> list[AnyPath]:
    """Sort paths by the names of their folders and files, in the same order on every system. Windows compares paths without capitals."""
    return sorted(paths, key=lambda path: path.parts)


def file_state(path: Path) -> FileState:
    """Return the state of a file in the file system. Its time can be set, and copies keep it, but every write changes the last number. Raises OSError."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def read_regular(path: Path) -> bytes:
    """Read a regular file. Raises OSError for any other, such as a pipe, which would wait for a writer."""
    with open_regular(path, os.O_RDONLY, "rb") as file:
        return file.read()


def append_lines(path: Path, content: bytes, permissions: int = 0o666) -> None:
    """Append lines to a regular file in one write, which ends a line that was cut before.

    Raises OSError for any other file, and for a link, which can lead to a file whose lines are commands.
    """
    with open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, "ab+", permissions, follow=False) as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            content = content if file.read(1) == b"\n" else b"\n" + content
        if file.write(content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))


def open_regular(path: Path, flags: int, mode: Literal["rb", "ab+"], permissions: int = 0o666, follow: bool = True) -> FileIO:
    """Open a regular file. Raises OSError for any other, and for a link unless it may `follow` it."""
    # Also for Windows, which has no O_NOFOLLOW.
    if not follow and os.path.lexists(path) and not stat.S_ISREG(os.lstat(path).st_mode):
        raise _not_regular(path)
    file = open_descriptor(path, flags, permissions, follow)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _not_regular(path)
    return os.fdopen(file, mode, buffering=0)


def _not_regular(path: Path) -> OSError:
    return OSError(errno.ELOOP, "not a regular file", str(path))


def table_fault(error: Exception) -> str:
    """Say in words why a parquet file could not be read."""
    reason = error.strerror if isinstance(error, OSError) else ""
    return reason or "it is not a complete parquet file"


def require_folder(path: Path, name: str) -> Path:
    """Return the path of a folder that exists or can be made. Raises InputError with the `name` of the setting if a file is in its way."""
    nearest = next((place for place in (path, *path.parents) if place.exists()), path)
    if nearest.exists() and not nearest.is_dir():
        reason = "" if nearest == path else f", since {nearest} is a file"
        raise InputError(f"{name} {path} is not a folder{reason}", "name another one")
    return path


def parsed_json(text: str | bytes) -> Any:
    """Return the value of a JSON text, which UTF-8 can encode. Raises ValueError as `json_value`, and for half of a surrogate pair."""
    try:
        value = json_value(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    return value


def json_value(text: str) -> Any:
    """Return the value of a JSON text. Raises ValueError for any other text, a repeated key, NaN and values that are nested too deeply."""
    try:
        return json.loads(text, object_pairs_hook=unique_keys, parse_constant=_constant)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def read_json(path: Path, what: str, fix: str) -> Any:
    """Return the value of a JSON file. `what` names it, such as `the baseline`. Raises InputError with the `fix` if it cannot be read."""
    try:
        return parsed_json(read_regular(path))
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read ({error.strerror})", fix) from None
    except ValueError as error:
        raise InputError(f"{what} {path} is not JSON ({error})", fix) from None


def checked(model: type[Model], content: object, path: Path, fix: str) -> Model:
    """Return a value of a JSON file in its form. Raises InputError with the place of the first fault and the `fix`."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        where = ".".join(map(str, detail["loc"]))
        raise InputError(f"{path} is damaged: {f'{where!r:.120}: ' if where else ''}{detail['msg']}", fix) from None


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of JSON. Python's parser would keep only the last value of a repeated key. Raises ValueError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r:.80} appears more than once")
    return found


def _constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def decoded(raw: bytes) -> tuple[str, str]:
    """Decode UTF-8 without its byte order mark. Returns the text, and its fault or an empty text; UTF-16 is a fault, but is decoded."""
    for start, kind in _BINARY_FILES.items():
        if raw.startswith(start):
            return "", f" is {kind}, not a text file; export it as text (UTF-8)"
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace"), " is UTF-16; save the file as UTF-8"
    # Latin letters of UTF-16 without a mark are every second byte.
    if len(raw) > 3 and 2 * raw.count(b"\0") > 0.8 * len(raw):
        return raw.decode("utf-16-le" if raw[1] == 0 else "utf-16-be", "replace"), " looks like UTF-16; save the file as UTF-8"
    try:
        return raw.decode("utf-8-sig"), ""
    except UnicodeDecodeError as error:
        raw = raw.removeprefix(codecs.BOM_UTF8)
        line = raw.count(b"\n", 0, error.start) + 1
        return raw.decode("utf-8", "replace"), f":{line} is not UTF-8 (byte 0x{raw[error.start]:02x}); save the file as UTF-8"
