"""The cases of a check for stale data: documents in two versions, and questions whose answer changed between them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.errors import DatasetError
from workbench.core.records import Document
from workbench.data.draft import DatasetDraft
from workbench.data.formats.documents import read_documents
from workbench.data.lines import json_lines

CASES, EARLIER, DOCUMENTS = "stale.jsonl", "earlier", "documents"
_SIDES = ("before", "after")
# Few enough to be in one chunk.
_LOST_WORDS = 20
_PARAGRAPH = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Stated:
    """A value, and the text of a document that states it. Without a text, the value itself."""

    value: str
    text: str = ""

    @property
    def passage(self) -> str:
        """Return the text that states the value."""
        return self.text or self.value


@dataclass(frozen=True)
class StaleCase:
    """A question whose answer changed from one version of a document to the next."""

    case_id: str
    doc_id: str
    query: str
    before: Stated
    after: Stated


@dataclass(frozen=True)
class FreshnessData:
    """The `current` documents, the `earlier` versions of those that changed, under the same ids, and the cases."""

    earlier: tuple[Document, ...]
    current: tuple[Document, ...]
    cases: tuple[StaleCase, ...]

    def __post_init__(self) -> None:
        """Raise DatasetError if a case names a document that lacks one of the versions, or a value that its version does not contain."""
        versions, faults = [{document.doc_id: document.text for document in documents} for documents in (self.earlier, self.current)], []
        for case in self.cases:
            for side, texts, stated in zip(_SIDES, versions, (case.before, case.after), strict=True):
                if case.doc_id not in texts:
                    faults.append(f"{case.case_id} has no version {side} of the document {case.doc_id!r}")
                elif stated.passage not in texts[case.doc_id]:
                    faults.append(f"{case.case_id}: {stated.passage[:60]!r} is not in the version {side} of {case.doc_id!r}")
        if faults:
            raise DatasetError("stale cases", faults)

    @property
    def first(self) -> tuple[Document, ...]:
        """Return all documents as they were: the earlier versions, and the current ones of documents that did not change."""
        earlier = {document.doc_id: document for document in self.earlier}
        rest = tuple(document for document in self.current if document.doc_id not in earlier)
        return self.earlier + rest

    @property
    def updated(self) -> tuple[Document, ...]:
        """Return the current versions of the documents that changed."""
        changed = {document.doc_id for document in self.earlier}
        return tuple(document for document in self.current if document.doc_id in changed)

    def only(self, doc_ids: Sequence[str]) -> "FreshnessData":
        """Return the documents with these ids, and the cases about them."""
        wanted = set(doc_ids)
        return FreshnessData(
            tuple(document for document in self.earlier if document.doc_id in wanted),
            tuple(document for document in self.current if document.doc_id in wanted),
            tuple(case for case in self.cases if case.doc_id in wanted),
        )


def shortened(document: Document) -> tuple[Document, str]:
    """Return the first half of a document and its last words, which it has lost. Empty if they are in the first half too."""
    middle = len(document.text) // 2
    # Between paragraphs, if there are several.
    cut = min(
        (found.start() for found in _PARAGRAPH.finditer(document.text.rstrip())), key=lambda start: abs(start - middle), default=middle
    )
    kept, lost = document.text[:cut], " ".join(document.text.split()[-_LOST_WORDS:])
    return Document(document.doc_id, kept, document.title, document.metadata), "" if lost in " ".join(kept.split()) else lost


def read_freshness(folder: str | Path) -> FreshnessData:
    """Read `documents`, `earlier` and `stale.jsonl` of a folder, as in experiments/handbook. Raises DatasetError with every fault.

    Examples
    --------
    >>> import workbench as wb
    >>> len(wb.read_freshness("experiments/handbook").cases)
    70
    """
    folder = Path(folder)
    documents, earlier = (_documents(folder / name) for name in (DOCUMENTS, EARLIER))
    draft = DatasetDraft(folder.name)
    cases = [case for row, where in json_lines(folder / CASES, draft) if (case := _case(row, where, draft))]
    if draft.faults:
        raise DatasetError(str(folder / CASES), draft.faults)
    return FreshnessData(earlier, documents, tuple(cases))


def _documents(folder: Path) -> tuple[Document, ...]:
    draft = DatasetDraft(folder.name)
    read_documents(folder, draft)
    if draft.faults:
        raise DatasetError(str(folder), draft.faults)
    return tuple(document for document, _ in draft.documents)


def _case(row: dict[str, Any], where: str, draft: DatasetDraft) -> StaleCase | None:
    """Return the case of a row, or None with a fault."""
    texts = [row.get(name) for name in ("stale_id", "doc_id", "query")]
    sides = [row.get(name) for name in _SIDES]
    if not all(isinstance(text, str) and text.strip() for text in texts):
        draft.fault(where, "lacks one of 'stale_id', 'doc_id' and 'query'; add it as a text")
        return None
    if not all(isinstance(side, dict) and isinstance(side.get("answer"), str) and side["answer"].strip() for side in sides):
        draft.fault(where, "lacks the 'answer' in 'before' or 'after'; add the value as a text")
        return None
    before, after = (Stated(side["answer"], str(side.get("text") or "")) for side in sides if side)
    return StaleCase(str(texts[0]), str(texts[1]), str(texts[2]), before, after)
