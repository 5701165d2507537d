"""The fields of a line of a log, which are also the columns of its table: a question with its hits, answer, times and feedback.

The names are those of Workbench's own form of recorded answers. Traces of other tools become the same rows.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from workbench.measures.metrics.coverage import Bools

# `time` is UTC in ISO 8601, as `2026-11-27T08:00:00.250000Z`; `names` are texts by name; `object` is any JSON object; `rows` are objects with the fields `of`.
FieldKind = Literal["text", "number", "integer", "probability", "flag", "time", "names", "object", "rows"]


@dataclass(frozen=True, slots=True)
class LogField:
    """A field: its name, the kind of its value, and its meaning. An unknown value is null or left out."""

    name: str
    kind: FieldKind
    about: str
    of: "tuple[LogField, ...]" = ()


HIT_FIELDS = (
    LogField("doc_id", "text", "the id of the document or chunk"),
    LogField("text", "text", "its text"),
    LogField("score", "number", "the score of the retriever or reranker"),
    LogField("start", "integer", "its first character in the document"),
    LogField("end", "integer", "the character after its last"),
    LogField("hop", "integer", "the retrieval that found it, from 0; null counts as 0"),
    LogField("metadata", "object", "its metadata"),
)
HOP_FIELDS = (
    LogField("query", "text", "the text that was searched"),
    LogField("seconds", "number", "the time of the search"),
)
FEEDBACK_FIELDS = (
    LogField("kind", "text", "`thumb` (1 or -1), `edit` (the corrected answer), `follow_up` (the next question), or a name of your own"),
    LogField("value", "number", "a number, better if higher"),
    LogField("text", "text", "a text"),
    LogField("time", "time", "when it was given"),
)
EVALUATION_FIELDS = (
    LogField("name", "text", "the metric"),
    LogField("score", "number", "the score"),
    LogField("label", "text", "the score in a word"),
    LogField("explanation", "text", "why"),
    LogField("judge", "text", "the person or model that evaluated it"),
    LogField("error", "text", "why there is no score"),
)
FIELDS = (
    LogField("id", "text", "the id of the question; feedback that comes later names it"),
    LogField("time", "time", "when it was asked"),
    LogField("query", "text", "the question"),
    LogField("rewritten", "text", "the question as it was searched, if it was rewritten"),
    LogField(
        "hits", "rows", "the hits, best first, of several retrievals one after the other; an empty list if nothing was found", HIT_FIELDS
    ),
    LogField("hops", "rows", "the retrievals, in order, if there were several or their times are known", HOP_FIELDS),
    LogField("answer", "text", "the answer"),
    LogField("sources", "rows", "the sources that the answer cites, as hits", HIT_FIELDS),
    LogField("refused", "flag", "whether the system says that it refused"),
    LogField("confidence", "number", "the confidence that the system reports"),
    LogField("truncated", "flag", "whether the answer was cut at a token limit"),
    LogField("error", "text", "why there is no answer"),
    LogField("model", "text", "the model that answered"),
    LogField("input_tokens", "integer", "the tokens of prompts"),
    LogField("output_tokens", "integer", "the tokens of replies"),
    LogField("cost", "number", "the cost, in one currency"),
    LogField("embedding_seconds", "number", "the time of embedding the question"),
    LogField("retrieval_seconds", "number", "the time of all searches"),
    LogField("reranking_seconds", "number", "the time of reranking"),
    LogField("generation_seconds", "number", "the time of the model"),
    LogField("seconds", "number", "the time of the whole request"),
    LogField("configuration", "text", "the name of the configuration"),
    LogField("versions", "names", "versions by name, such as `index`, `embedder`, `prompt`, `release`"),
    LogField("user", "text", "the user, hashed if the log has a salt"),
    LogField("session", "text", "the conversation, hashed if the log has a salt"),
    LogField("turn", "integer", "the number of the question in its conversation, from 1"),
    LogField("feedback", "rows", "the feedback of the user", FEEDBACK_FIELDS),
    LogField("evaluations", "rows", "scores from elsewhere", EVALUATION_FIELDS),
    LogField("probability", "probability", "the probability with which a question like this one is logged; null counts as 1"),
    LogField("trace_id", "text", "the id of its trace"),
    LogField("span_id", "text", "the id of its outermost span"),
)
NAMES = frozenset(field.name for field in FIELDS)
# The required fields of a question, and of feedback to an earlier one.
REQUIRED, FEEDBACK = ("id", "time", "query"), ("id", "feedback")
# A longer line is not written, and not read.
MAX_LINE_BYTES = 8_000_000


def _json_text(schema: CoreSchema) -> CoreSchema:
    return core_schema.no_info_after_validator_function(lambda value: orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode(), schema)


# A phrase for the values of a kind, and their check. Values of `names` and `object` become JSON text with sorted keys: they can have any keys.
_TEXT = core_schema.str_schema(strict=True)
_KINDS: Mapping[FieldKind, tuple[str, CoreSchema]] = {
    "text": ("a text", _TEXT),
    "number": ("a number", core_schema.float_schema(strict=True, allow_inf_nan=False)),
    "integer": ("a whole number", core_schema.int_schema(strict=True, ge=-(2**63), lt=2**63)),
    "probability": ("a number above 0, at most 1,", core_schema.float_schema(strict=True, gt=0, le=1)),
    "flag": ("true or false", core_schema.bool_schema(strict=True)),
    "time": ("a time such as 2026-11-27T08:00:00Z", core_schema.datetime_schema(strict=True, tz_constraint=0)),
    "names": ("an object of texts", _json_text(core_schema.dict_schema(_TEXT, _TEXT, strict=True))),
    "object": ("an object", _json_text(core_schema.dict_schema(_TEXT, strict=True))),
}


def _row_schema(fields: Sequence[LogField]) -> CoreSchema:
    schemas = {field.name: core_schema.list_schema(_row_schema(field.of)) if field.of else _KINDS[field.kind][1] for field in fields}
    optional = {name: core_schema.typed_dict_field(core_schema.nullable_schema(schema), required=False) for name, schema in schemas.items()}
    return core_schema.typed_dict_schema(optional, extra_behavior="allow")


# Checks rows and lines. Returns those of the table: times are datetimes.
ROWS = SchemaValidator(_row_schema(FIELDS))


def row_fault(row: Mapping[str, Any], required: Sequence[str] = REQUIRED) -> str:
    """Return the first fault of a row of a log as a phrase, or an empty text. Unknown fields are no fault."""
    try:
        return missing_field(ROWS.validate_json(json.dumps(row)), required)
    except ValidationError as error:
        return fault(error)
    except (TypeError, ValueError, RecursionError):
        return "a value that JSON does not have"


def missing_field(row: Mapping[str, Any], required: Sequence[str] = REQUIRED) -> str:
    """Return a phrase with the first required field that a row lacks, or an empty text."""
    return next((f"no {name}" for name in required if not row.get(name)), "")


def fault(error: ValidationError) -> str:
    """Return the first fault of a row as a phrase. It repeats no value, which can be secret or long."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "json_invalid":
        return "line with deep nesting" if "recursion limit" in first["msg"] else "line that is not JSON"
    names = [part for part in first["loc"] if isinstance(part, str)]
    field = next((field for field in FIELDS if field.name in names[:1]), None)
    if field is None:  # also an error of another schema
        return "line that is not an object"
    inner = next((part for part in field.of if part.name in names[1:2]), None)
    return expected(field, *([inner] if inner else []))


