"""Read what questions are generated from: a dataset of any kind, or documents without questions."""

from pathlib import Path

from workbench.core.environment import expand
from workbench.datasets.checks import checked
from workbench.datasets.draft import DatasetDraft
from workbench.datasets.files import MAX_FILE_MB, FileAccess, readable, require
from workbench.datasets.formats.documents import read_documents
from workbench.datasets.formats.golden import QUESTION_FILES
from workbench.datasets.formats.table import QUESTIONS
from workbench.datasets.formats.trec import TOPICS
from workbench.datasets.sources import recognise
from workbench.errors import DatasetError
from workbench.records import Dataset

_DOCUMENTS = ("documents.jsonl", "documents")
_DATASETS = (*QUESTION_FILES, *QUESTIONS, *TOPICS, "corpus.jsonl", "qrels")


def read_sources(path: str, split: str | None = None, *, max_file_mb: int | None = None, **given: str | None) -> Dataset:
    """Return the documents at a path, with the questions that a dataset there has already.

    A folder without questions, and a JSON Lines file, are documents. Everything else is a dataset, which `datasets.sources.recognise` reads with
    the other options. Raises DatasetError with every fault.
    """
    place = require(expand(path), "the documents")
    with readable():
        documents = None if split or any(given.values()) else _documents(place)
        if documents is None:
            return recognise(path, split, kind=given.pop("kind", None), max_file_mb=max_file_mb, **given).load()
        draft = DatasetDraft(place.resolve().name, files=FileAccess((place, documents), max_file_mb or MAX_FILE_MB))
        read_documents(documents, draft)
    if draft.faults:
        raise DatasetError(f"documents {path}", draft.faults)
    return checked(Dataset(draft.name, tuple(document for document, _ in draft.documents), (), ()))


def _documents(place: Path) -> Path | None:
    """Return the documents if there are no questions beside them, otherwise None."""
    if place.is_file():
        return place if place.suffix.lower() in (".jsonl", ".ndjson") else None
    if any((place / name).exists() for name in _DATASETS):
        return None
    return next((place / name for name in _DOCUMENTS if (place / name).exists()), place)
