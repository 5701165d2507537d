"""Read and write the project's own format, and read plain lists of {query, relevant_doc_ids, irrelevant_doc_ids}.

A golden dataset is a folder with `documents/` (Markdown, text or HTML; the doc_id is the path below it without its suffix) or
`documents.jsonl` ({doc_id, title, text, metadata}), and `questions.jsonl` or `questions.json`; or one JSON file {documents, questions}.
A plain list is a JSON file of questions, with documents given separately.

The fields of a question: `query` is required. Optional are `query_id`, `relevant_doc_ids` (a list, or {doc_id: grade}), `irrelevant_doc_ids`
(hard negatives, grade -1), `judged_doc_ids` (read and not relevant, grade 0), `evidence` (a list of needs, each a list of spans {doc_id, start,
end, text}), `relevant_chunks` (texts or {doc_id, text}, found by `labels.anchor`), `where` (a filter of documents, see `filters`), `answer`,
`answer_variants`, `aliases` and `answers` (texts that are as good), `answerable`, `type` and `split`. Others are metadata.
"""

import hashlib
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workbench.core.errors import DatasetError, InputError
from workbench.core.files import parsed_json
from workbench.core.fingerprint import file_digests, fingerprint
from workbench.core.operating_system import move, sync
from workbench.core.records import Dataset, Need, Qrel, Span
from workbench.core.text.display import excerpt
from workbench.data.draft import DatasetDraft, Quote, Rows, check_split
from workbench.data.fields import LABEL_FIELDS, VARIANTS, check_fields, doubt_fields, misspelt, opposites, text_field
from workbench.data.files import FileAccess, find_in, require, without_documents
from workbench.data.formats.beir import SPAN, append_evidence, query_of
from workbench.data.formats.documents import documents_of, read_document_rows, read_documents
from workbench.data.lines import is_text, json_kind, json_lines, objects, parse_json, read_text, reason

_LARGEST_GRADE = 1_000_000
REFUSED = {"irrelevant_doc_ids": -1, "judged_doc_ids": 0}
LABELS = ("query", "query_id", *LABEL_FIELDS)
# Null in these fields is the same as no such field.
_OPTIONAL = (*LABELS[1:], "answerable")
FIELDS = (*LABELS, "where", "answer", *VARIANTS, "answerable", "type", "split")


def read_questions(rows: Rows, split: str | None, draft: DatasetDraft) -> None:
    """Read rows of questions into the draft. A split limits them to its own questions and those without a split."""
    rows = list(rows)
    check_split(split, (row.get("split") for row, _ in rows), draft)
    for row, where in rows:
        if split is not None and row.get("split", split) != split:
            continue
        text = text_field(row, ("query",), where, draft)
        if text is None:
            continue
        row = {key: value for key, value in row.items() if value is not None or key not in _OPTIONAL}
        # A plain list has no ids, but the text stays the same when the list is reordered.
        unnamed = row.get("query_id") in (None, "")
        query_id = f"q-{fingerprint(text)[:8]}" if unnamed else text_field(row, ("query_id",), where, draft)
        if query_id is None:
            continue
        if where not in draft.faulty:
            doubt_fields(row, LABEL_FIELDS, "is kept as metadata", where, draft)
        metadata = {key: value for key, value in row.items() if key not in LABELS}
        query = query_of(query_id, text, metadata, where, draft)
        draft.queries.append((query, where))
        if "relevant_doc_ids" not in row and query.answerable:
            # A document with evidence is relevant, unless the question says which documents are.
            row = {"relevant_doc_ids": _evidence_documents(row.get("evidence"))} | row
        _read_labels(row, query_id, where, draft)


