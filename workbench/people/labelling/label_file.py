"""The append-only file of labels: a header and one JSON object for each action of a person, on disk before the label counts as saved.

Several people and notebooks can write to one file, under a lock. A write that was interrupted leaves a damaged line, which is reported and
skipped; every other line stays readable. Nothing is ever rewritten or deleted. The labels follow from the actions.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

from workbench.core.errors import InputError, StoreError, WorkbenchError
from workbench.core.files import write_text
from workbench.core.fingerprint import fingerprint
from workbench.core.operating_system import open_descriptor
from workbench.core.records import PROVENANCE, Dataset, Query
from workbench.core.text.formatting import listed, meant
from workbench.data.files import special_kind

ActionKind = Literal["question", "relevance", "span", "answer", "answerable", "rewrite", "acceptance", "undo"]
Value = int | str | bool | None
# The label that an action sets: its kind, the question, and for a document or a span of it also these.
LabelKey = tuple[str, str, str, int, int]
_KINDS: tuple[ActionKind, ...] = get_args(ActionKind)
_VALUES: Mapping[str, type] = {
    "question": str,
    "relevance": int,
    "span": int,
    "answer": str,
    "answerable": bool,
    "rewrite": str,
    "acceptance": bool,
}
# Of the id of an added question, and who added it, in its provenance.
_DIGITS = 8
_ADDED_BY = "added_by"
_MEANT: Mapping[type, str] = {int: "a whole number", str: "a text", bool: "true or false"}
_TEXTS = ("query_id", "question", "doc_id", "document", "text", "source")
_NUMBERS = ("start", "end", "undoes")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelAction:
    """An action of a person: a label that is set, or removed if `value` is None, or the undoing of an earlier action.

    `value` is the text of a question that the person adds (`question`), a grade (`relevance`), the number of the piece of evidence that the span belongs to, from 1 (`span`), the expected answer
    (`answer`), the question in the person's words (`rewrite`), or true or false (`answerable`, `acceptance`). `question` is the digest of the
    question in the dataset or as it was added, also after a rewrite, and `document` that of the document; `text` is that of a span, and `source` the configuration
    whose answer was accepted. `number` counts the actions of a person in a file, from 1, and `undoes` is the number of the action that an `undo`
    takes back. `line` is the place in the file.
    """

    kind: ActionKind
    by: str
    query_id: str = ""
    question: str = ""
    doc_id: str = ""
    document: str = ""
    start: int = 0
    end: int = 0
    text: str = ""
    value: Value = None
    source: str = ""
    undoes: int = 0
    number: int = 0
    at: str = ""
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> LabelKey:
        """Identify the label. A later action with the same key replaces it."""
        return self.kind, self.query_id, self.doc_id, self.start, self.end

    def as_json(self) -> str:
        """Return the action as a line of the file, without fields that it does not use."""
        row: dict[str, Any] = {"n": self.number, "at": self.at, "by": self.by, "kind": self.kind}
        row |= {name: getattr(self, name) for name in _TEXTS if getattr(self, name)}
        if self.kind == "span":
            row |= {"start": self.start, "end": self.end}
        return json.dumps(row | ({"undoes": self.undoes} if self.kind == "undo" else {"value": self.value}), ensure_ascii=False)


def parse_action(text: str, line: int) -> LabelAction:
    """Read a line of a label file. Raises InputError that says what is wrong with it."""
    try:
        row = json.loads(text)
        # Half of a surrogate pair is JSON, and no text that can be written.
        json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise InputError("is not a complete JSON object") from None
    if not isinstance(row, dict):
        raise InputError("is not a JSON object")
    kind: ActionKind | None = next((known for known in _KINDS if known == row.get("kind")), None)
    if kind is None:
        raise InputError(f"has the kind {row.get('kind')!r}{meant(str(row.get('kind')), _KINDS)}", f"it is one of {listed(_KINDS)}")
    wrong = [name for name in _TEXTS if not isinstance(row.get(name, ""), str)]
    wrong += [name for name in _NUMBERS if not is_number(row.get(name, 0))]
    wrong += [name for name in ("by", "at") if not isinstance(row.get(name), str) or not row[name].strip()]
    wrong += [] if is_number(row.get("n")) and row["n"] > 0 else ["n"]
    if wrong:
        raise InputError(f"has a wrong or no {listed(wrong)}")
    value = row.get("value")
    if kind != "undo" and value is not None and type(value) is not _VALUES[kind]:
        raise InputError(f"has the value {value!r}", f"{kind} takes {_MEANT[_VALUES[kind]]} or null")
    if kind in ("rewrite", "question") and value is not None and not value.strip():
        raise InputError(f"{'rewrites the' if kind == 'rewrite' else 'adds a'} question without a text")
    texts = {name: row.get(name, "") for name in _TEXTS}
    numbers = {name: row.get(name, 0) for name in _NUMBERS}
    return LabelAction(kind=kind, by=row["by"], at=row["at"], number=row["n"], value=value, line=line, **texts, **numbers)


def is_number(value: object) -> bool:
    """Test for a whole number of JSON."""
    return isinstance(value, int) and not isinstance(value, bool)


def standing_actions(actions: Iterable[LabelAction]) -> list[LabelAction]:
    """Return the actions that are neither undone nor an undoing, in order. A person undoes only actions of their own."""
    every = list(actions)
    undone = {(action.by, action.undoes) for action in every if action.kind == "undo"}
    return [action for action in every if action.kind != "undo" and (action.by, action.number) not in undone]


@dataclass(frozen=True)
class AnnotatorLabels:
    """The labels of one person that are not undone: the latest action for each key, unless it removed the label."""

    annotator: str
    actions: Mapping[LabelKey, LabelAction]

    def of(self, kind: ActionKind, query_id: str) -> list[LabelAction]:
        """Return the labels of a kind for a question, oldest first."""
        return [action for action in self.actions.values() if action.kind == kind and action.query_id == query_id]

    def value(self, kind: ActionKind, query_id: str, doc_id: str = "") -> Value:
        """Return the value of a label, or None without one."""
        action = self.actions.get((kind, query_id, doc_id, 0, 0))
        return action.value if action else None

    def rewritten(self, query_id: str) -> str:
        """Return a question in this person's words, or an empty text."""
        return str(self.value("rewrite", query_id) or "")

    def decision(self, query_id: str) -> bool | None:
        """Return True for a question that the person accepts, False for one refused, None without a decision. A rewrite accepts it; the latest of both holds."""
        keys: tuple[LabelKey, ...] = (("acceptance", query_id, "", 0, 0), ("rewrite", query_id, "", 0, 0))
        # In the order of the actions, since a clock can go back.
        given = [action for key, action in self.actions.items() if key in keys]
        return (given[-1].kind == "rewrite" or given[-1].value is True) if given else None


