"""A target whose replies are read from a file: rows of JSON, JSON Lines, CSV or parquet, or a TREC run."""

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from workbench.components.answering.recorded import (
    CHECKS,
    Checks,
    error_of,
    failed_request,
    key_fault,
    refused_of,
    variant_fault,
    without_failed,
)
from workbench.components.context.conditions import RETRIEVED
from workbench.core.errors import InputError
from workbench.core.files import FileState, file_state
from workbench.core.fingerprint import file_digest
from workbench.core.records import Answer, Query, TargetHit
from workbench.core.text.formatting import listed
from workbench.data.draft import DatasetDraft, Rows
from workbench.data.formats.table_rows import read_rows
from workbench.data.formats.trec import NOT_SCORED, read_run
from workbench.data.lines import json_lines, objects, parse_json, read_text, reason
from workbench.systems.base import System, Target, TargetDownError, TargetError, TargetResources
from workbench.systems.contents import number
from workbench.systems.recorded.exports import (
    DEEPEVAL,
    INSPECT,
    LOG_SUFFIX,
    PROMPTFOO,
    RAGAS,
    ExportFormat,
    Numbered,
    RecordedFields,
    RecordedResponse,
    RecordedResponses,
    chosen_rows,
    exported_results,
    log_samples,
)
from workbench.systems.recorded.traces.otlp import BINARY, protobuf_json
from workbench.systems.recorded.traces.tool_exports import export_of
from workbench.systems.recorded.traces.trace import TRACE_FORMATS

if TYPE_CHECKING:
    import pandas as pd

_EXAMPLE = '{"query_id": "q1", "hits": [{"doc_id": "d1", "score": 0.9}], "answer": "a text"}'
_FIELDS = ("doc_id", "text", "score", "start", "end", "metadata")


def own_results(rows: Rows, draft: DatasetDraft) -> Iterator[RecordedResponse]:
    """Yield the results of rows. Those under another condition than `retrieved` are checked and left out."""
    for row, where in ((without_failed(row), where) for row, where in rows):
        if fault := _fault(row):
            draft.fault(where, fault)
        elif row.get("condition", RETRIEVED) == RETRIEVED:
            hits, sources = (tuple(map(_hit, row[key])) if row.get(key) is not None else None for key in ("hits", "sources"))
            answer = None
            if "answer" in row:
                # Without sources, what was found is what the answer was made from.
                used = hits if sources is None else sources
                confidence, truncated = row.get("confidence"), row.get("truncated")
                answer = Answer(text=row["answer"], sources=used, refused=refused_of(row), confidence=confidence, truncated=truncated)
            # A request can fail after its search.
            error = error_of(row)
            broken = {"error": error} if hits is None else {"unanswered": failed_request(error) if error else ""}
            yield RecordedResponse(where, row.get("query_id"), row.get("query"), hits, answer, **broken)


def _hit(value: Mapping[str, Any] | str) -> TargetHit:
    if isinstance(value, str):
        return TargetHit(doc_id=value)
    fields = {key: value[key] for key in _FIELDS if value.get(key) is not None}
    return TargetHit(**fields)


def _fault(row: Mapping[str, Any]) -> str:
    """Return why a row is no result, and the fix, or an empty text."""
    if fault := key_fault(row, _CHECKS, "a result", _EXAMPLE):
        return fault
    if row.get("hits") is None and "answer" not in row and not error_of(row):
        return f"has neither hits nor an answer; write for example {_EXAMPLE}"
    for key in ("hits", "sources"):
        for place, hit in enumerate(row.get(key) or (), 1):
            if fault := _hit_fault(hit):
                return f"has {fault} in {key}, item {place}"
    return variant_fault(row)


def _hit_fault(hit: Mapping[str, Any] | str) -> str:
    if isinstance(hit, str):
        return "" if hit.strip() else "a blank id"
    if unknown := [key for key in hit if key not in _FIELDS]:
        return f"the key {unknown[0]!r} (a hit has {', '.join(_FIELDS)})"
    if wrong := [key for key, value in hit.items() if value is not None and not _HIT_CHECKS[key](value)]:
        return f"{json.dumps(hit[wrong[0]], ensure_ascii=False)[:40]} as {wrong[0]}"
    if all(hit.get(key) is None for key in ("doc_id", "text", "metadata")):
        return "neither doc_id nor text"
    start, end = hit.get("start"), hit.get("end")
    if (start is None) != (end is None) or (start is not None and not start < (end or 0)):
        return f"the positions {start} and {end}"
    return ""


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


_HIT_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "doc_id": lambda value: isinstance(value, str) and bool(value),
    "text": lambda value: isinstance(value, str),
    "score": lambda value: number(value) is not None,
    "start": _is_position,
    "end": _is_position,
    "metadata": lambda value: isinstance(value, dict),
}
_HITS_CHECK = (
    lambda value: value is None or (isinstance(value, list) and all(isinstance(item, str | dict) for item in value)),
    'a list such as [{"doc_id": "d1", "text": "…"}]',
)
_CHECKS: Checks = {**CHECKS, "hits": _HITS_CHECK, "sources": _HITS_CHECK}


