"""What is known of a question that a system was asked: the fields of a line of a log, and the columns of its table.

The names are those of Workbench's own form of recorded answers, so a log can also be evaluated as a recorded system. Traces of other tools become
the same rows.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import isfinite
from typing import Any, Literal

# `time` is UTC in ISO 8601, as `2026-11-27T08:00:00.250000Z`; `names` are texts by name; `object` is any JSON object; `rows` are objects with the fields `of`.
FieldKind = Literal["text", "number", "integer", "flag", "time", "names", "object", "rows"]


@dataclass(frozen=True, slots=True)
class LogField:
    """A field: its name, the kind of its value, and what it holds. A value that is unknown is null or left out."""

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
    LogField("judge", "text", "who evaluated it"),
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
    LogField("sources", "rows", "what the answer cites, as hits", HIT_FIELDS),
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
    LogField("user", "text", "the user, hashed if asked for"),
    LogField("session", "text", "the conversation, hashed if asked for"),
    LogField("turn", "integer", "the number of the question in its conversation, from 1"),
    LogField("feedback", "rows", "what the user said of the answer", FEEDBACK_FIELDS),
    LogField("evaluations", "rows", "scores that it was given elsewhere", EVALUATION_FIELDS),
    LogField("probability", "number", "the probability with which a question like this one is logged; null counts as 1"),
    LogField("trace_id", "text", "the id of its trace"),
    LogField("span_id", "text", "the id of its outermost span"),
)
NAMES = frozenset(field.name for field in FIELDS)
# What a line must have that is not feedback to an earlier one.
REQUIRED = ("id", "time", "query")


def row_fault(row: Mapping[str, Any]) -> str:
    """Return the first thing that is wrong with a row of a log, as a phrase, or an empty text. Fields that are not known are none of it."""
    for name in REQUIRED:
        if row.get(name) in (None, ""):
            return f"no {name}"
    fault = _fault(row, FIELDS)
    probability = row.get("probability")
    return fault or ("" if probability is None or 0 < probability <= 1 else f"the probability {probability}, which is not within 0 and 1")


def feedback_fault(row: Mapping[str, Any]) -> str:
    """Return what is wrong with a line of feedback, which has the `id` of its question and `feedback`, or an empty text."""
    return _fault(row, tuple(field for field in FIELDS if field.name in ("id", "feedback"))) or ("" if row.get("id") else "no id")


def _fault(row: Mapping[str, Any], fields: tuple[LogField, ...]) -> str:
    for field in fields:
        value = row.get(field.name)
        if value is None:
            continue
        if not _CHECKS[field.kind](value):
            return f"{_KINDS[field.kind]} expected in {field.name}"
        if field.kind == "rows" and (fault := next(filter(None, (_fault(item, field.of) for item in value)), "")):
            return f"{fault} of {field.name}"
    return ""


def is_time(value: object) -> bool:
    """Return whether a value is a time as logs have it: UTC in ISO 8601."""
    if not isinstance(value, str):
        return False
    try:
        offset = datetime.fromisoformat(value).utcoffset()
    except ValueError:
        return False
    return offset is not None and not offset


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


_CHECKS: Mapping[FieldKind, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63,
    "flag": lambda value: isinstance(value, bool),
    "time": is_time,
    "names": lambda value: isinstance(value, dict) and all(isinstance(item, str) for item in value.values()),
    "object": lambda value: isinstance(value, dict),
    "rows": lambda value: isinstance(value, list) and all(isinstance(item, dict) for item in value),
}
_KINDS: Mapping[FieldKind, str] = {
    "text": "a text",
    "number": "a number",
    "integer": "a whole number",
    "flag": "true or false",
    "time": "a time such as 2026-11-27T08:00:00Z",
    "names": "an object of texts",
    "object": "an object",
    "rows": "a list of objects",
}
