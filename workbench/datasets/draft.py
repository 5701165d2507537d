"""The unchecked content of a dataset's files: rows with their places, and the faults found while reading."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from workbench.core.formatting import listed, meant, nearest_word
from workbench.errors import InputError
from workbench.records import Document, Qrel, Query, Span


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One alternative of one need, as in the file. `text` is None if the file does not repeat it."""

    query_id: str
    need: str
    span: Span
    text: str | None
    where: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A relevant chunk given as text, to be found in a document, or in any document if `doc_id` is None."""

    query_id: str
    need: str
    text: str
    doc_id: str | None
    where: str


@dataclass
class DatasetDraft:
    """The rows from a reader, each with its place `file:line`, for `checks.faults`.

    `unread` counts the rows with unknown fields, by file and field; `notes` are remarks that are not faults.
    """

    name: str
    documents: list[tuple[Document, str]] = field(default_factory=list)
    queries: list[tuple[Query, str]] = field(default_factory=list)
    qrels: list[tuple[Qrel, str]] = field(default_factory=list)
    evidence: list[EvidenceRow] = field(default_factory=list)
    quotes: list[Quote] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unread: Counter[tuple[str, str]] = field(default_factory=Counter)

    def leave(self, row: dict[str, Any], known: Collection[str], file: object) -> None:
        """Count the fields of a row that are neither `known` nor empty."""
        self.unread.update((str(file), key) for key, value in row.items() if key not in known and value not in (None, "", {}, []))


Rows = Iterable[tuple[dict[str, Any], str]]
_HEADER = re.compile(r"(query[-_]?id|qid|id)\t", re.IGNORECASE)


def require(path: Path, what: str) -> Path:
    """Return the path if it exists. Raises InputError, naming it `what`, otherwise."""
    if not path.exists():
        raise InputError(f"{what} {path} does not exist", "give its path (dataset.path in an experiment)")
    return path


def first_file(folder: Path, names: Iterable[str]) -> Path | None:
    """Return the first of these files that the folder contains, or None."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def check_split(split: str | None, splits: Iterable[object], draft: DatasetDraft) -> None:
    """Raise InputError for a split that is not among `splits`, in which None stands for questions without a split."""
    known = sorted({str(name) for name in splits if name not in (None, "")})
    if split is not None and split not in known:
        fix = f"its splits are {listed(known, len(known))}" if known else "leave the split out, since no question names one"
        raise InputError(f"the dataset {draft.name} has no split {split!r}{meant(split, known)}", fix)


def read_text(path: Path, draft: DatasetDraft, *, mark: bool = False) -> str:
    """Read a file as UTF-8. Bytes that cannot be decoded are a fault, and so is a byte order mark unless `mark` allows it."""
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        draft.faults.append(f"{path}:{line} is not UTF-8 (byte 0x{raw[error.start]:02x}); save the file as UTF-8")
        text = raw.decode("utf-8", "replace")
    if text.startswith("\ufeff") and not mark:
        draft.faults.append(f"{path}:1 begins with a byte order mark, which shifts every offset by one; save the file without it")
    return text.removeprefix("\ufeff")


def parse_json(text: str) -> Any:
    """Parse JSON. Raises ValueError also for NaN, half a surrogate pair and nesting beyond Python's limit."""
    try:
        value = json.loads(text, parse_constant=_refuse)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def reason(error: ValueError) -> str:
    """Describe why a text is not JSON, with the column if it is known."""
    return f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not a JSON number")


def text_lines(path: Path, draft: DatasetDraft) -> Iterator[tuple[str, str]]:
    """Yield the nonblank lines of a file with their `file:line`."""
    # Not splitlines(): a document may contain U+2028 or U+0085, which JSON leaves unescaped.
    for number, line in enumerate(read_text(path, draft).split("\n"), 1):
        if line.strip():
            yield line.removesuffix("\r"), f"{path}:{number}"


def tabbed_lines(path: Path, draft: DatasetDraft) -> Iterator[tuple[str, str]]:
    """Yield the lines of a tabular file without its header."""
    return ((line, where) for line, where in text_lines(path, draft) if not (where == f"{path}:1" and _HEADER.match(line)))


def json_lines(path: Path, draft: DatasetDraft) -> Rows:
    """Yield the objects of a JSON Lines file with their `file:line`. Any other line is a fault."""
    for line, where in text_lines(path, draft):
        try:
            value = parse_json(line)
        except ValueError as error:
            draft.faults.append(f"{where} is not JSON ({reason(error)})")
        else:
            yield from objects([(value, where)], draft)


def objects(values: Iterable[tuple[Any, str]], draft: DatasetDraft) -> Rows:
    """Yield the values that are JSON objects. Any other value is a fault."""
    for value, where in values:
        if isinstance(value, dict):
            yield value, where
        else:
            draft.faults.append(f"{where} is a JSON {type(value).__name__}, not an object")


@cache
def misspelt(fields: tuple[str, ...], known: tuple[str, ...]) -> dict[str, str]:
    """Map fields that look misspelt to the known but missing field they resemble. Any other field is metadata."""
    missing = [name for name in known if name not in fields]
    written = {field: field.strip().lower().replace(" ", "_").replace("-", "_") for field in fields if field not in known}
    nearest = {field: nearest_word(text, missing, likeness=0.8) for field, text in written.items()}
    return {field: name for field, name in nearest.items() if name}


def text_field(row: dict[str, Any], keys: tuple[str, ...], where: str, draft: DatasetDraft) -> str | None:
    """Return the value of the row's first matching key as text (a number is an unquoted id), or add a fault and return None."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    draft.faults.append(f"{where} has no text in {' or '.join(repr(key) for key in keys)}")
    return None
