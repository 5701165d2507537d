"""Find the question, the answer and the documents in the inputs and outputs that other tools record.

Applications name them as they like, so the usual names are tried in order: those of LangChain, LlamaIndex, OpenInference and chat models.
"""

import ast
import io
import json
import re
import tokenize
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from workbench.core.records import TargetHit
from workbench.data.lines import json_kind, parse_json
from workbench.systems.base import TargetError
from workbench.systems.contents import (
    CHUNK_IDS,
    DOC_IDS,
    QUESTIONS,
    RECORDED_ANSWERS,
    RECORDED_HITS,
    SCORES,
    TEXTS,
    is_content,
    number,
    text_of_parts,
)

# Where such values have documents inside.
_AROUND = ("output", "outputs", "response", "result")
_USERS, _MODELS = ("user", "human"), ("assistant", "ai", "model")
# Words in the key of a text that is no answer, although it can be the only text of an output, and the last words of such keys.
_NO_ANSWER = re.compile(r"think\w*|thoughts?|reason\w*|rationale|analysis|scratchpad|cot|errors?|exception|traceback|detail|status|tool")
_NO_ANSWER_LAST = re.compile(
    r"state|role|type|object|model|question|query|input|prompt|context|time\w*|date|version|ids?|name|msg|code|language|lang|url|user"
)
_ANSWER_WORDS = frozenset({"answer", "response", "output", "result", "final"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# Names that an application gives its one input hide the question no deeper than this.
_DEPTH = 8


@dataclass(frozen=True)
class _Wanted:
    """The keys of a text, and the roles of its messages. `parts` reads a message of several parts, `alone` the only text of a mapping."""

    keys: Sequence[str]
    roles: Sequence[str]
    alone: Callable[[Mapping[str, Any]], str | None]
    parts: Callable[[list[Any]], str | None]


def question_of(value: Any) -> str | None:
    """Return the question in a recorded input: a text, the usual key, the last message of a person, or the only text."""
    return _text_in(value, _QUESTION, True, _DEPTH)


def answer_of(value: Any) -> str | None:
    """Return the answer in a recorded output: a text, the usual key, the last message of a model, or the only text that is nothing else.

    Reasoning is no answer. Raises TargetError for a message with a part that is no text.
    """
    text = _text_in(value, _ANSWER, True, _DEPTH)
    empty = isinstance(value, Mapping) and any(value.get(key) == "" for key in RECORDED_ANSWERS)
    return "" if text is None and empty else text


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
    for key in RECORDED_HITS:
        if isinstance(inner := structured(value.get(key), key), list) or (key == "context" and isinstance(inner, str)):
            return documents_of(inner)
    around = (inner for key in _AROUND if isinstance(inner := structured(value.get(key), key), Mapping))
    return next((found for inner in around if (found := _documents_inside(inner)) is not None), None)


def _text_in(value: Any, wanted: _Wanted, alone: bool, depth: int) -> str | None:
    """Return the text in a value: `alone` says that a mapping's only text counts under a key that is not known."""
    if isinstance(value, str):
        try:  # an answer may begin with a brace too
            inner = json.loads(value) if depth and value.lstrip().startswith("{") else None
        except (ValueError, RecursionError):
            return value
        return (_text_in(inner, wanted, False, depth - 1) if isinstance(inner, Mapping) else None) or value
    if depth == 0:
        return None
    if isinstance(value, list):
        return _message(value, wanted, depth)
    if not isinstance(value, Mapping):
        return None
    value = _unwrapped(value)
    for key in wanted.keys:
        if text := _text_in(value.get(key), wanted, alone, depth - 1):
            return text
    return wanted.alone(value) if alone else None


def _message(items: list[Any], wanted: _Wanted, depth: int) -> str | None:
    """Return the text of the last message with one of these roles, or of the parts of a message."""
    if items and all(isinstance(item, list) for item in items):
        return _message(items[-1], wanted, depth - 1) if depth else None
    messages = [_unwrapped(item) for item in items if isinstance(item, Mapping)]
    spoken = [item for item in messages if str(item.get("role") or item.get("type")).lower() in wanted.roles]
    if spoken:
        return _text_in(spoken[-1].get("content"), wanted, True, depth - 1)
    if joined := wanted.parts(items):
        return joined
    # The choices of a chat model.
    inner = (messages[0].get("message") or messages[0].get("content")) if messages else None
    return _text_in(inner, wanted, True, depth - 1) if isinstance(inner, Mapping) else None


def _joined_texts(parts: list[Any]) -> str | None:
    texts = [part if isinstance(part, str) else part.get("text") for part in parts if isinstance(part, str | Mapping)]
    return "".join(text for text in texts if isinstance(text, str)) or None


def _only_text(value: Mapping[str, Any]) -> str | None:
    texts = [item for item in value.values() if isinstance(item, str)]
    return texts[0] if len(texts) == 1 else None


def _only_answer(value: Mapping[str, Any]) -> str | None:
    """Return the only text that can be an answer. An output with the key of an answer, but without its text, has none."""
    others = set()
    for key in value:
        words = [word.lower() for word in _WORD.findall(key)]
        if any(map(_NO_ANSWER.fullmatch, words)) or (words and _NO_ANSWER_LAST.fullmatch(words[-1])):
            others |= set() if _ANSWER_WORDS & set(words) else {key}
    return (
        None
        if any(key in value for key in RECORDED_ANSWERS)
        else _only_text({key: item for key, item in value.items() if key not in others})
    )


def _answer_in(parts: list[Any]) -> str | None:
    """Return the text of a list of parts, or None if it has none. Raises TargetError for a list of texts and anything else."""
    if is_content(parts):
        return text_of_parts(parts)
    text = _joined_texts(parts)
    others = [part for part in parts if not isinstance(part.get("text") if isinstance(part, Mapping) else part, str)]
    if text and others:
        raise TargetError(f"the answer is a list of texts and {json_kind(others[0])}, which is no text")
    return text


_QUESTION = _Wanted(QUESTIONS, _USERS, _only_text, _joined_texts)
_ANSWER = _Wanted(RECORDED_ANSWERS, _MODELS, _only_answer, _answer_in)


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of an object or a message that LangChain serialized, or the value itself."""
    if value.get("lc") and value.get("type") == "constructor":
        inner = value.get("kwargs")
    else:
        inner = value.get("data") if value.keys() == {"type", "data"} and value["type"] in (*_USERS, *_MODELS) else None
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
    metadata = structured(item.get("metadata"), "the metadata of a document")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    ids = (place.get(key) for keys in (DOC_IDS, CHUNK_IDS) for place in (item, metadata) for key in keys)
    doc_id = next((str(value) for value in ids if isinstance(value, str | int) and not isinstance(value, bool) and value != ""), None)
    text, score = _first((item,), TEXTS, str), _first((item, around), SCORES, int | float)
    if doc_id is None and text is None and not metadata:
        raise ValueError(f"has the keys {', '.join(map(repr, item))} in document {place}, and none is its text or its id")
    finite = number(score)
    return TargetHit(doc_id=doc_id, text=text, score=None if finite is None else float(finite), metadata=metadata)


def _first(places: Iterable[Mapping[str, Any]], keys: Sequence[str], kind: Any) -> Any:
    return next((value for place in places for key in keys if isinstance(value := place.get(key), kind)), None)


def structured(value: Any, name: str) -> Any:
    """Parse a list or a mapping that was written as text. Other values are returned unchanged. Raises ValueError for a list that cannot be read."""
    if not isinstance(value, str) or not value.lstrip().startswith(("[", "{")):
        return value
    try:
        return parse_json(value)
    except ValueError:
        return _literal(value.strip(), name)


def _literal(text: str, name: str) -> Any:
    try:
        with warnings.catch_warnings(action="ignore", category=SyntaxWarning):
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        # A passage may begin with a bracket, such as [1].
        if re.match(r"""[\[{]\s*(['"\[{]|Document\(|array\()""", text) and text.endswith(("]", "}")):
            raise ValueError(f"has {name} in a notation that cannot be read; export JSON Lines or parquet, which keep lists") from None
        return text
    if not isinstance(value, list | dict | tuple):
        return text
    # Python joins neighbouring texts: ['a' 'b'] would be one document.
    if _joined(text):
        raise ValueError(f"has {name} as NumPy prints a list, without commas; export JSON Lines or parquet, which keep lists")
    return list(value) if isinstance(value, tuple) else value


def _joined(text: str) -> bool:
    """Return True if two texts follow each other without a comma."""
    if not re.search(r"""['"]\s+\w*['"]""", text):
        return False
    kinds = [token.type for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type != tokenize.NL]
    return any(pair == (tokenize.STRING, tokenize.STRING) for pair in pairwise(kinds))
