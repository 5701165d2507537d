"""The fields of a line of a log, which are also the columns of its table: a question with its hits, answer, times and feedback.

The names are those of Workbench's own form of recorded answers. Traces of other tools become the same rows.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson
from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

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