OwnFormat = Literal["auto", "jsonl", "parquet", "trec"]
RecordedFormat = Literal[
    OwnFormat, "ragas", "deepeval", "promptfoo", "inspect", "langfuse", "langsmith", "mlflow", "opik", "otlp", "phoenix", "trulens"
]
# In the order in which they are recognized.
_EXPORTS: Mapping[str, ExportFormat] = {export.name: export for export in (RAGAS, PROMPTFOO, DEEPEVAL, INSPECT, *TRACE_FORMATS)}
_TABLES = (".csv", ".parquet")
# A file of rows. Any other is a TREC run, whose names have many endings.
_ROWS = (*_TABLES, ".json", ".jsonl", ".ndjson", LOG_SUFFIX, *BINARY)
# The keys under which a JSON file has its list of results.
_LISTS = ("samples", "results", "testRunData", "testCases", "test_cases", "runs", "examples", "spans", "items", "data")
# Empty cells are left out of rows, so that one row does not have all keys.
_SAMPLE = 100
_OWN = "jsonl"


@functools.lru_cache(maxsize=4)
def read_results(
    path: str, format_name: RecordedFormat, fields: RecordedFields, where: tuple[tuple[str, str], ...], _state: FileState
) -> RecordedResponses:
    """Read a file again whenever its time or size changes. Raises InputError for the first bad row, or for a file without results."""
    file, draft = Path(path), DatasetDraft("results")
    if format_name == "trec" or (format_name == "auto" and file.suffix.lower() not in _ROWS):
        _refuse(path, "trec", fields, where)
        return RecordedResponses("trec", _ranked(read_run(file)), "remove one of them", draft, found_only=True)
    rows = chosen_rows(_rows(file, draft), dict(where), path, draft)
    draft.raise_first()
    if format_name == "auto" and file.suffix.lower() != LOG_SUFFIX:
        keys = {key: value for row, _ in rows[:_SAMPLE] for key, value in row.items()}
        export = next((export for export in _EXPORTS.values() if export.marks(keys)), None)
    else:
        export = INSPECT if format_name == "auto" else _EXPORTS.get(format_name)
    if export is None:
        _refuse(path, _OWN, fields)
        name, choice, results = _OWN, "a field", own_results(rows, draft)
    else:
        name, choice, results = export.name, export.choice, exported_results(export, rows, fields, draft)
    found = RecordedResponses(
        name, results, "remove one of them" + (f", or choose rows with where: {{{choice}: its value}}" if choice else ""), draft
    )
    draft.raise_first()
    if not (found.searches or found.answers) and not any(result.error for result in found.all):
        names = listed([repr(key) for key in dict.fromkeys(key for row, _ in rows[:_SAMPLE] for key in row)], 12)
        fix = f"the keys of its rows are {names}" if rows else "add a row"
        raise InputError(f"{path} has neither hits nor answers, read as {name}", fix)
    return found


def _refuse(path: str, name: str, fields: RecordedFields, where: tuple[tuple[str, str], ...] = ()) -> None:
    """Raise InputError for settings that a format has no use for."""
    if fields != RecordedFields() or where:
        raise InputError(f"{path} is read as {name}, which has no use for {'where' if where else 'fields'}", "leave it out, or set format")


def _rows(file: Path, draft: DatasetDraft) -> Numbered:
    suffix = file.suffix.lower()
    if suffix in _TABLES:
        return list(read_rows(file, draft)[1])
    if suffix == LOG_SUFFIX:
        return list(log_samples(file, draft))
    if suffix in BINARY:
        try:
            return [(protobuf_json(draft.read_bytes(file), "traces"), str(file))]
        except ValueError as error:
            draft.fault(str(file), f"is not OTLP ({error})")
            return []
    return list(_json_rows(file, draft) if suffix == ".json" else json_lines(file, draft))


def _json_rows(file: Path, draft: DatasetDraft) -> Rows:
    """Return the results of a JSON file, or of JSON Lines in a file with its name."""
    text = read_text(file, draft)
    if draft.faults:
        return []
    try:
        value = parse_json(text)
    except ValueError as error:
        if _is_object(text.lstrip().partition("\n")[0]):
            return json_lines(file, draft)
        draft.fault(f"{file}:{getattr(error, 'lineno', 1)}", f"is not JSON ({reason(error)})")
        return []
    while (
        isinstance(value, dict)
        and not (export_of(value) or "columns" in value)
        and (inner := next((key for key in _LISTS if isinstance(value.get(key), dict | list)), None))
    ):
        value = value[inner]
    if isinstance(value, dict) and isinstance(columns := value.get("columns"), list) and isinstance(cells := value.get("data"), list):
        # A table as MLflow logs it, and pandas with orient="split".
        value = [dict(zip(columns, row, strict=False)) if isinstance(row, list) else row for row in cells]
    return objects(((item, f"{file} result {place}") for place, item in enumerate(value if isinstance(value, list) else [value], 1)), draft)


