"""Read traces of known tools from files and folders as rows of a log, one of each trace with a question."""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Any, BinaryIO

from workbench.core.errors import InputError
from workbench.core.files import in_order, table_fault
from workbench.core.records import TargetHit
from workbench.core.text.printable import printable
from workbench.data.draft import DatasetDraft
from workbench.data.formats.table_rows import is_table, read_rows
from workbench.data.lines import parse_json
from workbench.monitor.log.fields import row_fault
from workbench.monitor.log.log_files import opened
from workbench.systems.recorded.traces.otlp import (
    BINARY,
    PROTOBUF_LIMIT,
    OtlpSignal,
    TraceEvent,
    TraceRecord,
    TraceSpan,
    otlp_items,
    protobuf_json,
)
from workbench.systems.recorded.traces.steps import EVALUATION, StepKind, TraceStep, evaluation_of, number_in, records_call, shown, step_of
from workbench.systems.recorded.traces.tool_exports import export_of
from workbench.systems.recorded.traces.trace import RecordedTrace, traces_of

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
        Langfuse, LangSmith, Phoenix, MLflow, Opik and TruLens as JSON, JSON Lines, CSV or parquet. Spans of a trace can be in several files, in any
        order.

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
            "give OTLP as JSON lines or protobuf, or an export of Langfuse, LangSmith, Phoenix, MLflow, Opik or TruLens",
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
        readable = in_order(file for file in path.rglob("*") if file.suffix.lower() in _READ and file.is_file())
        # A link could lead out of the folder.
        left_out["a link"] += sum(file.is_symlink() for file in readable)
        return [file for file in readable if not file.is_symlink()]
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


_SECONDS: Mapping[StepKind, str] = {
    "embedding": "embedding_seconds",
    "retrieval": "retrieval_seconds",
    "reranking": "reranking_seconds",
    "generation": "generation_seconds",
}
_SUMS = ("input_tokens", "output_tokens", "cost")
# Names of scores that are the opinion of the user.
_USER_SCORES = ("thumb", "user_feedback", "user_score", "user_rating")
# Where a document that has no id or score can name them in its metadata.
_NAMES, _SCORES = ("source", "doc_uri", "file_path", "file_name", "path", "url"), ("score", "relevance_score", "similarity")
Row = dict[str, Any]


def trace_rows(steps: Sequence[TraceStep], events: Sequence[TraceEvent], left_out: Counter[str]) -> list[Row]:
    """Return a row for each trace with a question, by time, with the evaluations in `events`. The other traces are counted."""
    traces = traces_of(steps, events, left_out)
    owners = {step.span_id: trace.root.trace_id for trace in traces for step in trace.steps}
    evaluations: dict[str, list[Mapping[str, Any]]] = {}
    for event in (event for event in events if event.name == EVALUATION):
        owner = event.trace_id or owners.get(event.span_id) or str(event.attributes.get("workbench.id"))
        evaluations.setdefault(owner, []).append(evaluation_of(event.attributes))
    made = [(row, trace) for trace in traces if (row := _row(trace, evaluations.pop(trace.root.trace_id, ()), left_out))]
    left_out["an evaluation of a trace that gave no row"] += sum(map(len, evaluations.values()))
    return _in_conversations(made)


def _row(trace: RecordedTrace, evaluations: Sequence[Mapping[str, Any]], left_out: Counter[str]) -> Row | None:
    """Return the row of a trace, or None and count why it has none."""
    row, root = {}, trace.root
    searched = next((step.query for step in trace.searches if step.query), None)
    hops = [{"query": step.query, "seconds": _seconds(step)} for step in trace.searches]
    row = {
        "id": root.trace_id,
        "time": _time(root.start or min((step.start for step in trace.steps if step.start), default=0)),
        "query": trace.query,
        "rewritten": None if searched == trace.query else searched,
        "hits": None if trace.hits is None else [_hit(hit, hop) for hit, hop in trace.hits],
        "hops": list(map(_known, hops)) or None,
        "answer": shown(trace.answer),
        "error": printable(trace.error) or None,
        **_facts(trace),
        **{name: _sum(map(_seconds, trace.of(kind))) for kind, name in _SECONDS.items()},
        "seconds": _total(trace),
        "versions": {name: text for step in reversed(_root_first(trace, trace.own)) for name, text in step.versions.items()},
        **_judged([*(evaluation for step in trace.steps for evaluation in step.evaluations), *evaluations]),
        "trace_id": root.trace_id,
        "span_id": root.span_id,
    }
    row = {name: _plain(value) for name, value in _known(row).items() if value != {}}
    fault = row_fault(row)
    if trace.query is None or fault:
        left_out[trace.why_no_query if trace.query is None else f"a trace with {fault}"] += 1
        left_out["an evaluation of a trace that gave no row"] += len(evaluations)
        return None
    return row


