"""The append-only file of labels: a header and one JSON object for each action, on disk before the label counts as saved.

Several people and notebooks can write to one file, under a lock. A write that was interrupted leaves a damaged line, which is reported and
skipped; every other line stays readable. Nothing is ever rewritten or deleted.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from workbench.core.files import write_text
from workbench.datasets.files import special_kind
from workbench.errors import InputError, StoreError, WorkbenchError
from workbench.labelling.actions import LabelAction, is_number, numbered, parse_action, standing_actions

VERSION = 1
# A writer holds the lock for milliseconds.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class LabelHeader:
    """The first line of a label file: the dataset's name, the fingerprint of its documents, and the grades that a person chooses from."""

    dataset: str
    documents: str
    grades: tuple[int, ...]

    def as_json(self) -> str:
        """Return the header as a line."""
        row = {"labels": VERSION, "dataset": self.dataset, "documents": self.documents, "grades": list(self.grades)}
        return json.dumps(row, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """A line that is skipped, with what is wrong with it."""

    line: int
    what: str

    def __str__(self) -> str:
        return f"line {self.line} {self.what}"


class LabelFile:
    """A label file: its header, its `actions` in order, and its `damaged` lines, as of the last `refresh`."""

    def __init__(self, path: Path) -> None:
        """Read an existing file. Raises InputError if it is no label file or cannot be read."""
        with _clear_errors(path, "read"):
            _require_plain(path)
        self.path = path
        self.actions: list[LabelAction] = []
        self._damaged: list[DamagedLine] = []
        self._read, self._lines, self._tail = 0, 0, b""
        self.header = self._read_header()
        self.refresh()

    @classmethod
    def begin(cls, path: Path, header: LabelHeader) -> "LabelFile":
        """Open a file for writing; make it with its header if it does not exist. Raises InputError if it cannot be written.

        A link stays a link: the labels go to its target.
        """
        with _clear_errors(path):
            path = Path(os.path.realpath(path)) if path.is_symlink() else path
            _require_plain(path)
            if path.is_symlink():
                raise InputError(f"{path} is a link to itself", "name a label file")
            path.parent.mkdir(parents=True, exist_ok=True)
            with _locked(path):
                if not path.exists() or path.stat().st_size == 0:
                    write_text(path, f"{header.as_json()}\n")
                # Found out now, not with the first label.
                os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        return cls(path)

    @property
    def damaged(self) -> tuple[DamagedLine, ...]:
        """Return the damaged lines. The last one may be incomplete because its write was interrupted."""
        if not self._tail:
            return tuple(self._damaged)
        return (*self._damaged, DamagedLine(self._lines + 1, "is incomplete: its write was interrupted, and its label is lost"))

    def refresh(self) -> None:
        """Read the lines that were added since the last time, by whomever."""
        with _clear_errors(self.path), self.path.open("rb") as stream:
            stream.seek(self._read)
            added = stream.read()
        *lines, self._tail = added.split(b"\n")
        self._read += len(added) - len(self._tail)
        for line in lines:
            self._lines += 1
            self._take(line)

    def append(self, action: LabelAction) -> LabelAction:
        """Write an action and flush it to disk. Returns it with its number and time.

        Raises InputError or StoreError if it cannot be written, or could not be read again; the file is then as it was.
        """
        _require_readable(action)
        with _clear_errors(self.path), _locked(self.path):
            self.refresh()
            number = 1 + max((other.number for other in self.actions if other.by == action.by), default=0)
            written = numbered(action, number, datetime.now(UTC).isoformat(timespec="milliseconds"))
            # After an interrupted write, the rest of its line stays alone on it.
            _write_whole(self.path, (b"\n" if self._tail else b"") + f"{written.as_json()}\n".encode())
            self.refresh()
        return written

    def undo(self, by: str) -> LabelAction | None:
        """Take back the latest action of a person that is not undone, and return it. None without one. Repeated calls go further back."""
        self.refresh()
        own = [action for action in standing_actions(self.actions) if action.by == by]
        if not own:
            return None
        last = max(own, key=lambda action: action.number)
        self.append(LabelAction(kind="undo", by=by, query_id=last.query_id, undoes=last.number))
        return last

    def _read_header(self) -> LabelHeader:
        try:
            with self.path.open("rb") as stream:
                first = stream.readline()
        except FileNotFoundError:
            raise InputError(f"there is no label file {self.path}", "label questions with wb.label, or give another path") from None
        except OSError as error:
            raise InputError(f"{self.path} cannot be read ({error.strerror})", "give a readable file") from None
        try:
            row = json.loads(first)
            if row["labels"] != VERSION:
                raise InputError(f"{self.path} is a label file of version {row['labels']}", f"this version reads {VERSION}")
            header = LabelHeader(str(row["dataset"]), str(row["documents"]), tuple(row["grades"]))
            if not all(is_number(grade) for grade in header.grades):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InputError(f"{self.path} is no label file: line 1 has no header", "name another file") from None
        self._read, self._lines = len(first), 1
        return header

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            self.actions.append(parse_action(line.decode("utf-8"), self._lines))
        except UnicodeDecodeError:
            self._damaged.append(DamagedLine(self._lines, "is not UTF-8"))
        except InputError as error:
            self._damaged.append(DamagedLine(self._lines, str(error)))


def _require_plain(path: Path) -> None:
    """Raise InputError for a folder, a pipe or a device, none of which keeps labels. A file that does not exist yet is fine."""
    if path.exists() and (kind := special_kind(path)):
        raise InputError(f"{path} is {kind}, not a file", "name a label file")


def _require_readable(action: LabelAction) -> None:
    """Raise InputError for an action whose line would be skipped when the file is read again."""
    try:
        line = numbered(action, 1, "now").as_json()
        line.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the label has half of a character, {error.object[error.start]!r}, which no file can keep", "write it again"
        ) from None
    except TypeError as error:
        raise InputError(f"the label cannot be written ({error})", "give plain texts and whole numbers") from None
    try:
        parse_action(line, 1)
    except InputError as error:
        raise InputError(f"the label {error.what}", error.fix) from None


def _write_whole(path: Path, content: bytes) -> None:
    """Append all of the content, or none of it."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        before = os.fstat(descriptor).st_size
        try:
            if os.write(descriptor, content) < len(content):
                raise StoreError(f"the disk is full at {path}", "free space and label again: earlier labels are kept")
            os.fsync(descriptor)
        except BaseException:
            os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        with FileLock(f"{path}.lock", timeout=_PATIENCE):
            yield
    except Timeout:
        raise StoreError(f"{path} is locked by another process", "close the notebook that hangs, and label again") from None


@contextmanager
def _clear_errors(path: Path, done: str = "written") -> Iterator[None]:
    try:
        yield
    except WorkbenchError:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be {done} ({error.strerror or error})", "name another file, or change its permissions") from error
