"""Read and write TREC files: topics, qrels (`query_id 0 doc_id relevance`) and runs (`query_id Q0 doc_id rank score tag`).

Fields are separated by blanks or tabs, as in trec_eval (https://github.com/usnistgov/trec_eval). Input that it skips or reads as 0 is a fault.
Characters of an id that a field cannot hold are percent-encoded (`escaped`), and decoded when the file is read (`unescaped`).
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from workbench.core.errors import DatasetError, InputError
from workbench.core.records import Qrel
from workbench.core.schemas import pandas_frame
from workbench.core.text.formatting import plural
from workbench.data.draft import DatasetDraft, Rows, check_split
from workbench.data.fields import LABEL_FIELDS, VARIANTS, check_fields, misspelt, text_field
from workbench.data.files import FileAccess, find_in, readable, require
from workbench.data.formats.beir import query_of
from workbench.data.formats.documents import documents_of, read_documents
from workbench.data.lines import Column, json_lines, tabbed_lines

if TYPE_CHECKING:
    import pandas as pd

TOPICS = ("topics.tsv", "topics.txt", "topics.jsonl", "queries.tsv", "queries.jsonl")
QRELS = ("qrels.txt", "qrels.tsv", "qrels")
# The document of a run's only line for a question that was not asked, or whose request failed. A run says nothing found by having no line.
NOT_SCORED = "not-scored"
_IDS, _TEXTS = ("query_id", "_id", "id"), ("query", "text")
# What ids cannot contain: control characters, Unicode's white space, the byte order mark, and bidirectional controls, which make a line
# look like another one.
_BLANKS = (*range(0x21), *range(0x7F, 0xA1), 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF)
_BIDI = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_POINTS = _BLANKS + _BIDI
_CODES = {chr(point): "".join(f"%{byte:02X}" for byte in chr(point).encode("utf-8")) for point in _POINTS} | {"%": "%25"}
_CHARACTERS = {code: char for char, code in _CODES.items()}
_UNSAFE = re.compile(f"[{re.escape(''.join(map(chr, _POINTS)))}]|%(?=[0-9A-F]{{2}})")
_ESCAPES = re.compile("|".join(code for char, code in _CODES.items() if char != "%") + "|%25(?=[0-9A-F]{2})")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
Row = TypeVar("Row")
RunLine = tuple[str, str, int, float]


def read_trec(path: Path, qrels: Path | None, documents: Path | None, split: str | None, files: FileAccess) -> DatasetDraft:
    """Read topics, qrels and documents. `path` is the topics file, or a folder with the usual names for all files not given."""
    draft = DatasetDraft(path.stem, files=files)
    folder, topics = path.parent, require(path, "the dataset")
    if path.is_dir():
        folder, topics = path, find_in(path, TOPICS, "topics")
    read_documents(documents or documents_of(folder), draft)
    others = _read_topics(topics, split, draft)
    judgements = require(qrels, "the file of judgements") if qrels else find_in(folder, QRELS, "judgements")
    doc_ids = {document.doc_id for document, _ in draft.documents}
    query_ids = {query.query_id for query, _ in draft.queries} | others
    for qrel, where in _qrels(judgements, draft):
        judged = Qrel(_meant(qrel.query_id, query_ids), _meant(qrel.doc_id, doc_ids), qrel.relevance)
        if judged.query_id not in others:
            draft.qrels.append((judged, where))
    return draft


def _meant(field: str, ids: Collection[str]) -> str:
    """Return the id of a field: the field itself if that is an id, else the decoded field if that is one."""
    return field if field in ids or (decoded := unescaped(field)) not in ids else decoded


def _read_topics(path: Path, split: str | None, draft: DatasetDraft) -> set[str]:
    """Read topics into the draft and return the ids of other splits' topics."""
    rows = list((json_lines if path.suffix.lower() == ".jsonl" else _tabbed_topics)(path, draft))
    check_split(split, (row.get("split") for row, _ in rows), draft)
    others = set()
    for row, where in rows:
        query_id, text = text_field(row, _IDS, where, draft), text_field(row, _TEXTS, where, draft)
        if query_id is not None and split is not None and row.get("split", split) != split:
            others.add(query_id)
        elif query_id is not None and text is not None:
            known = tuple(next((key for key in keys if key in row), keys[0]) for keys in (_IDS, _TEXTS))
            check_fields(row, (*known, "answer", *VARIANTS, "answerable", "type", "split"), where, draft)
            metadata = {key: value for key, value in row.items() if key not in (*_IDS, *_TEXTS)}
            labels = [*(key for key in metadata if key in LABEL_FIELDS), *misspelt(tuple(metadata), LABEL_FIELDS)]
            draft.doubtful.update((str(path), f"{key!r}, which TREC topics have no use for and is kept as metadata,") for key in labels)
            draft.queries.append((query_of(query_id, text, metadata, where, draft), where))
    return others


def _tabbed_topics(path: Path, draft: DatasetDraft) -> Rows:
    for line, where in tabbed_lines(path, ("query-id", "text"), draft):
        query_id, tab, text = line.partition("\t")
        if tab:
            yield {"query_id": query_id, "query": text}, where
        else:
            draft.fault(where, "is not a question id and its text, separated by a tab")


