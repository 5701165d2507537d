"""Interpret a span: the step of an application that it records, with its question, answer and documents.

It reads the GenAI conventions of OpenTelemetry (open-telemetry/semantic-conventions-genai v0.1.0, and the names before it) and OpenInference
(Arize-ai/openinference, `spec/`). Exports of other tools are first turned into spans with these attributes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

from workbench.core.records import TargetHit
from workbench.llm.base import finish_of
from workbench.systems.recorded.exports import RecordedResponse, recorded_answer, value_at
from workbench.systems.recorded.payloads import documents_of, question_of, structured
from workbench.systems.recorded.traces.otlp import TraceEvent, TraceSpan

# The text that OpenInference writes in place of a hidden one.
REDACTED = "__REDACTED__"
# The longest path of a name that is read.
_DEPTH = 16


def nested(attributes: Mapping[str, Any], depth: int = _DEPTH) -> dict[str, Any]:
    """Return attributes such as `retrieval.documents.0.document.id` as objects and lists."""
    made, below = dict[str, Any](), dict[str, dict[str, Any]]()
    for key, value in attributes.items():
        head, _, rest = key.partition(".")
        if rest and depth:
            below.setdefault(head, {})[rest] = value
        else:
            made[key] = value
    for head, inner in below.items():
        fields, value = nested(inner, depth - 1), made.get(head)
        if all(map(str.isdecimal, fields)):
            made[head] = [fields[place] for place in sorted(fields, key=int)]
        else:
            made[head] = {**fields, **value} if isinstance(value, Mapping) else fields
    return made


def first_value(attributes: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first attribute that has one."""
    return next((value for name in names if (value := value_at(attributes, name)) is not None), None)


def payload(attributes: Mapping[str, Any], *names: str) -> Any:
    """Return the value of an attribute, parsed if it is JSON. None if it was redacted."""
    value = first_value(attributes, *names)
    try:
        value = None if value == REDACTED else structured(value, names[0])
    except ValueError:
        return value
    return [nested(item) if isinstance(item, Mapping) else item for item in value] if isinstance(value, list) else value


