"""Read BEIR folders: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv and optionally evidence.jsonl.

`evidence.jsonl` has rows {query_id, doc_id, start, end, text}. Rows of a query with one `need` are alternatives, others separate needs.
"""

from pathlib import Path
from typing import Any

from workbench.core.formatting import listed
from workbench.datasets.draft import DatasetDraft, EvidenceRow, check_split
from workbench.datasets.fields import VARIANTS, check_fields, doubt_fields, opposites, pop_expected_answers, text_field
from workbench.datasets.files import FileAccess, find_in, require
from workbench.datasets.formats.documents import read_documents
from workbench.datasets.lines import json_kind, json_lines, tabbed_lines
from workbench.errors import InputError
from workbench.records import Qrel, Query, Span

SPAN = ("doc_id", "start", "end", "text")
_ROW = ("query_id", "need", *SPAN)
# The fields of metadata that have a meaning.
_READ = ("answer", *VARIANTS, "answerable", "type", "split", "where")


def read_beir(folder: Path, split: str | None, files: FileAccess) -> DatasetDraft:
    """Read a BEIR folder. A split limits the queries to those that it judges and the unanswerable ones."""
    draft = DatasetDraft(folder.name, files=files)
    require(folder, "the BEIR folder")
    read_documents(find_in(folder, ("corpus.jsonl",), "corpus"), draft)
    judgements = _judgements(find_in(folder, ("qrels/",), "folder of judgements"), draft)
    check_split(split, judgements, draft)
    for path in [judgements[split]] if split else judgements.values():
        for line, where in tabbed_lines(path, ("query-id", "doc-id", "relevance"), draft):
            try:
                query_id, doc_id, relevance = line.split("\t")
                draft.qrels.append((Qrel(query_id, doc_id, int(relevance)), where))
            except ValueError:
                draft.fault(where, "is not query-id, corpus-id and a whole score, separated by tabs")
    query_ids = _read_queries(find_in(folder, ("queries.jsonl",), "queries"), split, draft)
    evidence = folder / "evidence.jsonl"
    if evidence.exists():
        # Evidence of a question in another split is not read, but that of a question in none is a fault.
        others = query_ids - {query.query_id for query, _ in draft.queries}
        read_evidence(evidence, others, draft)
    return draft


def _judgements(folder: Path, draft: DatasetDraft) -> dict[str, Path]:
    """Return the files of judgements by their split."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    splits = {path.stem: path for path in files if path.suffix == ".tsv"}
    draft.notes += [f"{path} is not read; name it after its split, such as qrels/test.tsv" for path in files if path.suffix != ".tsv"]
    if not splits:
        what = f"contains {listed([path.name for path in files])}" if folder.is_dir() else "is a file, not a folder"
        raise InputError(f"{folder} {what}", "expected a file for each split, such as qrels/test.tsv")
    return splits


def _read_queries(path: Path, split: str | None, draft: DatasetDraft) -> set[str]:
    """Read the queries of a split and return the ids of all queries."""
    query_ids = set()
    judged = {qrel.query_id for qrel, _ in draft.qrels}
    for row, where in json_lines(path, draft):
        query_id = text_field(row, ("_id",), where, draft)
        text = text_field(row, ("text",), where, draft)
        if query_id is None or text is None:
            continue
        query_ids.add(query_id)
        if check_fields(row, ("_id", "text", "metadata"), where, draft):
            draft.leave(row, ("_id", "text", "metadata"), path)
        metadata = row.get("metadata") or {}
        if not isinstance(metadata, dict):
            draft.fault(where, f"has {json_kind(metadata)} in 'metadata', not an object")
            continue
        doubt_fields(metadata, _READ, "is kept as metadata", where, draft)
        query = query_of(query_id, text, dict(metadata), where, draft)
        ours = query_id in judged or (not query.answerable and query.metadata.get("split", split) == split)
        if split is None or ours:
            draft.queries.append((query, where))
    return query_ids


def query_of(query_id: str, text: str, metadata: dict[str, Any], where: str, draft: DatasetDraft) -> Query:
    """Make a query. Its metadata can mark it unanswerable (`answerable: false`, `type: unanswerable`) and contain its answers and `where`."""
    answers, marked = pop_expected_answers(metadata, where, draft), metadata.pop("answerable", True)
    given = metadata.pop("where", None)
    where_clause = given if isinstance(given, dict) else {}
    if given is not None and where_clause is not given:
        draft.fault(where, f"question {query_id!r} has 'where' {given!r}, not a filter such as {{\"year\": 2024}}; rename other metadata")
    if given == {}:
        draft.fault(where, f"question {query_id!r} has 'where' {{}}, which has no condition; leave it out to search all documents")
    if not isinstance(marked, bool):
        draft.fault(where, f"question {query_id!r} has 'answerable' {marked!r}, which is neither true nor false")
    for field in opposites(metadata):
        meaning = "true" if str(metadata[field]).lower() == "false" else "false"
        draft.fault(where, f"has {field!r}, which is not read; write answerable: {meaning} in its place")
    answerable = bool(marked) and metadata.get("type") != "unanswerable"
    return Query(query_id, text, answerable, next(iter(answers), ""), metadata, where_clause, answers[1:])


def read_evidence(path: Path, others: set[str], draft: DatasetDraft) -> None:
    """Read evidence rows, except those of `others`, the queries of other splits."""
    for number, (row, where) in enumerate(json_lines(path, draft)):
        query_id = text_field(row, ("query_id",), where, draft)
        if query_id is None or query_id in others or not check_fields(row, _ROW, where, draft):
            continue
        draft.leave(row, _ROW, path)
        need = row.get("need")
        append_evidence(row, query_id, f"row {number}" if need is None else f"need {need}", where, draft)


def append_evidence(row: dict[str, Any], query_id: str, need: str, where: str, draft: DatasetDraft) -> None:
    """Add a span as one alternative of a need. A span that is not {doc_id, start, end} is a fault."""
    if not check_fields(row, SPAN, where, draft):
        return
    doc_id = text_field(row, ("doc_id",), where, draft)
    start, end, text = row.get("start"), row.get("end"), row.get("text")
    if doc_id is None:
        return
    if type(start) is not int or type(end) is not int:
        fix = "; give a text without positions in 'relevant_chunks'" if start is None and end is None and text else ""
        draft.fault(where, f"has evidence of question {query_id} without whole numbers 'start' and 'end'{fix}")
        return
    if not isinstance(text, str | None):
        draft.fault(where, f"has {json_kind(text)} as 'text' in evidence of question {query_id}, not a text")
        return
    draft.evidence.append(EvidenceRow(query_id, need, Span(doc_id, start, end), text, where))