def labels_by_annotator(actions: Iterable[LabelAction]) -> dict[str, AnnotatorLabels]:
    """Return the labels of each person that are not undone, by name in the order of their first action."""
    every = list(actions)
    found: dict[str, dict[LabelKey, LabelAction]] = {action.by: {} for action in every}
    for action in standing_actions(every):
        # Removed first, so that the order is that of the latest actions.
        found[action.by].pop(action.key, None)
        if action.value is not None:
            found[action.by][action.key] = action
    return {name: AnnotatorLabels(name, labels) for name, labels in found.items()}


def numbered(action: LabelAction, number: int, at: str) -> LabelAction:
    """Return an action with its number and time."""
    return replace(action, number=number, at=at)


def added_id(text: str, known: Iterable[str]) -> str:
    """Return the id of a question that a person adds: from its text, so that two people who add the same question mean the same."""
    query_id = f"a-{fingerprint(text)[:_DIGITS]}"
    return added_id(f"{text} {query_id}", known) if query_id in known else query_id


def with_added_questions(dataset: Dataset, actions: Iterable[LabelAction]) -> Dataset:
    """Return the dataset with the questions that people added and did not remove, oldest first, after its own."""
    known = {query.query_id for query in dataset.queries}
    every = [action for own in labels_by_annotator(actions).values() for action in own.actions.values() if action.kind == "question"]
    authors: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for action in sorted(every, key=lambda action: action.at):
        if action.query_id not in known:
            texts.setdefault(action.query_id, str(action.value))
            authors.setdefault(action.query_id, []).append(action.by)
    added = [Query(query_id, text, metadata={PROVENANCE: {_ADDED_BY: listed(authors[query_id])}}) for query_id, text in texts.items()]
    return replace(dataset, queries=(*dataset.queries, *added)) if added else dataset


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
                os.close(open_descriptor(path, os.O_WRONLY | os.O_APPEND))
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
    descriptor = open_descriptor(path, os.O_WRONLY | os.O_APPEND)
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
