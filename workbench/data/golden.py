"""The project's own format, and the plain list of {query, relevant_doc_ids, irrelevant_doc_ids}.

A golden dataset is a folder with `documents/` (Markdown or text; the doc_id is the path below it without its suffix) or
`documents.jsonl` ({doc_id, title, text}), and `questions.jsonl` or `questions.json`; or one JSON file {documents, questions}.
A plain list is a JSON file of questions; its documents are named beside it. A question holds `query` and, where known:
`query_id`, `relevant_doc_ids` (a list, or {doc_id: grade}), `irrelevant_doc_ids`, `evidence` (a list of needs, each a list of
alternative spans {doc_id, start, end, text}), `answer`, `answerable`, `type`, `split` and any other field, kept as metadata.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.data.beir import append_evidence, query_of
from workbench.data.draft import Draft, json_lines, parse_json, read_text, reason, require, text_field
from workbench.errors import InputError
from workbench.fingerprint import fingerprint
from workbench.records import Document, Qrel

_OURS = ("query", "query_id", "relevant_doc_ids", "irrelevant_doc_ids", "evidence")
_TEXT_FILES = (".md", ".markdown", ".txt")

Rows = Iterable[tuple[dict[str, Any], str]]


def read_golden(path: Path, documents: Path | None, split: str | None) -> Draft:
    """A golden folder or file, or a plain list with its documents."""
    draft = Draft(path.stem)
    require(path, "the dataset")
    if path.is_dir():
        _read_documents(documents or _documents_of(path), draft)
        questions = path / "questions.jsonl"
        file = questions if questions.exists() else require(path / "questions.json", "the questions")
        _read_questions(_rows_of_file(file, draft), split, draft)
        return draft
    content = _json_file(path, draft)
    if not isinstance(content, list | dict):
        raise InputError(f"{path} is a JSON {type(content).__name__}", "it should be a list of questions or {documents, questions}")
    listed = content if isinstance(content, list) else content.get("questions", [])
    inside = [] if isinstance(content, list) else content.get("documents", [])
    if documents is None and not inside:
        raise InputError(f"{path} is a list of questions without documents", "name them: dataset.documents or --documents")
    if documents is not None:
        _read_documents(documents, draft)
    _read_document_rows(_numbered(inside, f"{path} document", draft), draft)
    _read_questions(_numbered(listed, f"{path} question", draft), split, draft)
    return draft


def _documents_of(folder: Path) -> Path:
    lines = folder / "documents.jsonl"
    return lines if lines.exists() else require(folder / "documents", "the documents")


def _read_documents(path: Path, draft: Draft) -> None:
    require(path, "the documents")
    if path.is_file():
        _read_document_rows(json_lines(path, draft), draft)
        return
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        doc_id = file.relative_to(path).with_suffix("").as_posix()
        if file.suffix.lower() in _TEXT_FILES:
            draft.documents.append((Document(doc_id, read_text(file, draft)), str(file)))
        elif not file.name.startswith("."):
            draft.faults.append(f"{file} is not read: documents are {', '.join(_TEXT_FILES)}; convert it or move it away")


def _read_document_rows(rows: Rows, draft: Draft) -> None:
    for row, where in rows:
        doc_id = text_field(row, ("doc_id", "_id", "id"), where, draft)
        text = text_field(row, ("text",), where, draft)
        if doc_id is not None and text is not None:
            draft.documents.append((Document(doc_id, text, str(row.get("title") or "")), where))


def _read_questions(rows: Rows, split: str | None, draft: Draft) -> None:
    for row, where in rows:
        if split is not None and row.get("split", split) != split:
            continue
        text = text_field(row, ("query",), where, draft)
        if text is None:
            continue
        # A plain list has no ids; the text is what stays the same when the list is reordered.
        unnamed = row.get("query_id") in (None, "")
        query_id = f"q-{fingerprint(text)[:8]}" if unnamed else text_field(row, ("query_id",), where, draft)
        if query_id is None:
            continue
        metadata = {key: value for key, value in row.items() if key not in _OURS}
        draft.queries.append((query_of(query_id, text, metadata, where, draft), where))
        _read_labels(row, query_id, where, draft)


def _read_labels(row: dict[str, Any], query_id: str, where: str, draft: Draft) -> None:
    relevant = row.get("relevant_doc_ids", [])
    grades = dict(relevant) if isinstance(relevant, dict) else dict.fromkeys(_ids(relevant, "relevant_doc_ids", where, draft), 1)
    for doc_id in _ids(row.get("irrelevant_doc_ids", []), "irrelevant_doc_ids", where, draft):
        if doc_id in grades:
            draft.faults.append(f"{where} query {query_id} calls document {doc_id!r} both relevant and irrelevant")
        grades.setdefault(doc_id, 0)
    for doc_id, grade in grades.items():
        if isinstance(grade, int) and not isinstance(grade, bool):
            draft.qrels.append((Qrel(query_id, doc_id, grade), where))
        else:
            draft.faults.append(f"{where} query {query_id} grades document {doc_id!r} with {grade!r}, not a whole number")
    for number, need in enumerate(_listed(row.get("evidence", []), "evidence", where, draft)):
        for span in need if isinstance(need, list) else [need]:
            if isinstance(span, dict):
                append_evidence(span, query_id, str(number), where, draft)
            else:
                draft.faults.append(f"{where} query {query_id} has evidence that is not a list of needs, each a list of spans")


def _ids(value: Any, key: str, where: str, draft: Draft) -> list[str]:
    """Document ids; a number is an id written without quotes."""
    listed = _listed(value, key, where, draft)
    draft.faults += [f"{where} has {item!r} in {key!r}, which is not a document id" for item in listed if not isinstance(item, str | int)]
    return [str(item) for item in listed if isinstance(item, str | int)]


def _listed(value: Any, key: str, where: str, draft: Draft) -> list[Any]:
    if isinstance(value, list):
        return value
    draft.faults.append(f"{where} has {key!r} that is not a list")
    return []


def _rows_of_file(path: Path, draft: Draft) -> Rows:
    if path.suffix == ".jsonl":
        return json_lines(path, draft)
    return _numbered(_json_file(path, draft), f"{path} question", draft)


def _numbered(rows: Any, what: str, draft: Draft) -> Rows:
    """Rows of a JSON list with their place; what is no object becomes a fault."""
    found = []
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        if isinstance(row, dict):
            found.append((row, f"{what} {number}"))
        else:
            draft.faults.append(f"{what} {number} is a JSON {type(row).__name__}, not an object")
    return found


def _json_file(path: Path, draft: Draft) -> Any:
    try:
        return parse_json(read_text(path, draft))
    except ValueError as error:
        raise InputError(f"{path}:{getattr(error, 'lineno', 1)} is not JSON ({reason(error)})", "mend the file") from None
