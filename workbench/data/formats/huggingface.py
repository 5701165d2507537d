"""Read datasets as Hugging Face's `datasets` saves them: folders of `save_to_disk`, and parquet files with their columns.

A folder has `state.json`, which names its Arrow files; that of a `DatasetDict` has `dataset_dict.json` and a folder for each split. A parquet file is
one split, and so are files such as `train-00000-of-00002.parquet` in a folder or in its folder `data`. Source: datasets 5.2.0; files of indices of
selected rows are read as the versions before it named them.

Questions, expected answers and contexts are found by the names of their columns. Without other documents, each distinct context is a document: of a
question, its own are relevant, and SQuAD's `answer_start` gives evidence in them. With documents, contexts are texts that these contain. Contexts of
a row that has both a reference and an `answer` are what a system retrieved, not labels, and are not read. Other columns are metadata, or left out
if JSON cannot hold them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from workbench.core.errors import InputError
from workbench.core.fingerprint import fingerprint
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import listed, plural
from workbench.data.draft import DatasetDraft, Rows, check_split
from workbench.data.fields import text_field
from workbench.data.files import FileAccess, require
from workbench.data.formats.documents import read_document_rows, read_documents
from workbench.data.formats.golden import FIELDS, read_questions
from workbench.data.formats.table_rows import read_rows
from workbench.data.lines import is_text, json_kind, parse_json, read_text

SAVED, SPLITS = "state.json", "dataset_dict.json"
_SPLIT = re.compile(r"(?P<split>\w[\w.]*?)-(?P<number>\d{5})-of-(?P<of>\d{5})(-[0-9a-f]+)?\.parquet")
# The key of the metadata that `to_parquet` writes into a file.
_MARK = b"huggingface"
_FOOTER = 64 * 1024
_Column = Literal["query", "query_id", "answers", "contexts", "negatives"]
# The columns by what they have, in the order in which they are tried.
_COLUMNS: Mapping[_Column, tuple[str, ...]] = {
    "query": ("query", "question", "user_input", "input", "prompt"),
    "query_id": ("query_id", "question_id", "qid", "id", "_id"),
    "answers": (
        *("ground_truth", "ground_truths", "reference", "reference_answer", "expected_answer", "expected_output"),
        *("correct_answer", "answers", "answer"),
    ),
    "contexts": ("reference_contexts", "positive_passages", "contexts", "context", "passages", "passage"),
    "negatives": ("negative_passages",),
}
# What a system answered and retrieved, beside a reference.
_RECORDED, _OF_SYSTEM = ("answer", "response"), ("answer", "response", "contexts", "context", "retrieved_contexts")
_EXPECTED = ("answer", "answers", "correct_answer")
_IDS, _TEXTS = ("doc_id", "docid", "document_id", "id", "_id", "pid"), ("text", "content", "contents", "passage", "page_content", "body")
# The columns that are read. Others are metadata.
_KNOWN = frozenset((*FIELDS, "title", "indices", *(name for names in _COLUMNS.values() for name in names)))


def is_huggingface(place: Path) -> bool:
    """Return True for a folder of `save_to_disk` or of parquet files of splits, or a parquet file that `datasets` wrote."""
    if place.is_dir():
        return any((place / name).is_file() for name in (SAVED, SPLITS)) or bool(_parquet_files(place))
    if place.suffix.lower() != ".parquet" or not place.is_file():
        return False
    with place.open("rb") as stream:
        stream.seek(max(0, place.stat().st_size - _FOOTER))
        footer = stream.read()
    # A table of Workbench's own columns can be written by `datasets` too.
    return _MARK in footer and b"relevant_doc_ids" not in footer


def read_huggingface(path: Path, documents: Path | None, split: str | None, files: FileAccess) -> DatasetDraft:
    """Read a folder of `save_to_disk` or of parquet files, or one such file. Raises InputError if it has no questions or no documents."""
    draft = DatasetDraft(path.stem, files=files)
    rows = _rows(require(path, "the dataset"), draft)
    columns = list(dict.fromkeys(key for row, _ in rows for key in row))
    if not rows or draft.faults:
        draft.faults += [] if draft.faults else [f"{path} has no rows"]
        return draft
    there = f"its columns are {listed([column for column in columns if column != 'split'], 20)}"
    named = _named(columns, draft, path)
    if "query" not in named:
        raise InputError(f"{path} has no column of questions; {there}", "rename one, such as dataset.rename_column(name, 'question')")
    if documents is None and "contexts" not in named:
        fix = "name the documents (dataset.documents or --documents), or rename a column to 'contexts'"
        raise InputError(f"{path} has neither documents nor contexts; {there}", fix)
    made = dict[tuple[str, str], tuple[dict[str, Any], str]]()
    questions = [(_question(row, named, documents is None, where, draft, made), where) for row, where in rows]
    if documents is None:
        read_document_rows(made.values(), path, draft)
    else:
        read_documents(documents, draft)
    check_split(split, (row.get("split") for row, _ in rows), draft)
    asked = [
        question
        for (row, where), question in zip(rows, questions, strict=True)
        if split in (None, row.get("split", split)) and _has_texts(row, named, where, draft)
    ]
    read_questions(asked, None, draft)
    return draft


def _has_texts(row: dict[str, Any], named: Mapping[_Column, str], where: str, draft: DatasetDraft) -> bool:
    """Return True if the question and its id, if it has one, are texts. A fault names the column of the data."""
    columns = [named[key] for key in ("query", "query_id") if key == "query" or named.get(key) in row]
    return None not in [text_field(row, (column,), where, draft) for column in columns]


def _named(columns: list[str], draft: DatasetDraft, path: Path) -> dict[_Column, str]:
    """Return the columns by what they have. Those of a system beside a reference are counted as unread."""
    reference = any(column in columns for column in _COLUMNS["answers"] if column not in _EXPECTED)
    of_system = _OF_SYSTEM if reference and any(column in columns for column in _RECORDED) else ()
    draft.unread.update((str(path), column) for column in columns if column in of_system)
    known = [column for column in columns if column not in of_system]
    found = {wanted: next((name for name in names if name in known), "") for wanted, names in _COLUMNS.items()}
    return {wanted: name for wanted, name in found.items() if name}


def _question(
    row: Mapping[str, Any],
    named: Mapping[_Column, str],
    corpus: bool,
    where: str,
    draft: DatasetDraft,
    made: dict[tuple[str, str], tuple[dict[str, Any], str]],
) -> dict[str, Any]:
    """Return a row as a question of the golden format. With `corpus`, its contexts are added to the documents that are `made`."""
    dropped = {*named.values(), *_OF_SYSTEM, *(("title",) if corpus else ())}
    question = {key: value for key, value in row.items() if key not in dropped}
    question |= {key: row[named[key]] for key in ("query", "query_id") if key in named and named[key] in row}
    answers = _answers(row.get(named.get("answers", "")))
    if answers is not None:
        question["answers"] = answers["text"]
    # SQuAD has an empty list for a question that its context does not answer.
    if answers is not None and answers["text"] == []:
        question["answerable"] = False
    relevant, refused = (_passages(row, named.get(key, ""), where, draft) for key in ("contexts", "negatives"))
    if not corpus:
        texts = [passage["text"] for passage in relevant]
        return question | ({"relevant_chunks": texts} if texts and question.get("answerable") is not False else {})
    for passage in (*relevant, *refused):
        passage.setdefault("title", str(row.get("title") or "") if len(relevant) == 1 else "")
        made.setdefault((passage["doc_id"], passage["text"]), (passage, where))
    if question.get("answerable") is not False and "relevant_doc_ids" not in question:
        question["relevant_doc_ids"] = list(dict.fromkeys(passage["doc_id"] for passage in relevant))
    if refused:
        question["irrelevant_doc_ids"] = list(dict.fromkeys(passage["doc_id"] for passage in refused))
    if len(relevant) == 1 and answers is not None and (spans := list(_spans(relevant[0]["doc_id"], answers))):
        question["evidence"] = [spans]
    return question


def _answers(value: Any) -> dict[str, Any] | None:
    """Return expected answers as SQuAD has them, `{text: [...], answer_start: [...]}`, from a text, a list of texts or SQuAD's."""
    items = value if isinstance(value, list) else []
    if items and all(isinstance(item, Mapping) and "text" in item for item in items):
        return {key: [item[key] for item in items if key in item] for key in ("text", "answer_start")}
    if isinstance(value, Mapping) and "text" in value:
        return {"text": value["text"], "answer_start": value.get("answer_start", [])}
    # Parquet has an object whose fields are all missing for a missing one.
    return None if value is None or value == {} else {"text": value, "answer_start": []}