def expected(field: LogField, inner: LogField | None = None) -> str:
    """Say which values a field, or a field of its rows, has."""
    return f"{values_of(inner or field)} expected in {f'{inner.name} of ' if inner else ''}{field.name}"


def values_of(field: LogField) -> str:
    """Return a phrase for the values of a field."""
    return "a list of objects" if field.of else _KINDS[field.kind][0]


_COLUMN_TYPES: Mapping[FieldKind, pa.DataType] = {
    "text": pa.string(),
    "number": pa.float64(),
    "integer": pa.int64(),
    "probability": pa.float64(),
    "flag": pa.bool_(),
    "time": pa.timestamp("us", "UTC"),
    "names": pa.string(),
    "object": pa.string(),
}
Row = Mapping[str, Any]


# Columns that follow from SOURCES of a row, so that a pass reads no text of hits and answers. `documents` are the ids of the hits, and a blank answer has no letters.
SOURCES = ("hits", "hops", "answer")
DERIVED: Mapping[str, Callable[[Row], Any]] = {
    "hit_count": lambda row: None if row.get("hits") is None else len(row["hits"]),
    "first_score": lambda row: row["hits"][0].get("score") if row.get("hits") else None,
    "retrievals": lambda row: len(row.get("hops") or ()) or len({hit.get("hop") or 0 for hit in row.get("hits") or ()}) or 1,
    "documents": lambda row: None if row.get("hits") is None else [hit.get("doc_id") for hit in row["hits"]],
    "context_letters": lambda row: None if row.get("hits") is None else sum(len(hit.get("text") or "") for hit in row["hits"]),
    "answer_letters": lambda row: len(answer) if (answer := row.get("answer") or "").strip() else 0,
}


