"""Read documents from a folder of Markdown, text and HTML, a JSON Lines file, or a table with doc_id, title and text."""

from pathlib import Path

from workbench.datasets.draft import DatasetDraft, Rows, first_file, json_lines, read_text, require, text_field
from workbench.datasets.formats.markup import document_of_html
from workbench.datasets.formats.table_rows import check_columns, is_table, read_rows
from workbench.records import Document

_TEXT, _HTML = (".md", ".markdown", ".txt"), (".html", ".htm")
_IDS = ("doc_id", "_id", "id")


def documents_of(folder: Path, suffixes: tuple[str, ...] = (".jsonl",)) -> Path:
    """Return the documents in a dataset's folder: a file `documents` with one of the suffixes, or else the folder `documents`."""
    return first_file(folder, (f"documents{suffix}" for suffix in suffixes)) or folder / "documents"


def read_documents(path: Path, draft: DatasetDraft) -> None:
    """Read all documents at the path into the draft. A file of another kind is a fault."""
    require(path, "the documents")
    if path.is_dir():
        _read_folder(path, draft)
    elif is_table(path):
        columns, rows = read_rows(path, draft)
        if check_columns(columns, ("doc_id", "text"), ("title",), path, draft):
            read_document_rows(rows, path, draft)
    else:
        read_document_rows(json_lines(path, draft), path, draft)


def read_document_rows(rows: Rows, file: Path, draft: DatasetDraft) -> None:
    """Read rows {doc_id, title, text} into the draft."""
    for row, where in rows:
        draft.leave(row, (*_IDS, "title", "text"), file)
        doc_id = text_field(row, _IDS, where, draft)
        text = text_field(row, ("text",), where, draft)
        if doc_id is not None and text is not None:
            draft.documents.append((Document(doc_id, text, str(row.get("title") or "")), where))


def _read_folder(folder: Path, draft: DatasetDraft) -> None:
    for file in sorted(file for file in folder.rglob("*") if file.is_file()):
        doc_id = file.relative_to(folder).with_suffix("").as_posix()
        suffix = file.suffix.lower()
        if suffix in _TEXT:
            draft.documents.append((Document(doc_id, read_text(file, draft)), str(file)))
        elif suffix in _HTML:
            try:
                draft.documents.append((document_of_html(doc_id, read_text(file, draft, mark=True)), str(file)))
            except ValueError as error:
                draft.faults.append(f"{file} is not HTML ({error}); fix it or move it away")
        elif not file.name.startswith("."):
            draft.faults.append(f"{file} is not read: documents are {', '.join(_TEXT + _HTML)}; convert it or move it away")