def read_qrels(path: Path) -> tuple[Qrel, ...]:
    """Read the judgements of a qrels file, with ids as in `unescaped`. Raises DatasetError with every malformed line."""
    return tuple(Qrel(unescaped(row.query_id), unescaped(row.doc_id), row.relevance) for row in _whole(path, _qrels))


def read_run(path: Path) -> "pd.DataFrame":
    """Read a run into a table with the columns query_id, doc_id, rank (from 1 or 0) and score (higher is better), a row for each line.

    Ids are as in `unescaped`. Raises DatasetError with every malformed line and every repeated document of a query.
    """
    import pandas as pd

    rows = [(unescaped(query_id), unescaped(doc_id), rank, score) for query_id, doc_id, rank, score in _whole(path, _run)]
    dtypes = {"query_id": "str", "doc_id": "str", "rank": "int64", "score": "float64"}
    return pd.DataFrame(rows, columns=list(dtypes)).astype(dtypes)


def write_qrels(path: Path, qrels: Iterable[Qrel]) -> None:
    """Write a qrels file, with ids as in `escaped`. Raises InputError for an empty id."""
    _write(path, (f"{escaped(row.query_id)} 0 {escaped(row.doc_id)} {row.relevance}" for row in qrels))


def write_run(path: Path, run: "pd.DataFrame", tag: str) -> None:
    """Write a table as of `read_run` with all digits of its scores, with ids as in `escaped`.

    Raises InputError for an empty id or a score that is not finite.
    """
    run = pandas_frame(run)
    rows = zip(run["query_id"], run["doc_id"], run["rank"], run["score"], strict=True)
    _write(path, (f"{escaped(query)} Q0 {escaped(doc)} {rank} {_score(score)} {escaped(tag)}" for query, doc, rank, score in rows))


def escaped(text: str) -> str:
    """Percent-encode the characters of an id that a field of a TREC file cannot hold, so that different ids stay different.

    These are white space and control characters, also bidirectional ones, as `%20`, and a `%` before two hexadecimal digits, as `%25`. Raises InputError for an
    empty id.
    """
    if not text:
        raise InputError("an empty id cannot be written to a TREC file", "give every question, document and run an id")
    return _UNSAFE.sub(lambda match: _CODES[match[0]], text)


def unescaped(field: str) -> str:
    """Decode an id that `escaped` wrote. Other percent signs stay, such as those of addresses with `%C3%BC` or `%2F`."""
    return _ESCAPES.sub(lambda match: _CHARACTERS[match[0]], field) if "%" in field else field


def _qrels(path: Path, draft: DatasetDraft) -> Iterator[tuple[Qrel, str]]:
    for cells, where in _cells(path, ("query-id", "iteration", "doc-id", "relevance"), "query_id 0 doc_id relevance", draft):
        try:
            yield Qrel(cells[0], cells[2], _whole_number(cells[3])), where
        except ValueError:
            fix = "; remove the header" if where == f"{path}:1" and cells[3].isalpha() else ""
            draft.fault(where, f"has the relevance {cells[3]!r}, not a whole number{fix}")


def _run(path: Path, draft: DatasetDraft) -> Iterator[tuple[RunLine, str]]:
    first: dict[tuple[str, str], str] = {}
    for (query_id, _, doc_id, rank, score, _), where in _cells(
        path, ("query-id", "iteration", "doc-id", "rank", "score", "tag"), "query_id Q0 doc_id rank score tag", draft
    ):
        try:
            yield (query_id, doc_id, _whole_number(rank), _finite_number(score)), where
        except ValueError:
            draft.faults.append(f"{where} has rank {rank!r} and score {score!r}, not a whole and a finite number")
        earlier = first.setdefault((query_id, doc_id), where)
        if earlier != where:
            draft.faults.append(f"{where} repeats document {doc_id!r} of question {query_id!r} of {earlier}")


def _whole(path: Path, read: Callable[[Path, DatasetDraft], Iterator[tuple[Row, str]]]) -> tuple[Row, ...]:
    draft = DatasetDraft(path.stem)
    with readable():
        rows = tuple(row for row, _ in read(require(path, "the TREC file"), draft))
    if draft.faults:
        raise DatasetError(str(path), draft.faults)
    return rows


def _cells(path: Path, columns: Sequence[Column], form: str, draft: DatasetDraft) -> Iterator[tuple[list[str], str]]:
    for line, where in tabbed_lines(path, columns, draft):
        # Not split(): an id may hold U+00A0 or U+0085.
        cells = re.split("[ \t]+", line.strip(" \t"))
        if len(cells) == len(columns):
            yield cells, where
        else:
            fix = ", separated by blanks or tabs" if len(cells) == 1 else ""
            draft.fault(where, f"has {plural(len(cells), 'field')}, not the {len(columns)} of {form}{fix}")


def _whole_number(cell: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", cell):
        raise ValueError(cell)
    return int(cell)


def _finite_number(cell: str) -> float:
    # Python reads more than trec_eval, such as 1_0 and digits of other scripts.
    if not _NUMBER.fullmatch(cell) or not math.isfinite(number := float(cell)):
        raise ValueError(cell)
    return number


def _score(score: float) -> str:
    if not math.isfinite(score):
        raise InputError(f"the score {score} cannot be written to a TREC file", "give a finite number")
    return repr(float(score))


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("utf-8"))