def _field(field: LogField) -> pa.Field:
    return pa.field(field.name, pa.list_(pa.field("element", pa.struct(map(_field, field.of)))) if field.of else _COLUMN_TYPES[field.kind])


_DERIVED_KINDS = {"first_score": pa.float64(), "documents": pa.list_(pa.field("element", pa.string()))}
SCHEMA = pa.schema([*map(_field, FIELDS), *(pa.field(name, _DERIVED_KINDS.get(name, pa.int64())) for name in DERIVED)])


def record_batch(rows: Sequence[Row], columns: Sequence[str]) -> pa.RecordBatch:
    """Convert rows that `ROWS` returned to columns of the table."""
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    values = ([*map(DERIVED.get(name, lambda row, name=name: row.get(name)), rows)] for name in columns)
    return pa.RecordBatch.from_arrays([pa.array(column, kind) for column, kind in zip(values, schema.types, strict=True)], schema=schema)


def logged_row(row: Row, fields: Sequence[LogField] = FIELDS) -> dict[str, Any]:
    """Convert a row of the table to one of a log, without unknown values."""
    return {field.name: _logged(row[field.name], field) for field in fields if row.get(field.name) is not None}


def _logged(value: Any, field: LogField) -> Any:
    if field.kind == "time":
        return f"{value.isoformat().removesuffix('+00:00')}Z"
    if field.kind == "rows":
        return [logged_row(item, field.of) for item in value]
    return orjson.loads(value) if field.kind in ("names", "object") else value


_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def faulty_rows(batch: pa.RecordBatch) -> Iterator[tuple[str, Bools]]:
    """Yield what is wrong, as a phrase, and which rows (n, boolean) it concerns. Raises ValueError for arrays or texts that are not valid."""
    batch.validate(full=True)
    for field in FIELDS:
        if field.name in batch.schema.names:
            yield from _faults(batch.column(field.name), (field,))
    for name in DERIVED:
        if name in batch.schema.names and name != "documents":
            column = batch.column(name)
            right = pc.is_finite(column) if pa.types.is_floating(column.type) else pc.greater_equal(column, 0)
            yield f"another number expected in {name}", _wrong(column, right)
    is_question = np.asarray(batch.column("query").is_valid())
    for names, rows in ((REQUIRED, is_question), (FEEDBACK, ~is_question)):
        for name in (name for name in names if name in batch.schema.names):
            yield f"no {name}", _empty(batch.column(name)) & rows


def _faults(column: Any, path: Sequence[LogField]) -> Iterator[tuple[str, Bools]]:
    field, phrase = path[-1], expected(*path)
    if not field.of:
        yield phrase, _wrong(column, _right(column, field))
        return
    items, parents = column.flatten(), np.asarray(pc.list_parent_indices(column))
    yield phrase, _any(np.asarray(items.is_null()), parents, len(column))
    for part in field.of:
        for inner, rows in _faults(items.field(part.name), (*path, part)):
            yield inner, _any(rows, parents, len(column))


def _right(column: Any, field: LogField) -> Any:
    if field.kind == "number":
        return pc.is_finite(column)
    if field.kind == "probability":
        return pc.and_(pc.greater(column, 0.0), pc.less_equal(column, 1.0))
    if field.kind == "time":
        return pc.and_(pc.greater_equal(column, pa.scalar(_FIRST, column.type)), pc.less_equal(column, pa.scalar(_LAST, column.type)))
    if field.kind in ("names", "object"):
        wrong = [text for text in pc.unique(column).to_pylist() if text is not None and not _is_object(text, field.kind == "names")]
        return pc.invert(pc.is_in(column, pa.array(wrong, column.type))) if wrong else pa.array(np.ones(len(column), dtype=bool))
    return pa.array(np.ones(len(column), dtype=bool))


def _is_object(text: str, of_texts: bool) -> bool:
    try:
        value = orjson.loads(text)
    except ValueError:
        return False
    return isinstance(value, dict) and (not of_texts or all(isinstance(item, str) for item in value.values()))


def _wrong(column: Any, right: Any) -> Bools:
    return np.asarray(column.is_valid(), dtype=np.bool_) & ~np.asarray(right.fill_null(True), dtype=np.bool_)


def _any(wrong: Bools, parents: Any, length: int) -> Bools:
    marked = np.zeros(length, dtype=bool)
    marked[parents[wrong]] = True
    return marked


def _empty(column: Any) -> Bools:
    empty = np.asarray(column.is_null(), dtype=np.bool_)
    if pa.types.is_timestamp(column.type):
        return empty
    lengths = pc.list_value_length(column) if pa.types.is_list(column.type) else pc.binary_length(column)
    return empty | np.asarray(pc.equal(lengths.fill_null(0), 0), dtype=np.bool_)
