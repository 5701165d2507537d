"""Read traces from files and folders, whatever tool wrote them, as rows of a log."""

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from workbench.datasets.draft import DatasetDraft
from workbench.datasets.formats.table_rows import is_table, read_rows
from workbench.datasets.lines import parse_json
from workbench.errors import InputError
from workbench.monitor.traces.rows import trace_rows
from workbench.targets.recorded.traces.otlp import (
    OtlpEvent,
    OtlpSignal,
    OtlpSpan,
    bounded_lines,
    is_otlp,
    otlp_items,
    otlp_records,
    protobuf_json,
)
from workbench.targets.recorded.traces.steps import EVALUATION, TraceStep, step_of
from workbench.targets.recorded.traces.tool_exports import Record, export_of

_BINARY = (".pb", ".binpb", ".protobuf")
_READ = (*_BINARY, ".json", ".jsonl", ".ndjson", ".csv", ".parquet", ".gz")
# The deepest list of rows in a file.
_DEPTH = 4
_GZIP = b"\x1f\x8b"


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
        One row for each trace with a question, whose `id` is that of the trace. Whatever is broken or has no question is counted.

    Raises
    ------
    InputError
        If a path cannot be read, or if none has a trace in a known format.
    """
    left_out: Counter[str] = Counter()
    formats: set[str] = set()
    steps, events = list[TraceStep](), list[OtlpEvent]()
    for record in (record for path in paths for file in _files(Path(path)) for record in _records(file, formats, left_out)):
        if isinstance(record, OtlpSpan):
            steps += _step(record, left_out)
        elif record.name == EVALUATION:
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


def _step(span: OtlpSpan, left_out: Counter[str]) -> list[TraceStep]:
    try:
        return [step_of(span, left_out)]
    except (ValueError, RecursionError):
        left_out["a span that cannot be read"] += 1
        return []


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix.lower() in _READ and file.is_file())
    if not path.is_file():
        raise InputError(f"{path} is not a file or a folder", "correct the path")
    return [path]


def _records(file: Path, formats: set[str], left_out: Counter[str]) -> Iterator[Record]:
    for row in _rows(file, left_out):
        try:
            if is_otlp(row):
                formats.add("otlp")
                yield from otlp_records(row, left_out)
            elif export := export_of(row):
                formats.add(export.tool)
                yield from export.read(row)
            else:
                left_out["a row of no known format"] += 1
        except (ValueError, OverflowError, RecursionError):
            left_out["a row that cannot be read"] += 1


def _rows(file: Path, left_out: Counter[str]) -> Iterator[Mapping[str, Any]]:
    draft = DatasetDraft("traces")
    if is_table(file):
        yield from (row for row, _ in read_rows(file, draft)[1])
        left_out["a row that cannot be read"] += len(draft.faults)
    elif file.suffix.lower() in (".json", *_BINARY):
        raw = draft.read_bytes(file)
        if draft.faults:
            raise InputError(draft.faults[0], "export JSON Lines, which are read line by line")
        yield from (_json if file.suffix.lower() == ".json" else _binary)(raw, left_out)
    else:
        yield from _packed_lines(file, left_out)


def _packed_lines(file: Path, left_out: Counter[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of JSON lines, which can be compressed by gzip."""
    try:
        with file.open("rb") as raw:
            packed = raw.read(2) == _GZIP
            raw.seek(0)
            stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            yield from _lines(stream, left_out)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        left_out["a compressed file that is broken"] += 1
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror})", "give a readable file") from None


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
    left_out["a file that is not OTLP"] += 1


def _json(raw: bytes, left_out: Counter[str]) -> Iterator[Mapping[str, Any]]:
    try:
        value = parse_json(raw.decode("utf-8-sig"))
    except ValueError:
        # JSON Lines often have this name.
        yield from _lines(io.BytesIO(raw), left_out)
    else:
        yield from _inside(value, left_out)


def _lines(stream: IO[bytes], left_out: Counter[str]) -> Iterator[Mapping[str, Any]]:
    for line in bounded_lines(stream):
        if line is None:
            left_out["a line that is too long"] += 1
        elif line.strip():
            try:
                value = parse_json(line.decode("utf-8-sig"))
            except ValueError:
                left_out["a line that is not JSON"] += 1
            else:
                yield from _inside(value, left_out)


def _inside(value: Any, left_out: Counter[str], depth: int = _DEPTH) -> Iterator[Mapping[str, Any]]:
    """Yield the rows in a JSON value: itself if it is one, else those in its lists."""
    if isinstance(value, Mapping) and (is_otlp(value) or export_of(value)):
        yield value
        return
    inner: list[Any] = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    kind = list if any(isinstance(item, list) for item in inner) else dict
    items = [item for item in inner if isinstance(item, kind)] if depth else []
    left_out["a row of no known format"] += not items
    for item in items:
        yield from _inside(item, left_out, depth - 1)
