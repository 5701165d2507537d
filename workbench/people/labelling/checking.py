"""Check label files against the dataset that they label, and the grades that a person chooses from."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path

from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint, fingerprint_of_rows
from workbench.core.records import Dataset, Document, Query
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import meant, plural
from workbench.data.labels import IdLookup
from workbench.people.labelling.adjudication import NO_EVIDENCE
from workbench.people.labelling.label_file import (
    AnnotatorLabels,
    DamagedLine,
    LabelAction,
    LabelFile,
    LabelHeader,
    labels_by_annotator,
    with_added_questions,
)

_DIGITS = 12
# More pieces of evidence than a question has.
_MOST_PIECES = 100_000


def digest(text: str) -> str:
    """Return a short digest of a text that a person saw when labelling."""
    return fingerprint(text)[:_DIGITS]


class LabelChecker:
    """A dataset as labels see it: its questions and documents by id, with the digests of their texts."""

    def __init__(self, dataset: Dataset) -> None:
        self._source = self.dataset = dataset
        self.queries: Mapping[str, Query] = {query.query_id: query for query in dataset.queries}
        self._added: frozenset[str] = frozenset()
        self.documents: Mapping[str, Document] = {document.doc_id: document for document in dataset.corpus}
        self.scale = GradeScale.of(dataset)
        self._digests: dict[str, str] = {}

    def add_questions(self, actions: Sequence[LabelAction]) -> None:
        """Take the questions that people add in a label file, or in several, for questions of the dataset."""
        adding = [action for action in actions if action.kind in ("question", "undo")]
        self._added = frozenset(action.query_id for action in adding if action.kind == "question")
        self.dataset = with_added_questions(self._source, adding) if self._added else self._source
        if len(self.dataset.queries) != len(self.queries) or self._added:
            self.queries = {query.query_id: query for query in self.dataset.queries}

    @cached_property
    def header(self) -> LabelHeader:
        """Return the header of a label file of the dataset."""
        documents = fingerprint_of_rows((document.doc_id, document.text) for document in self.dataset.corpus)
        return LabelHeader(self.dataset.name, documents, self.scale.grades)

    def document_digest(self, doc_id: str) -> str:
        if doc_id not in self._digests:
            self._digests[doc_id] = digest(self.documents[doc_id].text)
        return self._digests[doc_id]

    def fault(self, action: LabelAction) -> str:
        """Return why an action does not fit the dataset, or an empty text. An undo and a question that is added always fit."""
        if action.kind in ("undo", "question"):
            return ""
        query = self.queries.get(action.query_id)
        if query is None:
            return f"labels question {action.query_id!r}, which is not in the dataset{meant(action.query_id, self.queries)}"
        if action.question != digest(query.text):
            return f"labels question {action.query_id!r}, whose text has changed since"
        return self._document_fault(action) if action.kind in ("relevance", "span") else ""

    def _document_fault(self, action: LabelAction) -> str:
        document = self.documents.get(action.doc_id)
        if document is None:
            return f"labels document {action.doc_id!r}, {IdLookup(self.documents).unknown('document', action.doc_id)}"
        if action.kind == "relevance":
            if action.document != self.document_digest(action.doc_id):
                return f"labels document {action.doc_id!r}, whose text has changed since"
            return self._value_fault(action, -1, self.scale.best)
        length = len(document.text)
        if not 0 <= action.start < action.end <= length:
            return f"marks [{action.start}, {action.end}) in document {action.doc_id!r} of {plural(length, 'character')}"
        if document.text[action.start : action.end] != action.text:
            return f"marks [{action.start}, {action.end}) in document {action.doc_id!r}, whose text there has changed since"
        return self._value_fault(action, NO_EVIDENCE, _MOST_PIECES)

    def _value_fault(self, action: LabelAction, least: int, most: int) -> str:
        """Return the fault of a number that nobody can have chosen. None removes a label."""
        if action.value is None or least <= int(action.value) <= most:
            return ""
        what = "the grade" if action.kind == "relevance" else "as evidence the piece"
        return f"gives document {action.doc_id!r} {what} {excerpt(str(action.value), _DIGITS)}, which is not from {least} to {most}"

    def checked(self, file: LabelFile) -> tuple[list[LabelAction], list[DamagedLine]]:
        """Return the actions of a file that fit the dataset, and every line that is skipped, with the reason.

        Raises InputError if the file labels another dataset: other documents, and no line that fits.
        """
        fitting, faults = list[LabelAction](), list[DamagedLine]()
        for action in file.actions:
            if action.query_id in self._added and action.query_id not in self.queries:
                continue  # A label of a question that was added and removed: no fault, and nothing to label.
            if fault := self.fault(action):
                faults.append(DamagedLine(action.line, fault))
            else:
                fitting.append(action)
        known = [action for action in fitting if action.kind not in ("undo", "question")]
        if file.header.documents != self.header.documents and not known:
            what = (
                f"{file.path} has labels of another dataset ({file.header.dataset}; this one is {self.dataset.name}, with other documents)"
            )
            raise InputError(what, "name another file, or load the dataset that it labels")
        return fitting, sorted([*file.damaged, *faults], key=lambda fault: fault.line)


def read_label_files(checker: LabelChecker, paths: Sequence[Path]) -> tuple[dict[str, AnnotatorLabels], list[str]]:
    """Return the labels of each person in several files, and a line for each skipped line.

    If a person labelled the same thing in two files, the later label holds.
    """
    if not paths:
        raise InputError("no label file is given", "give the file of wb.label, or several")
    labels: dict[str, list[AnnotatorLabels]] = {}
    notes: list[str] = []
    files = [LabelFile(path) for path in dict.fromkeys(paths)]
    checker.add_questions([action for file in files for action in file.actions])
    for file in files:
        fitting, faults = checker.checked(file)
        notes += [f"{file.path} {fault}; it is skipped" for fault in faults]
        for name, own in labels_by_annotator(fitting).items():
            labels.setdefault(name, []).append(own)
    return {name: _joined(name, parts) for name, parts in labels.items()}, notes


def _joined(name: str, parts: Iterable[AnnotatorLabels]) -> AnnotatorLabels:
    timed: list[tuple[str, LabelAction]] = []
    for part in parts:
        # Within a file its order holds, since a clock can go back.
        timed += zip(accumulate((action.at for action in part.actions.values()), max), part.actions.values(), strict=True)
    timed.sort(key=lambda pair: pair[0])
    return AnnotatorLabels(name, {action.key: action for _, action in timed})


# A longer scale has more grades than a person keeps apart.
_MOST = 5


@dataclass(frozen=True, slots=True)
class GradeScale:
    """The grades from `best` to 0 (not relevant), and -1 for a document that misleads and must stay out (a hard negative).

    `binary` tells whether the dataset's own judgements call documents only relevant (1) or not. Its relevant documents then count as `best`.
    """

    best: int
    binary: bool

    @classmethod
    def of(cls, dataset: Dataset) -> "GradeScale":
        """Return the scale of a dataset: up to its highest grade, at least to 2, so that a document can be partly relevant."""
        highest = max((qrel.relevance for qrel in dataset.qrels), default=0)
        return cls(max(2, highest), highest <= 1)

    @property
    def grades(self) -> tuple[int, ...]:
        """Return the grades, best first. Of a long scale the best, the middle and 1."""
        steps = range(self.best, 0, -1) if self.best <= _MOST else (self.best, (self.best + 1) // 2, 1)
        return (*steps, 0, -1)

    def shown(self, grade: int) -> int:
        """Return a grade of the dataset as a grade of the scale."""
        return self.best if self.binary and grade == 1 else grade

    def name(self, grade: int) -> str:
        """Return a grade in words."""
        if grade <= 0:
            return "not relevant" if grade == 0 else "misleading"
        if grade >= self.best:
            return "relevant"
        return "partly relevant" if self.best == 2 else f"partly relevant ({grade})"
