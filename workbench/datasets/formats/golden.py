"""The project's own format, and the plain list of {query, relevant_doc_ids, irrelevant_doc_ids}.

A golden dataset is a folder with `documents/` (Markdown, text or HTML; the doc_id is the path below it without its suffix) or
`documents.jsonl` ({doc_id, title, text}), and `questions.jsonl` or `questions.json`; or one JSON file {documents, questions}.
A plain list is a JSON file of questions; its documents are given separately. `questions` lists the fields of a question.
"""

from pathlib import Path
from typing import Any

from workbench.datasets.anchoring import anchor
from workbench.datasets.draft import DatasetDraft, Rows, json_lines, misspelt, objects, parse_json, read_text, reason, require
from workbench.datasets.formats.documents import documents_of, read_document_rows, read_documents
from workbench.datasets.questions import FIELDS, read_questions
from workbench.errors import InputError


def read_golden(path: Path, documents: Path | None, split: str | None) -> DatasetDraft:
    """A golden folder or file, or a plain list with its documents."""
    draft = DatasetDraft(path.stem)
    rows = list((_folder if require(path, "the dataset").is_dir() else _file)(path, documents, draft))
    for row, where in rows:
        wrong = misspelt(tuple(row), FIELDS)
        draft.faults += [f"{where} has no use for field {field!r} (did you mean {name!r}?); rename it" for field, name in wrong.items()]
    read_questions(rows, split, draft)
    anchor(draft)
    return draft


def _folder(folder: Path, documents: Path | None, draft: DatasetDraft) -> Rows:
    """Read the documents of a folder, return its questions."""
    read_documents(documents or documents_of(folder), draft)
    lines = folder / "questions.jsonl"
    if lines.exists():
        return json_lines(lines, draft)
    file = require(folder / "questions.json", "the questions")
    return _numbered(_json_file(file, draft), f"{file} question", draft)


def _file(path: Path, documents: Path | None, draft: DatasetDraft) -> Rows:
    """Read the documents of a JSON file, return its questions."""
    content = _json_file(path, draft)
    if not isinstance(content, list | dict):
        raise InputError(f"{path} is a JSON {type(content).__name__}", "it should be a list of questions or {documents, questions}")
    whole = {"questions": content} if isinstance(content, list) else content
    draft.leave(whole, ("questions", "documents"), path)
    inside = whole.get("documents", [])
    if documents is None and not inside:
        raise InputError(f"{path} is a list of questions without documents", "name them: dataset.documents or --documents")
    if documents is not None:
        read_documents(documents, draft)
    read_document_rows(_numbered(inside, f"{path} document", draft), path, draft)
    return _numbered(whole.get("questions", []), f"{path} question", draft)


def _numbered(rows: Any, what: str, draft: DatasetDraft) -> Rows:
    """Rows of a JSON list with their places; an item that is no object is a fault."""
    listed = rows if isinstance(rows, list) else [rows]
    return objects(((row, f"{what} {number}") for number, row in enumerate(listed, 1)), draft)


def _json_file(path: Path, draft: DatasetDraft) -> Any:
    try:
        return parse_json(read_text(path, draft))
    except ValueError as error:
        raise InputError(f"{path}:{getattr(error, 'lineno', 1)} is not JSON ({reason(error)})", "mend the file") from None
