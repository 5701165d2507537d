"""Read BEIR folders: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv and optionally evidence.jsonl; and NFCorpus in this format.

`evidence.jsonl` has rows {query_id, doc_id, start, end, text}. Rows of a query with one `need` are alternatives, others separate needs. NFCorpus
(Boteva et al., ECIR 2016) is read from a folder or the cache, or downloaded once. A downloaded archive must have the published counts. Its SHA-256
is then recorded, and checked after every later download.
"""

import os
import shutil
import zipfile
import zlib
from pathlib import Path
from typing import Any

from filelock import FileLock

from workbench.core.environment import cache_folder, data_folder
from workbench.core.errors import InputError
from workbench.core.files import in_order, write_text
from workbench.core.fingerprint import file_digest
from workbench.core.operating_system import move
from workbench.core.records import Qrel, Query, Span
from workbench.core.text.formatting import listed
from workbench.core.text.printable import printable_line
from workbench.core.text.progress import ProgressBar
from workbench.data.draft import DatasetDraft, EvidenceRow, check_split
from workbench.data.fields import VARIANTS, check_fields, doubt_fields, opposites, pop_expected_answers, text_field
from workbench.data.files import FileAccess, find_in, require
from workbench.data.formats.documents import read_documents
from workbench.data.lines import json_kind, json_lines, tabbed_lines

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
    files = in_order(folder.iterdir()) if folder.is_dir() else []
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


URL = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/nfcorpus.zip"
COUNTS = {"documents": 3_633, "queries": 3_237, "test judgements": 12_334}
# The queries often quoted for this corpus, with their documents of grade 2.
FIVE = ("PLAIN-2630", "PLAIN-2660", "PLAIN-2510", "PLAIN-2430", "PLAIN-2690")
_SECONDS = 30
# The archive has 2.4 MB.
_LARGEST = 64 * 2**20


def read_nfcorpus(folder: Path | None, split: str | None, five: bool, files: FileAccess) -> DatasetDraft:
    """Read NFCorpus. `five` keeps the five named questions with their documents of grade 2 (21, 20, 16, 15 and 14 of them)."""
    draft = read_beir(folder or _found() or _obtained(), split, files)
    if five:
        draft.queries = [(query, where) for query, where in draft.queries if query.query_id in FIVE]
        draft.qrels = [(qrel, where) for qrel, where in draft.qrels if qrel.query_id in FIVE and qrel.relevance == 2]
    return draft


def _found() -> Path | None:
    folders = (data_folder() / "nfcorpus", cache_folder() / "nfcorpus")
    return next((folder for folder in folders if (folder / "corpus.jsonl").is_file()), None)


def _obtained() -> Path:
    cache = cache_folder()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / "nfcorpus.lock"):
            return _found() or _downloaded(cache)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        reason = printable_line(error.strerror or str(error)) if isinstance(error, OSError) else ""
        what = f"{type(error).__name__}: {reason}" if reason else type(error).__name__
        fix = "give dataset.path a folder that contains it, or set WORKBENCH_DATA to the folder above it"
        raise InputError(f"NFCorpus could not be fetched into {cache} ({what})", fix) from error


def _downloaded(cache: Path) -> Path:
    """Download the archive, check it, unpack it to a temporary folder and rename it, so that an interrupted download is never read."""
    # This process has the lock: temporary files, or a folder without a corpus, were left by a killed process.
    archive, aside = cache / "nfcorpus.zip", cache / "nfcorpus.part"
    shutil.rmtree(aside, ignore_errors=True)
    try:
        _fetch(os.environ.get("WORKBENCH_NFCORPUS_URL", URL), aside / "nfcorpus.zip")
        with zipfile.ZipFile(aside / "nfcorpus.zip") as packed:
            packed.extractall(aside)
        _check_counts(aside / "nfcorpus")
        _check_digest(aside / "nfcorpus.zip", cache / "nfcorpus.zip.sha256")
        move(aside / "nfcorpus.zip", archive)
        shutil.rmtree(cache / "nfcorpus", ignore_errors=True)
        move(aside / "nfcorpus", cache / "nfcorpus")
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return cache / "nfcorpus"


def _fetch(url: str, target: Path) -> None:
    from workbench.llm.models.http import open_address  # heavy

    target.parent.mkdir(parents=True, exist_ok=True)
    with open_address(url, _LARGEST, _SECONDS) as answer, target.open("wb") as stream:
        size = int(answer.headers.get("content-length", 0)) or None
        with ProgressBar(total=size, unit="B", unit_scale=True, desc="NFCorpus") as bar:
            for block in answer.iter_raw():
                bar.update(stream.write(block))


def _check_counts(folder: Path) -> None:
    whole, test = (read_beir(folder, split, FileAccess()) for split in (None, "test"))
    counts = dict(zip(COUNTS, (len(whole.documents), len(whole.queries), len(test.qrels)), strict=True))
    if counts != COUNTS:
        raise InputError(f"the downloaded NFCorpus has {counts}, not {COUNTS}", "give dataset.path a folder with the published one")


def _check_digest(archive: Path, record: Path) -> None:
    digest = file_digest(archive)
    recorded = record.read_text("utf-8").split()[:1] if record.exists() else []
    if recorded and recorded != [digest]:
        raise InputError(f"the downloaded NFCorpus differs from the one recorded in {record}", f"delete {record} if the change is known")
    write_text(record, f"{digest}  nfcorpus.zip\n")