def _is_object(line: str) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except ValueError:
        return False


def _ranked(run: "pd.DataFrame") -> Iterator[RecordedResponse]:
    """Yield the hits of each question of a run in the order of trec_eval, which reads no rank: by falling score (a 32-bit float), then by falling id."""
    by_id = run.sort_values("doc_id", key=lambda ids: ids.map(str.encode), ascending=False)
    ordered = by_id.assign(single=by_id["score"].astype("float32")).sort_values("single", ascending=False, kind="stable")
    for query_id, lines in ordered.groupby("query_id"):
        hits = tuple(TargetHit(doc_id=doc_id, score=score) for doc_id, score in zip(lines["doc_id"], lines["score"], strict=True))
        error = f"the run has the line {NOT_SCORED}" if any(hit.doc_id == NOT_SCORED for hit in hits) else ""
        yield RecordedResponse(str(query_id), str(query_id), hits=hits, error=error)


class RecordedTarget(Target):
    """Results that were recorded elsewhere: rankings, and answers with their sources, by the id or the exact text of a question.

    Own form: rows of JSON Lines or parquet with `query_id` or `query`, `hits` (a list of `{doc_id, text, score, start, end}`, best first, or of
    ids), `answer`, and `sources` in the form of hits (by default the hits). `condition`, `refused` and `confidence` are as in recorded answers;
    only answers under `retrieved` are read. TREC runs have hits alone: a question without a line was asked and nothing was found, and the line
    `q7 Q0 not-scored 1 0 tag` says that it was not asked. In rows, `hits: []` says that nothing was found. The exports of Ragas, DeepEval and promptfoo are
    read as they are, and so are logs of Inspect and traces: OTLP files and exports of Langfuse, LangSmith, MLflow, Opik, Phoenix and TruLens.

    The settings do not say whether the file has hits or answers, so `roles` and `gives_text` read it. They raise InputError if it
    cannot be read.
    """

    version: ClassVar[int] = 6
    timed: ClassVar[bool] = False

    kind: Literal["recorded"] = "recorded"
    path: str = Field(min_length=1, description="The file of results.")
    format: RecordedFormat = Field(
        default="auto",
        description="`jsonl` or `parquet` for rows in Workbench's own form, `trec` for a run, or the tool that exported the file. "
        "`auto` decides by the name of the file and by the keys of its rows.",
    )
    where: dict[str, str] = Field(
        default_factory=dict,
        description="The rows to read, by the values of fields, such as `{provider.id: my-rag}`. By default all are read.",
    )
    fields: RecordedFields = Field(
        default_factory=RecordedFields,
        description="The fields of an exported row with the `question`, the `query_id`, the `answer` and the `documents`, such as "
        "`{question: vars.topic}`. By default the importer finds them.",
    )

    @property
    def roles(self) -> Collection[str]:
        """True if the file has hits and answers."""
        results = self._results()
        return [role for role, given in (("search", results.searches), ("answer", results.answers)) if given]

    @property
    def gives_text(self) -> bool:
        """True if a hit in the file has a text or a position."""
        return self._results().gives_text

    def check(self) -> None:
        """Raise InputError if the file is missing, or for its first row that cannot be read."""
        self._results()

    def identity(self) -> dict[str, Any]:
        """Return the hash of the file's content and the format as which it is read. Its path does not matter."""
        settings: dict[str, Any] = super().identity()
        del settings["path"]
        return {**settings, "format": self._results().format, "content": _digest(self.path, self._state())}

    @asynccontextmanager
    async def session(self, resources: TargetResources) -> AsyncIterator[System]:
        """Read the file."""
        try:
            results = await asyncio.to_thread(self._results)
        except InputError as error:
            raise TargetDownError(str(error)) from error
        yield results

    def recorded_hits(self, query: Query) -> Sequence[TargetHit]:
        """Return all hits that were recorded for a question. Raises InputError if the file cannot be read."""
        try:
            return self._results().reply(query.query_id, query.text).hits or ()
        except TargetError:
            return ()

    def _results(self) -> RecordedResponses:
        return read_results(self.path, self.format, self.fields, tuple(sorted(self.where.items())), self._state())

    def _state(self) -> FileState:
        try:
            return file_state(Path(self.path))
        except OSError as error:
            raise InputError(f"target {self.name!r}: {self.path} cannot be read ({error.strerror})", "correct path") from None


@lru_cache(maxsize=16)
def _digest(path: str, _state: FileState) -> str:
    return file_digest(Path(path), "blake2b")