def _read_labels(row: dict[str, Any], query_id: str, where: str, draft: DatasetDraft) -> None:
    relevant = row.get("relevant_doc_ids", [])
    grades = dict(relevant) if isinstance(relevant, dict) else dict.fromkeys(_ids(relevant, "relevant_doc_ids", where, draft), 1)
    for key, refused in REFUSED.items():
        for doc_id in _ids(row.get(key, []), key, where, draft):
            if grades.setdefault(doc_id, refused) != refused:
                earlier = "relevant" if grades[doc_id] not in REFUSED.values() else "a hard negative"
                now = "irrelevant" if refused else "judged without being either"
                draft.faults.append(f"{where} question {query_id} calls document {doc_id!r} both {earlier} and {now}")
    for doc_id, grade in grades.items():
        if isinstance(grade, int) and not isinstance(grade, bool) and abs(grade) <= _LARGEST_GRADE:
            draft.qrels.append((Qrel(query_id, doc_id, grade), where))
        else:
            draft.fault(
                where,
                f"question {query_id} grades document {doc_id!r} with {excerpt(repr(grade))}, not a whole number up to {_LARGEST_GRADE:,}",
            )
    for number, need in enumerate(_listed(row.get("evidence", []), "evidence", where, draft)):
        for span in need if isinstance(need, list) else [need]:
            if isinstance(span, dict):
                draft.leave(span, SPAN, where)
                append_evidence(span, query_id, str(number), where, draft)
            else:
                fix = "; give texts in 'relevant_chunks'" if isinstance(span, str) else ""
                draft.fault(where, f"question {query_id} has evidence that is not a list of pieces, each a list of spans{fix}")
    for number, chunk in enumerate(_listed(row.get("relevant_chunks", []), "relevant_chunks", where, draft)):
        _read_chunk(chunk, query_id, f"chunk {number}", where, draft)


def _evidence_documents(evidence: Any) -> list[str]:
    """Return the documents of well-formed evidence. The reader of evidence reports the rest."""
    needs = evidence if isinstance(evidence, list) else []
    spans = [span for need in needs for span in (need if isinstance(need, list) else [need]) if isinstance(span, dict)]
    return [str(span["doc_id"]) for span in spans if isinstance(span.get("doc_id"), str | int)]


def _read_chunk(chunk: Any, query_id: str, need: str, where: str, draft: DatasetDraft) -> None:
    given = chunk if isinstance(chunk, dict) else {"text": chunk}
    text, doc_id = given.get("text"), given.get("doc_id")
    if not check_fields(given, ("text", "doc_id"), where, draft):
        return
    if not is_text(text) or isinstance(doc_id, bool) or not isinstance(doc_id, str | int | None):
        draft.fault(where, f"question {query_id!r} has {chunk!r} in 'relevant_chunks', which is neither a text nor {{doc_id, text}}")
        return
    draft.leave(given, ("text", "doc_id"), where)
    draft.quotes.append(Quote(query_id, need, text, None if doc_id is None else str(doc_id), where))


def _ids(value: Any, key: str, where: str, draft: DatasetDraft) -> list[str]:
    """Return document ids. A number is an id written without quotes."""
    listed = _listed(value, key, where, draft)
    for item in listed:
        if not isinstance(item, str | int) or isinstance(item, bool):
            draft.fault(where, f"has {item!r} in {key!r}, which is not a document id; write ids as texts in quotes")
    return [str(item) for item in listed if isinstance(item, str | int) and not isinstance(item, bool)]


def _listed(value: Any, key: str, where: str, draft: DatasetDraft) -> list[Any]:
    if isinstance(value, list):
        return value
    fix = f"; write [{json.dumps(value, ensure_ascii=False)}]" if isinstance(value, str | dict) else ""
    draft.fault(where, f"has {json_kind(value)} in {key!r}, not a list{fix}")
    return []


# What a save leaves beside the dataset, to know the folder again: the name of the dataset and the digests of its files.
RECORD = "saved.json"

QUESTION_FILES = ("questions.jsonl", "questions.json")


def save_golden(dataset: Dataset, folder: Path, replace: bool = False) -> None:
    """Write a dataset to a folder, with a record of what was written.

    The folder is new or empty, or with `replace` one that holds only what an earlier save of a dataset with this name wrote. Raises InputError.
    """
    replaces = replace and folder.is_dir() and any(folder.iterdir())
    if replaces and not _untouched(folder, dataset.name):
        raise InputError(
            f"{folder} has something else than this dataset as it was saved there", "name a new folder, so that nothing is lost"
        )
    texts = {"documents.jsonl": jsonl(document_rows(dataset)), QUESTION_FILES[0]: jsonl(question_rows(dataset))}
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
    record = json.dumps({"dataset": dataset.name, "files": digests}, indent=2, ensure_ascii=False) + "\n"
    write_golden(dataset, folder, {RECORD: record}, replace=replaces)


