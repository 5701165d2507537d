"""Identify a corpus by its content."""

from collections.abc import Iterable

from workbench.core.fingerprint import fingerprint_of_rows
from workbench.records import Document


def corpus_fingerprint(documents: Iterable[Document]) -> str:
    """Hash the ids, titles and texts of documents in order."""
    return fingerprint_of_rows((document.doc_id, document.title, document.text) for document in documents)