def _spans(doc_id: str, answers: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the spans of answers with a start. Text of another type has a fault as an expected answer, and a start of another type as evidence."""
    texts, starts = answers["text"], answers["answer_start"]
    if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts) and all(isinstance(text, str) for text in texts):
        given = list(zip(starts, texts, strict=True))
        for place, (start, text) in enumerate(given):
            if (start, text) not in given[:place]:
                end = start + len(text) if isinstance(start, int) else None
                yield {"doc_id": doc_id, "start": start, "end": end, "text": text}


def _passages(row: Mapping[str, Any], column: str, where: str, draft: DatasetDraft) -> list[dict[str, Any]]:
    """Return the passages in a cell: a text, an object with a text, or a list of these. Without ids their texts give them."""
    value = row.get(column)
    passages = list[dict[str, Any]]()
    for item in [] if value is None else value if isinstance(value, list) else [value]:
        given = item if isinstance(item, Mapping) else {"text": item}
        text = next((given[key] for key in _TEXTS if is_text(given.get(key))), None)
        if text is None:
            draft.fault(where, f"has {json_kind(item)} in {column!r} without a text; a context is a text, or an object with 'text'")
            break
        doc_id = next((str(given[key]) for key in _IDS if isinstance(given.get(key), str | int)), f"c-{fingerprint(text)[:12]}")
        passages.append({"doc_id": doc_id, "text": text} | ({"title": given["title"]} if is_text(given.get("title")) else {}))
    return passages


def _rows(path: Path, draft: DatasetDraft) -> list[tuple[dict[str, Any], str]]:
    if path.is_file():
        return list(_file_rows(path, draft))
    if (path / SPLITS).is_file():
        folders = _inside(path / SPLITS, _described(path / SPLITS, draft), "splits", draft)
        return [row for folder in folders for row in _saved(folder, draft, folder.name)]
    if (path / SAVED).is_file():
        return list(_saved(path, draft, None))
    found = _parquet_files(path)
    for (split, of), numbers in _parts(found).items():
        if missing := [number for number in range(of) if number not in numbers]:
            draft.notes.append(f"{path} lacks {len(missing)} of {plural(of, 'part')} of the split {split!r}, the first is {missing[0]:05}")
    return [row for file, name in found for row in _of_split(_file_rows(file, draft), name)]


def _file_rows(file: Path, draft: DatasetDraft) -> Rows:
    return read_rows(file, draft, _KNOWN)[1]


def _parts(files: Iterable[tuple[Path, str]]) -> Mapping[tuple[str, int], set[int]]:
    """Return the numbers of the parts that are there, by split and number of its parts."""
    parts: dict[tuple[str, int], set[int]] = {}
    for file, split in files:
        if named := _SPLIT.fullmatch(file.name):
            parts.setdefault((split, int(named["of"])), set()).add(int(named["number"]))
    return parts


def _parquet_files(folder: Path) -> list[tuple[Path, str]]:
    """Return the parquet files of splits in a folder, or else in its folder `data`, with the names of their splits."""
    for place in (folder, folder / "data"):
        files = sorted(place.iterdir()) if place.is_dir() else []
        if found := [(file, split["split"]) for file in files if (split := _SPLIT.fullmatch(file.name))]:
            return found
    return []


def _of_split(rows: Iterable[tuple[dict[str, Any], str]], split: str | None) -> Rows:
    return (({**row, "split": split} if split else row, where) for row, where in rows)


def _saved(folder: Path, draft: DatasetDraft, split: str | None) -> Rows:
    """Return the rows of a saved dataset, those that were selected if it has indices."""
    file = require(folder / SAVED, "the state of a saved dataset")
    state = _described(file, draft)
    rows = [row for part in _inside(file, state, "_data_files", draft) for row in _file_rows(part, draft)]
    indices = [part for key in ("_indices_files", "_indices_data_files") for part in _inside(file, state, key, draft)]
    selected = [(row.get("indices"), where) for part in indices for row, where in _file_rows(part, draft)]
    if not indices or draft.faults:
        return _of_split(rows, split)
    kept = list[int]()
    for place, where in selected:
        # rows[-1] and rows[True] exist in Python, but no dataset selects them.
        if type(place) is not int or not 0 <= place < len(rows):
            given = f"{place:,}" if type(place) is int else json_kind(place)
            draft.fault(where, f"has {given} in 'indices', not the place of one of {plural(len(rows), 'row')}; save the dataset again")
            return []
        kept.append(place)
    return _of_split((rows[place] for place in kept), split)


def _described(file: Path, draft: DatasetDraft) -> dict[str, Any]:
    text = read_text(file, draft)
    if str(file) in draft.faulty:
        return {}
    try:
        content = parse_json(text)
    except ValueError as error:
        content = error
    if not isinstance(content, dict):
        draft.fault(str(file), "is not the JSON that save_to_disk writes; save the dataset again")
        return {}
    return content


def _inside(file: Path, described: Mapping[str, Any], key: str, draft: DatasetDraft) -> list[Path]:
    """Return the files or folders beside a file that names them. A name of anything else is a fault, so that only this folder is read."""
    entries = described.get(key)
    if not isinstance(entries, list | None):
        draft.fault(str(file), f"has {json_kind(entries)} in {key!r}, not a list; save the dataset again")
        return []
    places = list[Path]()
    for entry in entries or []:
        name = entry.get("filename") if isinstance(entry, dict) else entry
        if not isinstance(name, str) or name != Path(name).name or name in ("", "..") or "\0" in name:
            given = excerpt(repr(name)) if isinstance(name, str) else json_kind(name)
            draft.fault(str(file), f"has {given} in {key!r}, not a plain name of something in its folder; save the dataset again")
        elif outside := draft.files.outside(file.parent / name):
            draft.fault(str(file.parent / name), outside)
        else:
            places.append(file.parent / name)
    return places