def _untouched(folder: Path, name: str) -> bool:
    """Return True if a folder has exactly the files that a save of this dataset wrote."""
    try:
        record = parsed_json((folder / RECORD).read_bytes())
        found = file_digests(folder, "*")
        del found[RECORD]
        return bool(record == {"dataset": name, "files": found}) and {path.name for path in folder.iterdir()} == {*found, RECORD}
    except (OSError, ValueError, KeyError):
        return False


def read_golden(path: Path, documents: Path | None, split: str | None, files: FileAccess) -> DatasetDraft:
    """Read a golden folder or file, or a plain list with its documents."""
    draft = DatasetDraft(path.stem, files=files)
    rows = list((_folder if require(path, "the dataset").is_dir() else _file)(path, documents, draft))
    for row, where in rows:
        check_fields(row, FIELDS, where, draft)
    read_questions(rows, split, draft)
    return draft


def _folder(folder: Path, documents: Path | None, draft: DatasetDraft) -> Rows:
    read_documents(documents or documents_of(folder), draft)
    file = find_in(folder, QUESTION_FILES, "questions")
    if file.suffix == ".jsonl":
        return json_lines(file, draft)
    content = _json_file(file, draft)
    if isinstance(content, dict) and check_fields(content, ("questions",), str(file), draft):
        draft.leave(content, ("questions",), file)
    return _numbered(content.get("questions", content) if isinstance(content, dict) else content, f"{file} question", draft)


def _file(path: Path, documents: Path | None, draft: DatasetDraft) -> Rows:
    suffix = path.suffix.lower()
    if suffix not in (".json", ".jsonl"):
        raise InputError(
            f"the dataset {path} is a {suffix or 'file without a suffix'}",
            "give a folder, or questions as JSON, JSON Lines, CSV or parquet",
        )
    if suffix == ".jsonl":
        if documents is None:
            raise InputError(*without_documents(path))
        read_documents(documents, draft)
        return json_lines(path, draft)
    content = _json_file(path, draft)
    if not isinstance(content, list | dict):
        raise InputError(f"{path} contains {json_kind(content)}", "it should be a list of questions or {documents, questions}")
    whole = {"questions": content} if isinstance(content, list) else content
    if check_fields(whole, ("questions", "documents"), str(path), draft):
        draft.leave(whole, ("questions", "documents"), path)
    inside = whole.get("documents", [])
    if documents is None and not inside and not draft.faults:
        raise InputError(*without_documents(path))
    if documents is not None:
        read_documents(documents, draft)
    read_document_rows(_numbered(inside, f"{path} document", draft), path, draft)
    return _numbered(whole.get("questions", []), f"{path} question", draft)


def _numbered(rows: Any, what: str, draft: DatasetDraft) -> Rows:
    """Yield rows of a JSON list with their places. An item that is not an object is a fault."""
    if not isinstance(rows, list):
        draft.fault(what, f"list is {json_kind(rows)}, not a list of objects")
        return ()
    return objects(((row, f"{what} {number}") for number, row in enumerate(rows, 1)), draft)


def _json_file(path: Path, draft: DatasetDraft) -> Any:
    text = read_text(path, draft)
    if str(path) in draft.faulty and not text:
        raise DatasetError(f"dataset {draft.name}", draft.faults)
    try:
        return parse_json(text)
    except ValueError as error:
        raise InputError(f"{path}:{getattr(error, 'lineno', 1)} is not JSON ({reason(error)})", "fix the file") from None


def document_rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    """Yield {doc_id, title, text} of every document, with its metadata if it has any."""
    for document in dataset.corpus:
        row: dict[str, Any] = {"doc_id": document.doc_id, "title": document.title, "text": document.text}
        yield row | ({"metadata": dict(document.metadata)} if document.metadata else {})