def _known(fields: Mapping[str, Any]) -> Row:
    return {name: value for name, value in fields.items() if value is not None}


def _hit(hit: TargetHit, hop: int) -> Row:
    """Return the fields of a hit, whose id and score its metadata alone can have."""
    metadata = hit.metadata
    doc_id = hit.doc_id or next((str(metadata[key]) for key in _NAMES if isinstance(metadata.get(key), str | int)), None)
    score = number_in(metadata, *_SCORES) if hit.score is None else hit.score
    return _known({"doc_id": doc_id, "text": shown(hit.text), "score": score, "hop": hop, "metadata": dict(metadata) or None})


def _root_first(trace: RecordedTrace, steps: Iterable[TraceStep]) -> list[TraceStep]:
    return sorted(steps, key=lambda step: (step is not trace.root, len(trace.callers(step))))


def _total(trace: RecordedTrace) -> float | None:
    if not trace.root.parent or trace.root.parent == trace.root.trace_id:
        return _seconds(trace.root)
    starts, ends = ([time for time in times if time] for times in zip(*((step.start, step.end) for step in trace.steps), strict=True))
    return max(0, max(ends) - min(starts)) / 1e9 if starts and ends else None


def _facts(trace: RecordedTrace) -> Row:
    """Return the fields that spans name: of the model that answered, of the outermost span, and sums over model calls."""
    answers = trace.of("generation")
    last, outer_first = answers[-1] if answers else trace.root, _root_first(trace, trace.steps)
    facts: Row = {name: last.facts.get(name) for name in ("model", "truncated")}
    for name in ("session", "user", "configuration"):
        facts[name] = next((value for step in outer_first if (value := step.facts.get(name)) is not None), None)
    for name in _SUMS:
        total = _sum(step.facts.get(name) for step in answers)
        total = trace.root.facts.get(name) if total is None else total
        facts[name] = total if total is None or name == "cost" else int(total)
    return facts


def _judged(evaluations: Iterable[Mapping[str, Any]]) -> Row:
    """Return evaluations, each once, and the feedback of users, which tools record as scores too."""
    row: dict[str, dict[str, Row]] = {"evaluations": {}, "feedback": {}}
    for evaluation in map(dict, evaluations):
        name = str(evaluation.get("name", "")).lower().replace("-", "_")
        if not name.startswith(_USER_SCORES):
            row["evaluations"][repr(evaluation)] = evaluation
            continue
        score, thumb = evaluation.get("score"), evaluation.get("score") in (0, 1, -1)
        said = {"kind": "thumb" if thumb else evaluation["name"], "value": score if not thumb else 1 if score == 1 else -1}
        row["feedback"][repr(evaluation)] = _known({**said, "text": evaluation.get("explanation") or evaluation.get("label")})
    return {name: list(items.values()) for name, items in row.items() if items}


def _in_conversations(made: Iterable[tuple[Row, RecordedTrace]]) -> list[Row]:
    """Return rows by time, with the turns of each conversation. Evaluations of a conversation are at its last turn, once."""
    conversations: dict[str, list[Row]] = {}
    evaluations: dict[str, list[Mapping[str, Any]]] = {}
    rows = sorted(made, key=lambda pair: (pair[0]["time"], pair[0]["id"]))
    for row, trace in rows:
        if session := row.get("session"):
            conversations.setdefault(session, []).append(row)
            evaluations.setdefault(session, []).extend(own for step in trace.steps for own in step.of_session)
            row["turn"] = len(conversations[session])
    for session, own in evaluations.items():
        last = conversations[session][-1]
        for name, items in _judged(own).items():
            last[name] = [*last.get(name, ()), *items]
    return [row for row, _ in rows]


def _time(nanoseconds: int) -> str | None:
    try:
        moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).replace(microsecond=nanoseconds // 1000 % 1_000_000)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z") if nanoseconds else None


def _seconds(step: TraceStep) -> float | None:
    return (step.end - step.start) / 1e9 if 0 < step.start <= step.end else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _plain(value: Any, depth: int = 16) -> Any:
    """Return a value as JSON has it: what it has no form for, and what is nested too deeply, becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()} if depth else None
    if isinstance(value, list | tuple):
        return [_plain(item, depth - 1) for item in value] if depth else None
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value if isinstance(value, str | int) else None
