"""Read a table of questions, CSV or parquet, and the documents it is about.

Columns are the fields of a question. Document ids are a JSON list, `{doc_id: grade}`, or separated by `;` or `|`; `evidence` and
a list of `relevant_chunks` are JSON; `answer_variants`, `aliases` and `answers` are a JSON list or texts separated by `|`. `query`, `query_id`,
`answer` and `split` are text. Any other CSV cell is parsed as JSON if possible (`2020` is a number, `"2020"` a text), else it is text. Parquet
cells have types.
"""

import re
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError
from workbench.data.draft import DatasetDraft
from workbench.data.fields import VARIANTS
from workbench.data.files import FileAccess, find_in, require, without_documents
from workbench.data.formats.documents import documents_of, read_documents
from workbench.data.formats.golden import FIELDS, REFUSED, read_questions
from workbench.data.formats.table_rows import SUFFIXES, check_columns, read_rows
from workbench.data.lines import parse_json, reason

QUESTIONS = tuple(f"questions{suffix}" for suffix in SUFFIXES)
_IDS = ("relevant_doc_ids", *REFUSED)
_PLAIN = ("query", "query_id", "answer", "split")


def read_table(path: Path, documents: Path | None, split: str | None, files: FileAccess) -> DatasetDraft:
    """Read a table of questions with its documents, or a folder with a table `questions` and a table, lines or folder `documents`."""
    draft = DatasetDraft(path.stem, files=files)
    require(path, "the dataset")
    if path.is_dir():
        documents = documents or documents_of(path, (*SUFFIXES, ".jsonl"))
        path = find_in(path, QUESTIONS, "table of questions")
    if documents is None:
        raise InputError(*without_documents(path))
    read_documents(documents, draft)
    columns, rows = read_rows(path, draft)
    if check_columns(columns, ("query",), FIELDS[1:], path, draft):
        spelt = path.suffix.lower() == ".csv"
        questions = (({key: _value(key, value, spelt, where, draft) for key, value in row.items()}, where) for row, where in rows)
        read_questions(questions, split, draft)
    return draft


def _value(key: str, value: Any, spelt: bool, where: str, draft: DatasetDraft) -> Any:
    """Convert a cell to the golden format. `spelt` says that every cell is text."""
    if key in _IDS:
        return _ids(key, value, where, draft)
    if key in ("evidence", "relevant_chunks") and isinstance(value, str):
        return [value] if key == "relevant_chunks" and not value.startswith("[") else _json(key, value, where, draft)
    if key in VARIANTS and isinstance(value, str):
        return _json(key, value, where, draft) if value.startswith("[") else [part.strip() for part in value.split("|")]
    if key == "answerable" and isinstance(value, str):
        return {"true": True, "false": False}.get(value.lower(), value)
    return _spelt(value) if spelt and key not in _PLAIN else value


def _ids(key: str, value: Any, where: str, draft: DatasetDraft) -> Any:
    # pandas turns a number into 3.0 in a column with empty cells.
    if isinstance(value, int | float):
        return [str(int(value) if value == int(value) else value)]
    if not isinstance(value, str):
        return value
    if value.startswith(("[", "{")):
        return _json(key, value, where, draft)
    return [part.strip() for part in re.split("[;|]", value) if part.strip()]


def _json(key: str, value: str, where: str, draft: DatasetDraft) -> Any:
    try:
        return parse_json(value)
    except ValueError as error:
        fix = "; give a text in 'relevant_chunks'" if key == "evidence" else ""
        draft.fault(where, f"has {key!r} that is not JSON ({reason(error)}){fix}")
        return []


def _spelt(cell: str) -> Any:
    try:
        return parse_json(cell)
    except ValueError:
        return cell
