"""The fields of a row: misspelt ones, other tools' names for them, and their texts."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from workbench.core.formatting import listed, nearest_word, same_letters
from workbench.datasets.draft import DatasetDraft, file_of
from workbench.datasets.lines import json_kind

# The fields of a question that label documents or passages.
LABEL_FIELDS = ("relevant_doc_ids", "irrelevant_doc_ids", "judged_doc_ids", "evidence", "relevant_chunks")
# Names that other tools give to a field. They count only in a row without the field.
_USUAL = {
    "questions": ("queries", "data", "items", "examples"),
    "documents": ("docs", "corpus"),
    "query": ("question", "text", "prompt", "q", "user_input", "input"),
    "query_id": ("id", "_id", "qid", "question_id"),
    "_id": ("id", "query_id", "qid", "question_id", "doc_id"),
    "relevant_doc_ids": ("relevant", "relevant_documents", "relevant_ids", "gold_docs", "gold_documents", "positive_doc_ids", "positives"),
    "irrelevant_doc_ids": ("irrelevant", "irrelevant_documents", "hard_negatives", "negatives", "negative_doc_ids"),
    "relevant_chunks": ("relevant_texts", "relevant_passages", "gold_chunks", "gold_passages", "reference_contexts"),
    "evidence": ("evidence_spans", "relevant_spans", "gold_spans"),
    "doc_id": ("document", "doc", "document_id", "docid", "name", "filename", "file", "path", "url"),
    "text": ("content", "contents", "body", "page_content", "passage", "markdown", "query", "question", "quote"),
    "start": ("start_index", "start_char", "start_offset", "begin", "from", "answer_start"),
    "end": ("end_index", "end_char", "end_offset", "stop", "to", "answer_end"),
}
# Fields that probably name the relevant documents of a question without any. Elsewhere they are metadata.
_LABELS = (
    "doc_id",
    "doc_ids",
    "document",
    "documents",
    "docs",
    "gold",
    "gold_ids",
    "source",
    "sources",
    "file",
    "files",
    "context",
    "contexts",
)


@cache
def misspelt(fields: tuple[str, ...], known: tuple[str, ...]) -> dict[str, str]:
    """Map fields that look misspelt, or have another tool's name, to the known but missing field they resemble. Others are metadata."""
    missing = [name for name in known if name not in fields]
    usual = {synonym: name for name in reversed(missing) for synonym in _USUAL.get(name, ())}
    written = {field: same_letters(field.strip()).replace(" ", "_").replace("-", "_") for field in fields if field not in known}
    nearest = {field: usual.get(text) or nearest_word(text, missing, likeness=0.8) for field, text in written.items()}
    # `unanswerable` has the opposite meaning.
    return {field: name for field, name in nearest.items() if name and written[field] != f"un{name}"}


def check_fields(row: dict[str, Any], known: tuple[str, ...], where: str, draft: DatasetDraft) -> bool:
    """Return whether no field of a row looks like a missing one. A field that does is a fault."""
    wrong = misspelt(tuple(row), known)
    for field, name in wrong.items():
        draft.fault(where, rename("field", field, name))
    return not wrong


def doubt_fields(row: dict[str, Any], known: tuple[str, ...], fate: str, where: str, draft: DatasetDraft) -> None:
    """Count metadata that looks like one of these fields, whether or not the row has that too. `fate` describes the consequence."""
    given = tuple(field for field in row if field not in known)
    for field, name in misspelt(given, known).items():
        draft.doubtful[file_of(where), f"{field!r}, which looks like {name!r} and {fate},"] += 1


def rename(what: str, written: str, name: str) -> str:
    """Return the fault of a field or a column that looks like another."""
    return f"has no use for {what} {written!r} (did you mean {name!r}?); rename it"


def probable_label(fields: Sequence[str]) -> str:
    """Return a suggestion if one of a question's metadata fields probably names its relevant documents, or an empty text."""
    label = next((field for field in fields if same_letters(field) in _LABELS), None)
    return f" (did you mean 'relevant_doc_ids' by {label!r}?)" if label else ""


def text_field(row: dict[str, Any], keys: tuple[str, ...], where: str, draft: DatasetDraft) -> str | None:
    """Return the value of the row's first matching key as text (a number is an unquoted id), or add a fault and return None."""
    for key in keys:
        value = row.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    other = next((key for key in keys if key in row), None)
    if other is not None:
        draft.fault(where, f"has {json_kind(row[other])} in {other!r}, not a text")
    elif check_fields(row, keys[:1], where, draft):
        draft.fault(where, f"has no text in {' or '.join(map(repr, keys))}; its fields are {listed([repr(field) for field in row])}")
    return None
