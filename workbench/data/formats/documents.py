"""Read documents from a folder of Markdown, text and HTML, a JSON Lines file, or a table with doc_id, title and text."""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.core.environment import require_installed
from workbench.core.errors import InputError
from workbench.core.files import in_order
from workbench.core.records import Document
from workbench.core.text.formatting import listed, plural
from workbench.data.draft import DatasetDraft, Rows
from workbench.data.fields import check_fields, text_field
from workbench.data.files import find_in, require
from workbench.data.formats.table_rows import check_columns, is_table, read_rows
from workbench.data.lines import json_kind, json_lines, parse_json, read_text

_TEXT, _HTML, _LINES = (".md", ".markdown", ".txt"), (".html", ".htm"), (".jsonl", ".ndjson")
_IDS = ("doc_id", "_id", "id")
# A person has fewer levels of folders, and Python makes and searches them recursively.
DEEPEST = 200


def documents_of(folder: Path, suffixes: tuple[str, ...] = (".jsonl",)) -> Path:
    """Return the documents in a dataset's folder: a file `documents` with one of the suffixes, or else the folder `documents`."""
    return find_in(folder, (*(f"documents{suffix}" for suffix in suffixes), "documents/"), "documents")


def read_documents(path: Path, draft: DatasetDraft) -> None:
    """Read all documents at the path into the draft. A file of another kind is a fault."""
    require(path, "the file or folder of documents")
    if outside := draft.files.outside(path):
        draft.fault(str(path), outside)
    elif path.is_dir():
        _read_folder(path, draft)
    elif is_table(path):
        columns, rows = read_rows(path, draft)
        if check_columns(columns, ("doc_id", "text"), ("title",), path, draft):
            read_document_rows(rows, path, draft)
    elif path.suffix.lower() in _LINES:
        read_document_rows(json_lines(path, draft), path, draft)
    else:
        raise InputError(f"the documents {path} are a file", "give a folder of documents, JSON Lines (.jsonl), CSV or parquet")


def read_document_rows(rows: Rows, file: Path, draft: DatasetDraft) -> None:
    """Read rows {doc_id, title, text, metadata} into the draft. In a CSV file, metadata is a JSON object."""
    for row, where in rows:
        if check_fields(row, (next((key for key in _IDS if key in row), "doc_id"), "title", "text"), where, draft):
            draft.leave(row, (*_IDS, "title", "text", "metadata"), file)
        doc_id = text_field(row, _IDS, where, draft)
        text = text_field(row, ("text",), where, draft)
        if doc_id is not None and text is not None:
            draft.documents.append(
                (Document(doc_id, text, str(row.get("title") or ""), _metadata(row.get("metadata"), where, draft)), where)
            )


def _metadata(value: Any, where: str, draft: DatasetDraft) -> dict[str, Any]:
    """Return a document's metadata. A value that is not an object is a fault."""
    try:
        given = parse_json(value) if isinstance(value, str) and value else value or {}
    except ValueError:
        given = value
    if isinstance(given, dict):
        return given
    draft.fault(where, f"has {json_kind(given)} in 'metadata', not an object such as {{\"year\": 2024}}")
    return {}


def _read_folder(folder: Path, draft: DatasetDraft) -> None:
    unread, elements = defaultdict[str, list[Path]](list), Counter[str]()
    for file in in_order(_files(folder, draft)):
        doc_id = file.relative_to(folder).with_suffix("").as_posix()
        suffix = file.suffix.lower()
        if suffix in _TEXT:
            draft.documents.append((Document(doc_id, read_text(file, draft)), str(file)))
        elif suffix in _HTML:
            try:
                draft.documents.append((_page(doc_id, read_text(file, draft), elements), str(file)))
            except ValueError as error:
                draft.fault(str(file), f"cannot be read as HTML ({error}); fix it or move it away")
            # Spans refer to the extracted text, in which nothing shifts.
            draft.marked.discard(str(file))
        elif not file.name.startswith("."):
            unread[suffix].append(file)
    for suffix, files in unread.items():
        _refuse(files, suffix, draft)
    if found := [plural(times, noun) for noun, times in elements.items() if times]:
        draft.notes.append(f"{folder} has HTML files with {listed(found, len(found))}, whose content is not read")
    if not draft.documents and not unread and not draft.faults:
        draft.faults.append(f"{folder} has no documents; put {', '.join(_TEXT + _HTML)} files into it")


def _page(doc_id: str, markup: str, unread: Counter[str]) -> Document:
    """Convert a page, and count its elements that are not read."""
    require_installed("reading HTML", "bs4")
    from workbench.data.formats.markup import document_of_soup, parsed_html, unread_elements  # Beautiful Soup is heavy

    soup = parsed_html(markup)
    unread += unread_elements(soup)
    return document_of_soup(doc_id, soup)


def _files(folder: Path, draft: DatasetDraft) -> Iterator[Path]:
    """Yield the files below a folder. Links to folders are not followed: a note if their documents are read anyway, else a fault."""
    for place, folders, names in os.walk(folder, onerror=_stop):
        if len(Path(place).relative_to(folder).parts) >= DEEPEST and folders:
            draft.fault(str(Path(place, folders[0])), f"is below {DEEPEST} folders; move it up")
            folders.clear()
        for name in folders:
            if (path := Path(place, name)).is_symlink():
                _leave_link(path, folder, draft)
        for name in names:
            path = Path(place, name)
            if (shown := os.fsencode(path).decode("utf-8", "replace")) == str(path):
                yield path
            else:
                draft.fault(shown, "has a name that is not UTF-8; rename it")


def _leave_link(path: Path, folder: Path, draft: DatasetDraft) -> None:
    target = Path(os.path.realpath(path))
    if target.is_relative_to(os.path.realpath(folder)):
        draft.notes.append(f"{path} is a link to the folder {target}, whose documents are read once, under that path")
    else:
        draft.fault(str(path), draft.files.outside(path) or f"is a link to the folder {target}; put a copy in its place")


def _stop(error: OSError) -> None:
    raise error


def _refuse(files: Sequence[Path], suffix: str, draft: DatasetDraft) -> None:
    """Add one fault for all files of a kind that is not read."""
    more = f" and {plural(len(files) - 1, f'more {suffix} file')} are" if files[1:] else " is"
    kinds = ", ".join(_TEXT + _HTML)
    draft.fault(
        str(files[0]),
        f"{more.strip()} not read: documents are {kinds}; convert {'them' if files[1:] else 'it'} or move {'them' if files[1:] else 'it'} away",
    )
