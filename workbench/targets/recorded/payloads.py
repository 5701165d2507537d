"""Find the question, the answer and the documents in the inputs and outputs that other tools record.

Applications name them as they like, so the usual names are tried in order: those of LangChain, LlamaIndex, OpenInference and chat models.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.datasets.lines import json_kind
from workbench.targets.base import TargetHit
from workbench.targets.recorded.cells import structured

_QUESTIONS = ("question", "query", "user_input", "user_query", "input", "prompt", "text", "content", "messages")
_ANSWERS = (
    "answer",
    "generated_answer",
    "output",
    "response",
    "result",
    "text",
    "content",
    "output_text",
    "completion",
    "generation",
    "generations",
    "message",
    "messages",
    "choices",
)
_DOCUMENTS = (
    "documents",
    "retrieved_documents",
    "source_documents",
    "retrieved_contexts",
    "retrieval_context",
    "hits",
    "chunks",
    "passages",
    "nodes",
    "source_nodes",
    "sources",
    "citations",
    "contexts",
    "context",
    "docs",
)
# Where such values have documents inside.
_AROUND = ("output", "outputs", "response", "result")
# The id of a document precedes that of its chunk.
_IDS, _CHUNK_IDS = ("doc_id", "document.id", "document_id", "docid"), ("id", "id_", "node_id")
_TEXTS = ("text", "document.content", "page_content", "content", "passage", "chunk", "context")
_SCORES = ("score", "document.score", "relevance_score", "similarity")
_METADATA = ("metadata", "document.metadata")
_USERS, _MODELS = ("user", "human"), ("assistant", "ai", "model")
# Names that an application gives its one input hide the question no deeper than this.
_DEPTH = 8


def question_of(value: Any) -> str | None:
    """Return the question in a recorded input: a text, the usual key, the last message of a person, or the only text."""
    return _text_in(value, _QUESTIONS, _USERS, True, _DEPTH)


def answer_of(value: Any) -> str | None:
    """Return the answer in a recorded output: a text, the usual key, or the last message of a model."""
    return _text_in(value, _ANSWERS, _MODELS, True, _DEPTH)


def documents_of(value: Any) -> tuple[TargetHit, ...] | None:
    """Return the documents in a recorded value, or None if it has none. Raises ValueError for a list with anything else."""
    value = structured(value, "its documents")
    if isinstance(value, Mapping):
        return _documents_inside(value)
    if isinstance(value, str):
        return (TargetHit(text=value),) if value.strip() else ()
    if value is None:
        return None
    if not isinstance(value, list | tuple):
        raise ValueError(f"has {json_kind(value)} in place of a list of documents")
    return tuple(_hit(item, place) for place, item in enumerate(value, 1) if item is not None)


def _documents_inside(value: Mapping[str, Any]) -> tuple[TargetHit, ...] | None:
    for key in _DOCUMENTS:
        if isinstance(inner := structured(value.get(key), key), list) or (key == "context" and isinstance(inner, str)):
            return documents_of(inner)
    around = (inner for key in _AROUND if isinstance(inner := structured(value.get(key), key), Mapping))
    return next((found for inner in around if (found := _documents_inside(inner)) is not None), None)


def _text_in(value: Any, keys: Sequence[str], roles: Sequence[str], alone: bool, depth: int) -> str | None:
    """Return the text in a value: `alone` says that a mapping's only text counts whatever its key."""
    if isinstance(value, str):
        inner = _parsed(value)
        found = _text_in(inner, keys, roles, False, depth - 1) if isinstance(inner, Mapping) and depth else None
        return found or value
    if depth == 0:
        return None
    if isinstance(value, list):
        return _message(value, keys, roles, depth)
    if not isinstance(value, Mapping):
        return None
    value = _unwrapped(value)
    for key in keys:
        if text := _text_in(value.get(key), keys, roles, alone, depth - 1):
            return text
    texts = [item for item in value.values() if isinstance(item, str)]
    return texts[0] if alone and len(texts) == 1 else None


def _message(items: list[Any], keys: Sequence[str], roles: Sequence[str], depth: int) -> str | None:
    """Return the text of the last message with one of these roles, or of the parts of a message."""
    if items and isinstance(items[-1], list):
        return _message(items[-1], keys, roles, depth - 1) if depth else None
    messages = [_unwrapped(item) for item in items if isinstance(item, Mapping)]
    spoken = [item for item in messages if str(item.get("role") or item.get("type")).lower() in roles]
    if spoken:
        return _text_in(spoken[-1].get("content"), keys, roles, True, depth - 1)
    parts = [item if isinstance(item, str) else item.get("text") for item in items if isinstance(item, str | Mapping)]
    joined = "".join(part for part in parts if isinstance(part, str))
    if joined:
        return joined
    # The choices of a chat model.
    return _text_in(messages[0].get("message"), keys, roles, True, depth - 1) if messages else None


def _parsed(text: str) -> Any:
    """Parse a text that is a JSON object, or return None. An answer may begin with a brace too."""
    try:
        return json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return None


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an object that LangChain serialized, or the value itself."""
    inner = value.get("kwargs") if value.get("lc") and value.get("type") == "constructor" else None
    return inner if isinstance(inner, Mapping) else value


def _hit(item: Any, place: int) -> TargetHit:
    if isinstance(item, TargetHit):
        return item
    if isinstance(item, str):
        return TargetHit(text=item)
    if not isinstance(item, Mapping):
        raise ValueError(f"has {json_kind(item)} as document {place}; a document is a text or an object with a text or an id")
    item = _unwrapped(item)
    around = item
    # LlamaIndex has the document in `node` and its score beside it, OpenInference both in `document`.
    for key in ("node", "document"):
        if isinstance(inner := item.get(key), Mapping):
            item = inner
    metadata = _first((item,), _METADATA, Mapping) or {}
    doc_id, text, score = _id((item, metadata)), _first((item,), _TEXTS, str), _first((item, around), _SCORES, int | float)
    if doc_id is None and text is None and not metadata:
        raise ValueError(f"has the keys {', '.join(map(repr, item))} in document {place}, and none is its text or its id")
    finite = score if score is not None and not isinstance(score, bool) and math.isfinite(score) else None
    return TargetHit(doc_id=doc_id, text=text, score=None if finite is None else float(finite), metadata=metadata)


def _id(places: Sequence[Mapping[str, Any]]) -> str | None:
    found = (place.get(key) for keys in (_IDS, _CHUNK_IDS) for place in places for key in keys)
    return next((str(value) for value in found if isinstance(value, str | int) and not isinstance(value, bool) and value != ""), None)


def _first(places: Iterable[Mapping[str, Any]], keys: Sequence[str], kind: Any) -> Any:
    return next((value for place in places for key in keys if isinstance(value := place.get(key), kind)), None)
