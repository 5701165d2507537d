"""Interpret a span: the step of an application that it records, with its question, answer and documents.

It reads the GenAI conventions of OpenTelemetry (open-telemetry/semantic-conventions-genai v0.1.0, and the names before it) and OpenInference
(Arize-ai/openinference, `spec/`). Exports of other tools are first turned into spans with these attributes.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

from workbench.llm.base import finish_of
from workbench.targets.base import TargetError, TargetHit
from workbench.targets.recorded.cells import structured
from workbench.targets.recorded.exports import value_at
from workbench.targets.recorded.payloads import answer_of, documents_of, question_of
from workbench.targets.recorded.phoenix import documents_of_span, gathered
from workbench.targets.recorded.traces.otlp import OtlpSpan

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
UNREADABLE_DOCUMENTS = "the documents of a span, which cannot be read"
# Kinds of OpenInference, Langfuse, LangSmith and MLflow, and operations of GenAI, in lower case.
_KINDS: Mapping[str, StepKind] = {
    **dict.fromkeys(("embedding", "embeddings"), "embedding"),
    **dict.fromkeys(("retriever", "retrieval"), "retrieval"),
    "reranker": "reranking",
    **dict.fromkeys(("llm", "chat", "text_completion", "generate_content", "generation", "chat_model"), "generation"),
    **dict.fromkeys(("tool", "execute_tool"), "tool"),
    "evaluator": "evaluation",
}
_REDACTED = "__REDACTED__"
_USERS, _MODELS = ("user", "human"), ("assistant", "ai", "model")
# Where a document that has no id or score can name them in its metadata.
_NAMES, _SCORES = ("source", "doc_uri", "file_path", "file_name", "path", "url"), ("score", "relevance_score", "similarity")
# Fields of a row by the attributes that have them. The newer name comes first.
_TEXTS = {
    "model": ("gen_ai.response.model", "llm.response.model_name", "llm.model_name", "gen_ai.request.model", "llm.request.model_name"),
    "session": ("session.id", "gen_ai.conversation.id", "metadata.session_id", "metadata.thread_id", "metadata.conversation_id"),
    "user": ("user.id", "enduser.id", "metadata.user_id"),
    "configuration": ("workbench.configuration", "metadata.configuration"),
}
_NUMBERS = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    "cost": ("llm.cost.total",),
}
_VERSIONS = {
    **{name: (name,) for name in ("release", "version")},
    "prompt": ("gen_ai.prompt.version", "llm.prompt_template.version"),
    "index": ("gen_ai.data_source.id",),
    "reranker": ("reranker.model_name",),
}
_VERSION = re.compile(
    r"(?P<name>\w+?)_(?:version|revision)|release|version|revision|revision_id|commit|corpus|index|embedder|prompt|environment"
)
_FINISHES = ("gen_ai.response.finish_reasons", "llm.finish_reason")


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step of an application. Times are in nanoseconds, 0 if unknown. `hits` are None if it records none, `facts` are fields of a row.

    `lists` says that an empty list of hits would not be recorded, and `hidden` that texts were redacted.
    """

    trace_id: str
    span_id: str
    parent: str
    kind: StepKind
    start: int
    end: int
    query: str | None
    answer: str | None
    hits: tuple[TargetHit, ...] | None
    error: str
    facts: Mapping[str, Any]
    versions: Mapping[str, str]
    evaluations: tuple[Mapping[str, Any], ...]
    lists: bool = False
    hidden: bool = False