def objects_in(attributes: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list, which can be JSON in a text."""
    return mappings(payload(attributes, name))


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list, none of another value."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text_in(attributes: Mapping[str, Any], *names: str) -> str | None:
    """Return the first value that is a text, or a number as one."""
    values = (value_at(attributes, name) for name in names)
    texts = (str(value) for value in values if isinstance(value, str | int | float) and not isinstance(value, bool))
    return next(filter(shown, texts), None)


def number_in(attributes: Mapping[str, Any], *names: str) -> float | int | None:
    """Return the first value that is a finite number, also as a decimal text or true or false."""
    for value in (value_at(attributes, name) for name in names):
        try:
            number = float(value) if isinstance(value, str) else value
            if isinstance(number, int | float) and isfinite(number):
                return int(number) if isinstance(number, bool) else number
        except (ValueError, OverflowError):
            continue
    return None


def shown(text: str | None) -> str | None:
    """Return a text, or None for one that is blank or was redacted."""
    return None if text is None or not text.strip() or text.strip() == REDACTED else text


StepKind = Literal["embedding", "retrieval", "reranking", "generation", "tool", "evaluation", "other"]
EVALUATION = "gen_ai.evaluation.result"
# Attributes by the fields of an evaluation. The conventions have none for the judge.
EVALUATION_ATTRIBUTES = {
    "name": "gen_ai.evaluation.name",
    "score": "gen_ai.evaluation.score.value",
    "label": "gen_ai.evaluation.score.label",
    "explanation": "gen_ai.evaluation.explanation",
    "judge": "workbench.judge",
    "error": "error.type",
}
# Events that have the attributes of a model call, or one of its messages each.
_CALL_EVENT = "gen_ai.client.inference.operation.details"
_MESSAGE_EVENT = re.compile(r"gen_ai\.(?:(?P<role>system|user|assistant|tool)\.message|choice)")
# Kinds of OpenInference, Langfuse, LangSmith and MLflow, and operations of GenAI, in lower case.
_KINDS: Mapping[str, StepKind] = {
    **dict.fromkeys(("embedding", "embeddings"), "embedding"),
    **dict.fromkeys(("retriever", "retrieval"), "retrieval"),
    "reranker": "reranking",
    **dict.fromkeys(("llm", "chat", "text_completion", "generate_content", "generation", "chat_model"), "generation"),
    **dict.fromkeys(("tool", "execute_tool"), "tool"),
    "evaluator": "evaluation",
}
_KIND_ATTRIBUTES = ("openinference.span.kind", "gen_ai.operation.name")
_DOCUMENTS = ("gen_ai.retrieval.documents", "reranker.output_documents", "retrieval.documents")
# Fields of a row by the attributes that have them. The newer name comes first.
_TEXTS = {
    "model": ("gen_ai.response.model", "llm.response.model_name", "llm.model_name", "gen_ai.request.model", "llm.request.model_name"),
    "session": ("session.id", "gen_ai.conversation.id", "metadata.session_id", "metadata.thread_id", "metadata.conversation_id"),
    "user": ("user.id", "enduser.id", "metadata.user_id"),
    "configuration": ("workbench.configuration", "metadata.configuration"),
    "query_id": ("query_id", "metadata.query_id"),
}
_NUMBERS = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    "cost": ("llm.cost.total",),
}
_VERSIONS = {
    "release": ("release", "metadata.release", "service.version"),
    "version": ("version", "metadata.version"),
    "environment": ("metadata.environment", "deployment.environment.name"),
    "prompt": ("gen_ai.prompt.version", "llm.prompt_template.version"),
    "index": ("gen_ai.data_source.id",),
    "reranker": ("reranker.model_name",),
}
_VERSION = re.compile(r"(?P<name>\w+?)_(?:version|revision)|revision|revision_id|commit|corpus|index|embedder|prompt")
_FINISHES = ("gen_ai.response.finish_reasons", "llm.finish_reason")


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step of an application. Times are in nanoseconds, 0 if unknown. `hits` are None if it records none, `facts` are fields of a row.

    `fault` says why its documents cannot be read, `lists` that an empty list of hits would not be recorded, `captured` that it records an input or
    an output, and `hidden` that texts were redacted. `of_session` are evaluations of the whole conversation.
    """

    trace_id: str
    span_id: str
    parent: str
    kind: StepKind
    start: int
    end: int
    query: str | None
    reply: RecordedResponse
    hits: tuple[TargetHit, ...] | None
    error: str
    facts: Mapping[str, Any]
    versions: Mapping[str, str]
    evaluations: tuple[Mapping[str, Any], ...]
    of_session: tuple[Mapping[str, Any], ...]
    fault: str
    lists: bool
    captured: bool
    hidden: bool


def step_of(span: TraceSpan) -> TraceStep:
    """Interpret a span. Raises ValueError or RecursionError for attributes that no tool writes."""
    flat = {**span.attributes, **captured_attributes(span.events)}
    attributes = nested(flat)
    attributes["metadata"] = _metadata(attributes)
    for name in ("input", "output"):
        # A text is an answer in JSON, not an object with an answer.
        read = text_in if value_at(attributes, f"{name}.mime_type") == "text/plain" else payload
        attributes[f"{name}.value"] = read(attributes, f"{name}.value")
    kind = _KINDS.get(str(first_value(attributes, *_KIND_ATTRIBUTES)).lower(), "other")
    reply, hits, fault = RecordedResponse(""), None, ""
    try:
        hits = _hits(attributes, kind)
    except (ValueError, RecursionError) as error:
        fault = str(error)
    if kind in ("generation", "other"):
        reply = recorded_answer(_messages(attributes, "output") or attributes["output.value"])
    failed = span.failed or bool(flat.get("error.type"))
    return TraceStep(
        span.trace_id,
        span.span_id,
        span.parent,
        kind,
        span.start,
        span.end,
        query=None if kind in ("tool", "evaluation") else _query(attributes),
        reply=reply,
        hits=hits,
        error=_failure(span) if failed else "",
        facts=_facts(attributes, reply),
        versions=_versions(attributes, kind),
        evaluations=(
            *(evaluation_of(event.attributes) for event in span.events if event.name == EVALUATION),
            *_annotations(attributes, ""),
            *_annotations(attributes, "trace."),
        ),
        of_session=tuple(_annotations(attributes, "session.")),
        fault=fault,
        lists="openinference.span.kind" in flat,
        captured=attributes["input.value"] is not None or attributes["output.value"] is not None,
        hidden=REDACTED in flat.values(),
    )


def records_call(event: TraceEvent) -> bool:
    """Return True if an event has the attributes or a message of a model call."""
    return event.name == _CALL_EVENT or _MESSAGE_EVENT.fullmatch(event.name) is not None


def captured_attributes(events: Iterable[TraceEvent]) -> dict[str, Any]:
    """Return the attributes of a model call, among them its messages, that events record in place of its span."""
    attributes, messages = dict[str, Any](), dict[str, list[Any]]()
    for event in events:
        if event.name == _CALL_EVENT:
            attributes |= event.attributes
        elif found := _MESSAGE_EVENT.fullmatch(event.name):
            message = event.attributes.get("message", event.attributes)
            side, role = ("input", found["role"]) if found["role"] else ("output", "assistant")
            messages.setdefault(f"gen_ai.{side}.messages", []).append({"role": role, **message} if isinstance(message, dict) else message)
    return attributes | messages


def evaluation_of(attributes: Mapping[str, Any], names: Mapping[str, str] = EVALUATION_ATTRIBUTES) -> dict[str, Any]:
    """Return the evaluation in the attributes of an event, or of a span under other names."""
    made = {field: number_in(attributes, name) if field == "score" else text_in(attributes, name) for field, name in names.items()}
    return {field: value for field, value in made.items() if value is not None}


def _metadata(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata, among them tags such as `prompt_version:3`."""
    metadata, tags = payload(attributes, "metadata"), payload(attributes, "tag.tags")
    named = [tag.partition(":") for tag in tags if isinstance(tag, str) and ":" in tag] if isinstance(tags, list) else []
    return {name: value for name, _, value in named} | (dict(metadata) if isinstance(metadata, Mapping) else {})


def _failure(span: TraceSpan) -> str:
    exceptions = [event.attributes for event in span.events if event.name == "exception"][:1]
    fields = {**span.attributes, **dict(*exceptions)}
    kind, message = text_in(fields, "error.type", "exception.type"), span.message or text_in(fields, "exception.message")
    return ": ".join(filter(None, (kind, message))) or "the span has an error"


def _query(attributes: Mapping[str, Any]) -> str | None:
    found = (
        text_in(attributes, "gen_ai.retrieval.query.text", "reranker.query"),
        question_of(_messages(attributes, "input")),
        *(text_in(text, "embedding.text") for text in objects_in(attributes, "embedding.embeddings")[:1]),
        question_of(attributes["input.value"]),
    )
    return next(filter(shown, found), None)


def _messages(attributes: Mapping[str, Any], side: Literal["input", "output"]) -> list[Mapping[str, Any]]:
    """Return messages in the form of chat models, from GenAI, OpenInference or the names before them."""
    names = (f"gen_ai.{side}.messages", f"llm.{side}_messages", "gen_ai.prompt" if side == "input" else "gen_ai.completion")
    items = next(filter(None, (objects_in(attributes, name) for name in names)), [])
    return [_message(_inside(item, "message")) for item in items]


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    parts = objects_in(message, "parts") or [_inside(part, "message_content") for part in objects_in(message, "contents")]
    texts = [{**part, "text": part["content"]} if part.get("type") == "text" and "content" in part else part for part in parts]
    content = texts or message.get("content")
    return {**message, "content": None if content == REDACTED else content}


def _inside(item: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    return inner if isinstance(inner := item.get(key), Mapping) else item


def _hits(attributes: Mapping[str, Any], kind: StepKind) -> tuple[TargetHit, ...] | None:
    """Return the documents of a retriever or a reranker, or those in the output of another step. Their ids can be in the output alone."""
    output = attributes["output.value"]
    if kind not in ("retrieval", "reranking"):
        return documents_of(output) if kind == "other" and isinstance(output, Mapping) else None
    recorded = documents_of(payload(attributes, *_DOCUMENTS))
    if recorded is None:
        recorded = documents_of(output)
    elif any(hit.doc_id is None for hit in recorded):
        try:
            others = documents_of(output) or ()
        except ValueError:
            others = ()
        if len(others) == len(recorded):
            recorded = tuple(replace(hit, doc_id=hit.doc_id or other.doc_id) for hit, other in zip(recorded, others, strict=True))
    return recorded and tuple(replace(hit, text=None) if hit.text == REDACTED else hit for hit in recorded)


def _facts(attributes: Mapping[str, Any], reply: RecordedResponse) -> dict[str, Any]:
    reasons = payload(attributes, *_FINISHES)
    reasons = [reason for reason in (reasons if isinstance(reasons, list) else [reasons]) if isinstance(reason, str)]
    truncated = any(finish_of(reason) == "length" for reason in reasons) if reasons else reply.answer and reply.answer.truncated
    facts: dict[str, Any] = {name: text_in(attributes, *names) for name, names in _TEXTS.items()}
    facts |= {name: number_in(attributes, *names) for name, names in _NUMBERS.items()}
    inputs = attributes["input.value"]
    query_id = facts["query_id"] or (text_in(inputs, "query_id") if isinstance(inputs, Mapping) else None)
    return facts | {"truncated": truncated, "query_id": query_id}


def _versions(attributes: Mapping[str, Any], kind: StepKind) -> dict[str, str]:
    metadata, versions = attributes["metadata"], dict[str, str | None]()
    for key in metadata:
        if found := _VERSION.fullmatch(key):
            versions[found["name"] or key] = text_in(metadata, key)
    versions |= {name: text for name, names in _VERSIONS.items() if (text := text_in(attributes, *names))}
    if kind == "embedding":
        versions["embedder"] = text_in(attributes, "embedding.model_name", *_TEXTS["model"])
    return {name: text for name, text in versions.items() if text}


def _annotations(attributes: Mapping[str, Any], prefix: str) -> Iterator[dict[str, Any]]:
    for kind in ("evaluation", "annotation"):
        names = {field: f"{kind}.{field}" for field in ("name", "score", "label", "explanation")} | {"judge": f"{kind}.annotator_kind"}
        yield from (evaluation_of(item, names) for item in objects_in(attributes, f"{prefix}{kind}s"))
