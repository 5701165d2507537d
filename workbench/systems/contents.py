"""Read foreign values: fields of mappings and objects, and chat messages with a content that is a list of parts."""

import dataclasses
import datetime
import math
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from workbench.llm.base import CallFailure, Reply, end_of, unfinished
from workbench.llm.replies.answers import UnreadableContentError, answered, content_text, has_reasoning
from workbench.systems.base import BrokenOffError, TargetError

# Hits. The id of a document precedes that of its chunk.
DOC_IDS = ("doc_id", "document_id", "docid", "docno", "ref_doc_id")
CHUNK_IDS = ("id", "_id", "id_", "node_id")
TEXTS = ("page_content", "text", "content", "chunk", "passage", "body", "document", "context")
SCORES = ("score", "similarity", "relevance_score")
STARTS, ENDS = ("start", "start_index", "start_char_idx"), ("end", "end_index", "end_char_idx")

# Lists of hits: the sources of an answer, and the hits in a result. Texts under the names of passages are never ids.
PASSAGES = ("contexts", "context", "retrieved_contexts")
SOURCES = ("sources", "source_documents", "source_nodes", *PASSAGES, "hits", "documents", "retrieved", "results")
HITS = (*SOURCES, "docs", "nodes", "matches", "chunks")
# In a recorded output `sources` are often only names.
RECORDED_HITS = (
    *("documents", "retrieved_documents", "source_documents", "retrieved_contexts", "retrieval_context", "hits", "chunks", "passages"),
    *("nodes", "source_nodes", "sources", "citations", "contexts", "context", "docs"),
)

# Answers, and why they ended.
ANSWERS = ("answer", "generated_answer", "response", "output", "result", "content", "text")
RECORDED_ANSWERS = (
    *("answer", "generated_answer", "output", "response", "result", "content", "parts", "text", "output_text", "completion"),
    *("generation", "generations", "message", "messages", "choices", "candidates"),
)
FINISHES = ("finish_reason", "stop_reason", "done_reason")
# Beside an answer, or in its place.
BESIDE = ("reasoning_content", "reasoning", "thinking", "tool_calls", "function_call", "refusal")

# Questions in recorded inputs.
QUESTIONS = ("question", "query", "user_input", "user_query", "input", "prompt", "text", "content", "messages")

# The paths of presets of services. They are part of the identity of stored replies, so a change asks everything again.
HIT_PATHS = {
    "id": ["$.doc_id", "$.document_id", "$.metadata.doc_id", "$.id", "$.metadata.id", "$"],
    "text": ["$.text", "$.content", "$.page_content", "$.chunk", "$.passage"],
    "score": ["$.score", "$.relevance", "$.relevance_score", "$.similarity"],
    "start": ["$.start", "$.metadata.start"],
    "end": ["$.end", "$.metadata.end"],
    "metadata": ["$.metadata", "$.meta"],
}


_MARKS = frozenset({"type", "text", "thought"})


def is_content(value: object) -> bool:
    """Return True if a value is a list of parts, of which at least one is more than a text."""
    if not isinstance(value, list) or not all(isinstance(part, str | Mapping) for part in value):
        return False
    return any(isinstance(part, Mapping) for part in value) and all(isinstance(part, str) or _MARKS & part.keys() for part in value)


def text_of_parts(parts: Sequence[Any]) -> str:
    """Return the text of parts, without reasoning and references. A part can be a message, as in the Responses API of OpenAI.

    Raises TargetError with the type of a part that is no text.
    """
    try:
        return content_text([inner for part in parts for inner in _parts_of(part)])
    except UnreadableContentError as error:
        raise TargetError(str(error)) from None


def _parts_of(part: Any) -> Sequence[Any]:
    if isinstance(part, str):
        return [part]
    content = part.get("content")
    return content if part.get("type") == "message" and isinstance(content, list) else [dict(part)]