def step_of(span: OtlpSpan, left_out: Counter[str]) -> TraceStep:
    """Interpret a span. Documents that cannot be read are counted."""
    attributes = _with_metadata(span.attributes)
    name = str(_first(attributes, "openinference.span.kind", "gen_ai.operation.name")).lower()
    kind = _KINDS.get(name, "other")
    hits = None
    try:
        hits = _hits(attributes) if kind in ("retrieval", "reranking") else None
    except (ValueError, RecursionError):
        left_out[UNREADABLE_DOCUMENTS] += 1
    failed = span.failed or bool(attributes.get("error.type"))
    return TraceStep(
        span.trace_id,
        span.span_id,
        span.parent,
        kind,
        span.start,
        span.end,
        query=None if kind in ("tool", "evaluation") else _query(attributes),
        answer=_answer(attributes) if kind in ("generation", "other") else None,
        hits=hits,
        error=_failure(span) if failed else "",
        facts=_facts(attributes),
        versions=_versions(attributes, span.resource or {}, kind),
        evaluations=tuple(_evaluations(span)),
        lists="openinference.span.kind" in attributes,
        hidden=any(value == _REDACTED for value in attributes.values()),
    )


def evaluation_of(attributes: Mapping[str, Any], names: Mapping[str, str] = EVALUATION_ATTRIBUTES) -> dict[str, Any]:
    """Return the evaluation in the attributes of an event, or of a span under other names."""
    made = {field: _number(attributes, name) if field == "score" else _text(attributes, name) for field, name in names.items()}
    return {field: value for field, value in made.items() if value is not None}


def _failure(span: OtlpSpan) -> str:
    kind, message = _text(span.attributes, "error.type") or "", span.message
    exceptions = [event.attributes for event in span.events if event.name == "exception"]
    kind = kind or next((text for each in exceptions if (text := _text(each, "exception.type"))), "")
    message = message or next((text for each in exceptions if (text := _text(each, "exception.message"))), "")
    return ": ".join(filter(None, (kind, message))) or "the span has an error"


def _query(attributes: Mapping[str, Any]) -> str | None:
    asked = [text for role, text in _messages(attributes, "input") if role in _USERS]
    texts = gathered(attributes, "embedding.embeddings")
    return (
        _text(attributes, "gen_ai.retrieval.query.text", "reranker.query")
        or (asked[-1] if asked else None)
        or (_text(texts[0], "embedding.text") if texts else None)
        or _shown(question_of(_payload(attributes, "input.value")))
    )


def _answer(attributes: Mapping[str, Any]) -> str | None:
    if messages := _messages(attributes, "output"):
        return next((text for role, text in messages if role in _MODELS and text), None)
    try:
        return _shown(answer_of(_payload(attributes, "output.value")))
    except TargetError:
        return None


def _messages(attributes: Mapping[str, Any], side: Literal["input", "output"]) -> list[tuple[str, str]]:
    """Return the roles and texts of messages. A message without a text, such as a call of a tool, has an empty one."""
    old = "gen_ai.prompt" if side == "input" else "gen_ai.completion"
    items = _payload(attributes, f"gen_ai.{side}.messages")
    if not isinstance(items, list):
        items = gathered(attributes, f"llm.{side}_messages") or value_at(attributes, f"llm.{side}_messages") or gathered(attributes, old)
    found = []
    for item in (item for item in items if isinstance(item, Mapping)) if isinstance(items, list) else ():
        role = value_at(item, "message.role") or item.get("role")
        found.append((str(role).lower(), _shown("".join(_texts_of(item))) or ""))
    return found


