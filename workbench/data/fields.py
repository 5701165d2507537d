"""The fields of a row: misspelt ones, other tools' names for them, and their texts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from workbench.core.records import Query
from workbench.core.text.formatting import listed, nearest_word, same_letters
from workbench.data.draft import DatasetDraft, file_of
from workbench.data.lines import json_kind

# Fields with texts that are as good as `answer`. The first text of all is the expected answer.
VARIANTS = ("answers", "answer_variants", "aliases")

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
    "where": ("filter", "filters"),
    "evidence": ("evidence_spans", "relevant_spans", "gold_spans"),
    "doc_id": ("document", "doc", "document_id", "docid", "name", "filename", "file", "path", "url"),
    "text": ("content", "contents", "body", "page_content", "passage", "markdown", "query", "question", "quote"),
    "start": ("start_index", "start_char", "start_offset", "begin", "from", "answer_start"),
    "end": ("end_index", "end_char", "end_offset", "stop", "to", "answer_end"),
}
# A field is rare beside one that occurs at least this many times as often.
_RARE = 4
# Fields that mean the opposite of `answerable`.
_OPPOSITES = ("unanswerable", "is_unanswerable", "not_answerable", "is_impossible")
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


def pop_expected_answers(metadata: dict[str, Any], where: str, draft: DatasetDraft) -> tuple[str, ...]:
    """Remove the expected answers from the fields of a question, and return the distinct ones: the expected answer first.

    `answers`, `answer_variants` and `aliases` are lists of texts, or one text; `answers` may be SQuAD's `{text: [...]}`.
    """
    fields = {field: metadata.pop(field, None) for field in ("answer", *VARIANTS)}
    texts = [text for field, value in fields.items() for text in _texts(field, value, where, draft)]
    return tuple(dict.fromkeys(texts))


def _texts(field: str, value: Any, where: str, draft: DatasetDraft) -> list[str]:
    """Return the texts of a field, without blank ones. A number is a text without quotes."""
    inside = value.get("text", [value]) if field == "answers" and isinstance(value, dict) else value
    listed = inside if isinstance(inside, list) else [inside]
    if not all(isinstance(text, str | int | float | None) for text in listed):
        draft.fault(where, f"has {value!r} in {field!r}, which is neither a text nor a list of texts")
        return []
    return [str(text) for text in listed if text is not None and str(text).strip()]


@cache
def misspelt(fields: tuple[str, ...], known: tuple[str, ...]) -> dict[str, str]:
    """Map fields to the known field they resemble. Others are metadata.

    A field in other letter case resembles its field even beside it; one that looks misspelt, or has another tool's name, only a missing one.
    """
    missing = [name for name in known if name not in fields]
    usual = {synonym: name for name in reversed(missing) for synonym in _USUAL.get(name, ())}
    same = {same_letters(name): name for name in known}
    written = {field: _written(field) for field in fields if field not in known}
    nearest = {
        field: same.get(text) or usual.get(text) or nearest_word(text, missing, likeness=0.8)
        for field, text in written.items()
        if text not in _OPPOSITES
    }
    return {field: name for field, name in nearest.items() if name}


def _written(field: str) -> str:
    return same_letters(field.strip()).replace(" ", "_").replace("-", "_")


def check_fields(row: dict[str, Any], known: tuple[str, ...], where: str, draft: DatasetDraft) -> bool:
    """Return True if no field of a row looks like a missing one. A field that does is a fault."""
    wrong = misspelt(tuple(row), known)
    for field, name in wrong.items():
        draft.fault(where, rename("field", field, name, name in row))
    return not wrong


def doubt_fields(row: dict[str, Any], known: tuple[str, ...], fate: str, where: str, draft: DatasetDraft) -> None:
    """Count metadata that looks like one of these fields, whether or not the row has that too. `fate` describes the consequence."""
    given = tuple(field for field in row if field not in known)
    for field, name in misspelt(given, known).items():
        draft.doubtful[file_of(where), f"{field!r}, which looks like {name!r} and {fate},"] += 1


def opposites(fields: Iterable[str]) -> list[str]:
    """Return the fields that mean the opposite of `answerable`, such as `unanswerable`."""
    return [field for field in fields if _written(field) in _OPPOSITES]


def rename(what: str, written: str, name: str, beside: bool) -> str:
    """Return the fault of a field or a column that looks like another, which may be `beside` it."""
    if beside:
        return f"has {what} {written!r} beside {name!r}; remove one of them"
    return f"has no use for {what} {written!r} (did you mean {name!r}?); rename it"


def probable_label(fields: Sequence[str]) -> str:
    """Return a suggestion if one of a question's metadata fields probably names its relevant documents, or an empty text."""
    label = next((field for field in fields if same_letters(field) in _LABELS), None)
    return f" (did you mean 'relevant_doc_ids' by {label!r}?)" if label else ""


def doubtful_metadata(queries: Sequence[tuple[Query, str]]) -> list[str]:
    """Return a remark for each question with a field in few questions that looks like a field of most, which that question lacks."""
    rows = Counter(field for query, _ in queries for field in query.metadata)
    usual = [field for field, count in rows.items() if 2 * count > len(queries)]
    # Rows can have thousands of fields, and nearly all are as frequent as the others.
    frequent = {count: [name for name in usual if _RARE * count <= rows[name]] for count in set(rows.values())}
    nearest = ((field, nearest_word(field, frequent[count], likeness=0.8)) for field, count in rows.items())
    close = {field: name for field, name in nearest if name}
    return [
        f"{where} has {field!r}, which looks like {name!r} of most questions and is kept as metadata"
        for query, where in queries
        for field, name in close.items()
        if field in query.metadata and name not in query.metadata
    ]


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