def question_rows(dataset: Dataset) -> list[dict[str, Any]]:
    """Return every query with its labels, spans with text. Raises DatasetError if a metadata field reads as a label or a misspelt one."""
    rows: list[dict[str, Any]] = []
    faults: list[str] = []
    texts = {document.doc_id: document.text for document in dataset.corpus}
    qrels, needs = defaultdict[str, list[Qrel]](list), defaultdict[str, list[Need]](list)
    for qrel in dataset.qrels:
        qrels[qrel.query_id].append(qrel)
    for need in dataset.needs:
        needs[need.query_id].append(need)
    for query in dataset.queries:
        row: dict[str, Any] = {"query_id": query.query_id, "query": query.text} | _judgements(qrels[query.query_id])
        if needs[query.query_id]:
            alternatives = (need.alternatives for need in needs[query.query_id])
            row["evidence"] = [[asdict(span) | _quoted(span, texts) for span in spans] for spans in alternatives]
        if query.answer:
            row["answer"] = query.answer
        if query.answer_variants:
            row["answer_variants"] = list(query.answer_variants)
        if not query.answerable:
            row["answerable"] = False
        if query.where:
            row["where"] = query.where
        owner, taken = f"question {query.query_id!r} has metadata", (*LABELS, "where", "answer", *VARIANTS, "answerable")
        faults += [f"{owner} {key!r}, which is a field of the format; rename it in the source" for key in query.metadata if key in taken]
        faults += [
            f"{owner} {key!r}, which means the opposite of 'answerable'; rename it in the source" for key in opposites(query.metadata)
        ]
        row |= query.metadata
        wrong = misspelt(tuple(row), FIELDS)
        faults += [f"{owner} {key!r}, which looks like the field {name!r}; rename it in the source" for key, name in wrong.items()]
        rows.append(row)
    if faults:
        raise DatasetError(f"dataset {dataset.name}", faults)
    return rows


def _quoted(span: Span, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the text of a span as a field, or none if its document is missing."""
    return {"text": texts[span.doc_id][span.start : span.end]} if span.doc_id in texts else {}


def _judgements(qrels: Iterable[Qrel]) -> dict[str, Any]:
    grades = {qrel.doc_id: qrel.relevance for qrel in qrels}
    refused = {key: [doc_id for doc_id, given in grades.items() if given == grade] for key, grade in REFUSED.items()}
    relevant = {doc_id: grade for doc_id, grade in grades.items() if grade not in REFUSED.values()}
    graded = {"relevant_doc_ids": list(relevant) if set(relevant.values()) == {1} else relevant}
    return {key: doc_ids for key, doc_ids in (graded | refused).items() if doc_ids}


def write_golden(dataset: Dataset, folder: Path, beside: Mapping[str, str] | None = None, replace: bool = False) -> None:
    """Write documents.jsonl, questions.jsonl and the texts `beside` them to a folder, which appears under its name only when complete.

    The folder must be new or empty, unless it may be replaced.
    """
    if not replace and folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"{folder} exists and is not an empty folder", "name a new one")
    files = {"documents.jsonl": jsonl(document_rows(dataset)), QUESTION_FILES[0]: jsonl(question_rows(dataset)), **(beside or {})}
    place = folder.resolve()
    aside, before = (place.with_name(f".{place.name}.{os.getpid()}{suffix}") for suffix in ("", ".old"))
    try:
        aside.mkdir(parents=True)
        for name, text in files.items():
            (aside / name).write_bytes(text.encode("utf-8"))
            sync(aside / name)
        if replace and place.is_dir():
            move(place, before)
        move(aside, place)
    except OSError as error:
        if before.is_dir() and not place.exists():
            move(before, place)
        raise InputError(f"{folder} cannot be written ({error.strerror})", "name another folder") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        shutil.rmtree(before, ignore_errors=True)


def jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as lines of JSON. Raises InputError for NaN and infinity."""
    try:
        return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
    except ValueError as error:
        raise InputError(f"a number does not fit JSON ({error})", "fix the metadata of the questions") from None