def _texts_of(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of a message, which are strings or parts. Reasoning and tool calls are none."""
    content = value_at(message, "message.content") or message.get("content")
    if isinstance(content, str):
        yield content
        return
    parts = message.get("parts") or gathered(message, "message.contents") or value_at(message, "message.contents") or content
    for part in (part for part in parts if isinstance(part, Mapping)) if isinstance(parts, list) else ():
        kind = value_at(part, "message_content.type") or part.get("type")
        text = value_at(part, "message_content.text") or part.get("content") or part.get("text")
        if kind in (None, "text") and isinstance(text, str):
            yield text


def _hits(attributes: Mapping[str, Any]) -> tuple[TargetHit, ...] | None:
    documents = _payload(attributes, "gen_ai.retrieval.documents")
    recorded = documents_of(documents_of_span({"attributes": attributes}) if documents is None else documents)
    try:
        output = documents_of(_payload(attributes, "output.value"))
    except ValueError:
        output = None
    if recorded is None:
        recorded = output
    elif output and len(output) == len(recorded):
        recorded = tuple(replace(hit, doc_id=hit.doc_id or other.doc_id) for hit, other in zip(recorded, output, strict=True))
    return None if recorded is None else tuple(map(_named, recorded))


def _named(hit: TargetHit) -> TargetHit:
    """Return a hit with the id and the score that only its metadata have."""
    metadata = hit.metadata
    doc_id = hit.doc_id or next((str(metadata[key]) for key in _NAMES if isinstance(metadata.get(key), str | int)), None)
    score = _number(metadata, *_SCORES) if hit.score is None else hit.score
    return replace(hit, doc_id=doc_id, score=score, text=_shown(hit.text))


def _facts(attributes: Mapping[str, Any]) -> dict[str, Any]:
    reasons = _payload(attributes, *_FINISHES)
    reasons = [reason for reason in (reasons if isinstance(reasons, list) else [reasons]) if isinstance(reason, str)]
    facts: dict[str, Any] = {name: _text(attributes, *names) for name, names in _TEXTS.items()}
    facts |= {name: _number(attributes, *names) for name, names in _NUMBERS.items()}
    return facts | {"truncated": any(finish_of(reason) == "length" for reason in reasons) if reasons else None}


def _versions(attributes: Mapping[str, Any], resource: Mapping[str, Any], kind: StepKind) -> dict[str, str]:
    versions = {"release": _text(resource, "service.version"), "environment": _text(resource, "deployment.environment.name")}
    metadata = attributes["metadata"]
    for key in metadata:
        if match := _VERSION.fullmatch(key):
            versions[match["name"] or key] = _text(metadata, key)
    versions |= {name: text for name, names in _VERSIONS.items() if (text := _text(attributes, *names))}
    if kind == "embedding":
        versions["embedder"] = _text(attributes, "embedding.model_name", *_TEXTS["model"])
    return {name: text for name, text in versions.items() if text}


def _evaluations(span: OtlpSpan) -> Iterator[dict[str, Any]]:
    yield from (evaluation_of(event.attributes) for event in span.events if event.name == EVALUATION)
    for item in ("evaluation", "annotation"):
        names = {field: f"{item}.{field}" for field in ("name", "score", "label", "explanation")} | {"judge": f"{item}.annotator_kind"}
        for prefix in ("", "trace."):
            yield from (evaluation_of(found, names) for found in gathered(span.attributes, f"{prefix}{item}s"))


def _with_metadata(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes whose `metadata` is an object, from JSON or from attributes such as `metadata.release`."""
    metadata = _payload(attributes, "metadata")
    flat = {key.removeprefix("metadata."): value for key, value in attributes.items() if key.startswith("metadata.")}
    return {**attributes, "metadata": metadata if isinstance(metadata, Mapping) else flat}


def _first(attributes: Mapping[str, Any], *names: str) -> Any:
    return next((value for name in names if (value := value_at(attributes, name)) is not None), None)


def _payload(attributes: Mapping[str, Any], *names: str) -> Any:
    """Return the value of an attribute, parsed if it is JSON. None if it was redacted."""
    value = _first(attributes, *names)
    try:
        return None if value == _REDACTED else structured(value, names[0])
    except ValueError:
        return value


def _text(attributes: Mapping[str, Any], *names: str) -> str | None:
    """Return the first value that is a text, or a number as one."""
    values: Sequence[Any] = [value_at(attributes, name) for name in names]
    texts = (str(value) for value in values if isinstance(value, str | int | float) and not isinstance(value, bool))
    return next((text for text in texts if _shown(text)), None)


def _number(attributes: Mapping[str, Any], *names: str) -> float | int | None:
    """Return the first value that is a finite number, also as a decimal text or true or false."""
    for value in (value_at(attributes, name) for name in names):
        try:
            number = float(value) if isinstance(value, str) else value
            if isinstance(number, int | float) and isfinite(number):
                return int(number) if isinstance(number, bool) else number
        except (ValueError, OverflowError):
            continue
    return None


def _shown(text: str | None) -> str | None:
    return None if text is None or not text.strip() or text.strip() == _REDACTED else text
