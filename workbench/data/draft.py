"""The unchecked content of a dataset's files: rows with their places, and the faults found while reading."""

import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError
from workbench.core.records import Document, Qrel, Query, Span
from workbench.core.text.formatting import listed, meant, plural
from workbench.data.files import FileAccess, RefusedFileError


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

    `unread` counts the rows with unknown fields, by file and field, and `doubtful` those with metadata that looks like a label, by file and
    remark; `notes` are remarks that are not faults. `faulty` are the places
    whose content is incomplete because of a fault, and `marked` the files of documents that begin with a byte order mark.
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
    doubtful: Counter[tuple[str, str]] = field(default_factory=Counter)
    faulty: set[str] = field(default_factory=set)
    marked: set[str] = field(default_factory=set)
    files: FileAccess = field(default_factory=FileAccess)

    def fault(self, where: str, what: str) -> None:
        """Add a fault that leaves the content of a place incomplete. Faults that only follow from it are not reported."""
        self.faults.append(f"{where} {what}")
        self.faulty.add(where)

    def raise_first(self) -> None:
        """Raise InputError for the first fault, with the number of the others."""
        if self.faults:
            raise InputError(self.faults[0] + (f" (and {plural(len(self.faults) - 1, 'more fault')})" if self.faults[1:] else ""))

    def read_bytes(self, path: Path) -> bytes:
        """Return a file's content. A file that cannot or must not be read is a fault, and empty."""
        try:
            return self.files.read(path)
        except RefusedFileError as error:
            self.fault(str(path), str(error))
        except OSError as error:
            self.fault(str(path), f"cannot be read ({error.strerror}); give a readable file")
        return b""

    def leave(self, row: dict[str, Any], known: Collection[str], where: object) -> None:
        """Count the fields of a row that are neither `known` nor empty. `where` is its place or its file."""
        file = file_of(str(where))
        self.unread.update((file, key) for key, value in row.items() if key not in known and value not in (None, "", {}, []))


def file_of(where: str) -> str:
    """Return the file of a row's place, such as `questions.json` of `questions.json question 3`."""
    return re.sub(r"(:| row | question | document )\d+$", "", where)


Rows = Iterable[tuple[dict[str, Any], str]]


def check_split(split: str | None, splits: Iterable[object], draft: DatasetDraft) -> None:
    """Raise InputError for a split that is not among `splits`, in which None stands for questions without a split."""
    known = sorted({str(name) for name in splits if name not in (None, "")})
    if split is not None and split not in known:
        fix = f"its splits are {listed(known, len(known))}" if known else "leave the split out, since no question names one"
        raise InputError(f"the dataset {draft.name} has no split {split!r}{meant(split, known)}", fix)