def check_answer(text: str, finish: object, message: Mapping[str, Any]) -> bool | None:
    """Return True if the token limit cut off an answer, None if there is no reason why it ended. `message` has the fields beside the text.

    An empty text is an answer only if the reply is complete and has nothing in its place. Raises TargetError with the reason why a reply is no
    answer, and BrokenOffError if another try may have one.
    """
    blank, reasoned = not text.strip(), has_reasoning(message)
    end = "content_filter" if blank and message.get("refusal") else end_of(finish, message)
    if failure := unfinished(end):
        raise (BrokenOffError if failure.kind == "server" else TargetError)(failure.reason)
    if blank and (reasoned or end != "stop") and isinstance(outcome := answered(Reply("", end, reasoned=reasoned)), CallFailure):
        raise TargetError(outcome.reason)
    return None if finish is None else end == "length"


_SHOWN_NAMES = 8


def read(value: object, *names: str) -> Any:
    """Return the first key or attribute that is not None, or None."""
    for name in names:
        found = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
        if found is not None:
            return found
    return None


def has(value: object, name: str) -> bool:
    """Return True if a mapping has the key, or another value the attribute."""
    return name in value if isinstance(value, Mapping) else hasattr(value, name)


def described(value: object) -> str:
    """Describe a value by its type, with its keys or attributes, but not with its contents."""
    kind = type(value).__name__
    if value is None:
        return "None"
    if isinstance(value, Mapping):
        return f"{kind} with the keys {_listed(map(str, value))}" if value else f"empty {kind}"
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return (
            f"{kind} of {' and '.join(dict.fromkeys(type(part).__name__ for part in value[:_SHOWN_NAMES]))}" if value else f"empty {kind}"
        )
    if own := [name for name in attributes(value) if not name.startswith("_")]:
        return f"{kind} with the attributes {_listed(own)}"
    return kind


def _listed(names: Any) -> str:
    found = list(names)
    return ", ".join(found[:_SHOWN_NAMES]) + (" …" if len(found) > _SHOWN_NAMES else "")


def attributes(value: object) -> Mapping[str, Any]:
    """Return the fields of a mapping, a named tuple, a dataclass or another object."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return dict(value._asdict())
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    return dict(getattr(value, "__dict__", {}))


def number(value: object) -> float | None:
    """Return a finite number, also one of numpy, or None for anything else, such as a whole number that no float can express."""
    found = _item(value)
    return found if isinstance(found, int | float) and not isinstance(found, bool) and abs(found) <= sys.float_info.max else None


def score_of(hit: object) -> float | None:
    """Return the score of a hit, None if it has none that is a finite number. Raises TargetError for a time, a duration and bytes."""
    found = read(hit, *SCORES)
    if isinstance(_item(found), datetime.date | datetime.time | datetime.timedelta | bytes):
        raise TargetError(f"the score of a hit is {type(found).__name__}, not a number")
    return number(found)


def whole(value: object) -> int | None:
    """Return a whole number, or None for anything else."""
    found = _item(value)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def identifier(value: object) -> str | None:
    """Return an id as text: a text, a whole number or a UUID. None for anything else."""
    found = _item(value)
    if isinstance(found, int | uuid.UUID) and not isinstance(found, bool):
        return str(found)
    return str(found) if isinstance(found, str) and found else None


def plain(values: Mapping[Any, Any]) -> dict[str, Any]:
    """Convert values to JSON, with dates, paths and ids as text. Other values are left out."""
    found = {str(name): _plain(value) for name, value in values.items()}
    return {name: value for name, value in found.items() if value is not None}


def _plain(value: Any) -> Any:
    value = _item(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bool | int):
        return value
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return str(value) if isinstance(value, datetime.date | datetime.time | PurePath | uuid.UUID) else None


def _item(value: Any) -> Any:
    """Return the Python value of a scalar of numpy."""
    if type(value).__module__ != "numpy" or getattr(value, "ndim", None) != 0:
        return value
    item = value.item()
    # That of a time in nanoseconds is a number.
    return value.astype(f"{value.dtype.kind}8[us]").item() if value.dtype.kind in "mM" and isinstance(item, int) else item
