"""Read traces of known tools from files and folders as rows of a log."""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from workbench.core.files import table_fault
from workbench.datasets.draft import DatasetDraft
from workbench.datasets.formats.table_rows import is_table, read_rows
from workbench.datasets.lines import parse_json
from workbench.errors import InputError
from workbench.monitor.log.log_files import opened
from workbench.monitor.traces.rows import trace_rows
from workbench.targets.recorded.traces.otlp import (
    BINARY,
    PROTOBUF_LIMIT,
    OtlpSignal,
    TraceEvent,
    TraceRecord,
    TraceSpan,
    otlp_items,
    protobuf_json,
)
from workbench.targets.recorded.traces.steps import EVALUATION, TraceStep, records_call, step_of
from workbench.targets.recorded.traces.tool_exports import export_of

_READ = (*BINARY, ".json", ".jsonl", ".ndjson", ".csv", ".parquet", ".gz")
# The deepest list of rows in a file.
_DEPTH = 4
# The longest line that is read, in bytes. A request of 20 MiB of protobuf is shorter as JSON unless it is made to be longer.
LINE_LIMIT = 64 << 20


@dataclass(frozen=True)
class TraceRows:
    """The rows of traces by time, the formats in which they were recorded, and how many things were left out for each reason."""

    formats: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    left_out: Mapping[str, int]


def read_traces(*paths: str | Path) -> TraceRows:
    """Read traces, and scores of them, as rows with the fields of a log.

    Parameters
    ----------
    paths
        Files, or folders of them: OTLP as JSON lines or protobuf, with the attributes of the GenAI conventions or of OpenInference, and exports of
        Langfuse, LangSmith, Phoenix and MLflow as JSON, JSON Lines, CSV or parquet. Spans of a trace can be in several files, in any order.

    Returns
    -------
    TraceRows
        One row for each trace with a question, whose `id` is that of the trace. Broken rows and traces without a question are counted.

    Raises
    ------
    InputError
        If a path cannot be read, or if none has a trace in a known format.
    """
    left_out: Counter[str] = Counter()
    formats: set[str] = set()
    steps, events = list[TraceStep](), list[TraceEvent]()
    for record in (record for path in paths for file in _files(Path(path), left_out) for record in _records(file, formats, left_out)):
        if isinstance(record, TraceSpan):
            steps += _step(record, left_out)
        elif record.name == EVALUATION or records_call(record):
            events.append(record)
        else:
            left_out["a log record of another kind"] += 1
    if not formats:
        raise InputError(
            f"{', '.join(map(str, paths))} has no trace in a format that is known",
            "give OTLP as JSON lines or protobuf, or an export of Langfuse, LangSmith, Phoenix or MLflow",
        )
    rows = trace_rows(steps, events, left_out)
    return TraceRows(tuple(sorted(formats)), tuple(rows), dict(sorted((+left_out).items())))


def _step(span: TraceSpan, left_out: Counter[str]) -> list[TraceStep]:
    try:
        step = step_of(span)
    except (ValueError, RecursionError):
        left_out["a span that cannot be read"] += 1
        return []
    left_out["the documents of a span, which cannot be read"] += step.fault != ""
    return [step]


def _records(file: Path, formats: set[str], left_out: Counter[str]) -> Iterator[TraceRecord]:
    for row in _rows(file, left_out):
        export = export_of(row)
        if export is None:
            left_out["a row of no known format"] += 1
            continue
        formats.add(export.tool)
        try:
            yield from export.read(row, left_out)
        except (ValueError, OverflowError, RecursionError):
            left_out["a row that cannot be read"] += 1


def _files(path: Path, left_out: Counter[str]) -> list[Path]:
    if path.is_dir():
        found = sorted(file for file in path.rglob("*") if file.suffix.lower() in _READ and file.is_file())
        # A link could lead out of the folder.
        left_out["a link"] += sum(file.is_symlink() for file in found)
        return [file for file in found if not file.is_symlink()]
    if not path.is_file():
        raise InputError(f"{path} is not a file or a folder", "correct the path")
    return [path]


def _rows(file: Path, left_out: Counter[str]) -> Iterator[Mapping[str, Any]]:
    draft, suffix = DatasetDraft("traces"), file.suffix.lower()
    if is_table(file):
        yield from (row for row, _ in read_rows(file, draft)[1])
        left_out["a row that cannot be read"] += len(draft.faults)
    elif suffix in BINARY:
        raw = draft.read_bytes(file)
        yield from _binary(raw, left_out)
    elif suffix != ".json" or (value := _json(draft.read_bytes(file))) is None:
        # JSON Lines often have the name of JSON.
        yield from _lines(file, left_out)
    else:
        yield from _inside(value, left_out)
    if draft.faults and not is_table(file):
        raise InputError(draft.faults[0], "export JSON Lines, which are read line by line")


def _json(raw: bytes) -> Any:
    try:
        return parse_json(raw.decode("utf-8-sig"))
    except ValueError:
        return None


def _binary(raw: bytes, left_out: Counter[str]) -> Iterator[Mapping[str, Any]]:
    signals: tuple[OtlpSignal, ...] = ("traces", "logs")
    for signal in signals:
        try:
            value = protobuf_json(raw, signal)
        except ValueError:
            continue
        # A request of the other signal can be read too, but nothing in it has an id.
        if any("traceId" in item for item in otlp_items(value)):
            yield value
            return
    left_out["a file that is not OTLP" if len(raw) <= PROTOBUF_LIMIT else "a file of protobuf of more than 20 MiB"] += 1


def _lines(file: Path, left_out: Counter[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of JSON lines, which can be compressed by gzip."""
    try:
        with opened(file.resolve()) as stream:
            for line in bounded_lines(gzip.GzipFile(fileobj=stream) if file.suffix == ".gz" else stream):
                if line is None:
                    left_out["a line that is too long"] += 1
                elif not line.strip():
                    continue
                elif (value := _json(line)) is None:
                    left_out["a line that is not JSON"] += 1
                else:
                    yield from _inside(value, left_out)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        if file.suffix != ".gz":
            raise InputError(f"{file} cannot be read ({table_fault(error)})", "give a readable file") from None
        left_out["a compressed file that is broken"] += 1


def bounded_lines(stream: BinaryIO | gzip.GzipFile, limit: int = LINE_LIMIT) -> Iterator[bytes | None]:
    """Yield the lines of a file, and None for a line of more bytes than the limit, which is skipped to its end."""
    while line := stream.readline(limit + 1):
        long = len(line) > limit and not line.endswith(b"\n")
        yield None if long else line
        while long and line and not line.endswith(b"\n"):
            line = stream.readline(1 << 20)


def _inside(value: Any, left_out: Counter[str], depth: int = _DEPTH) -> Iterator[Mapping[str, Any]]:
    """Yield the rows in a JSON value: itself if it is one, else those in its lists."""
    if isinstance(value, Mapping) and export_of(value):
        yield value
        return
    inner: list[Any] = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    kind = list if any(isinstance(item, list) for item in inner) else dict
    items = [item for item in inner if isinstance(item, kind)] if depth else []
    left_out["a row of no known format"] += not items
    for item in items:
        yield from _inside(item, left_out, depth - 1)
