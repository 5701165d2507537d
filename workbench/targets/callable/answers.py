"""Convert the results of a Python function, a LangChain chain or a LlamaIndex query engine to answers."""

from collections.abc import Mapping
from typing import Any

from workbench.answering.base import Answer
from workbench.records import TargetHit
from workbench.targets.base import TargetError
from workbench.targets.callable.hits import SOURCES, Strings, hits_of, raise_reported
from workbench.targets.callable.values import described, has, number, read, whole
from workbench.targets.contents import FINISHES, check_answer, is_content, text_of_parts

FORMS = "return a text, a pair of a text and its sources, or a mapping or an object with an answer, and sources if it names any"
_BESIDE = ("reasoning_content", "reasoning", "thinking", "tool_calls", "function_call", "refusal")
_ANSWERS = ("answer", "generated_answer", "response", "output", "result", "content", "text")


def answer_of(value: object, strings: Strings, most: int | None = None) -> Answer:
    """Convert a result to an answer with at most `most` sources. Raises TargetError with its type for another shape."""
    if isinstance(value, tuple) and not hasattr(value, "_fields") and len(value) == 2:
        text, sources = value
        if isinstance(sources, str):
            raise TargetError(f"the second of the pair is no list of sources but {described(sources)}; {FORMS}")
        found = _required(text)
        raise_reported(text, nothing=not found.strip())
        return Answer(text=found, sources=None if sources is None else hits_of(sources, strings, most), **_use(text, found))
    text = None if isinstance(value, list) else text_of(value)
    refused = read(value, "refused") if not isinstance(value, str) else None
    if refused is not True:
        raise_reported(value, nothing=not (text or "").strip())
    if text is None and refused is not True:
        _cut(value, "")
        raise TargetError(f"the result is no answer but {described(value)}; {FORMS}")
    if isinstance(value, str):
        return Answer(text=str(value))
    return Answer(
        text=text or "",
        sources=_sources(value, strings, most),
        refused=refused if isinstance(refused, bool) else None,
        confidence=number(read(value, "confidence")),
        **_use(value, text if refused is not True else None),
    )


def text_of(value: object) -> str | None:
    """Return the text of an answer or of a part of one, or None if it has none."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list):
        texts = bool(value) and all(isinstance(each, str) for each in value)
        return text_of_parts(value) if texts or is_content(value) else None
    for name in _ANSWERS:
        if (found := read(value, name)) is not None and not callable(found):
            return text_of(found)
    return None


def _required(value: object) -> str:
    text = text_of(value)
    if text is None:
        raise TargetError(f"the first of the pair is no answer but {described(value)}; {FORMS}")
    return text


def _sources(value: object, strings: Strings, most: int | None) -> tuple[TargetHit, ...] | None:
    """Return the sources of an answer, None if it has no field for them. A single text is a prompt's context, not a list of sources."""
    for name in SOURCES:
        if has(value, name) and not isinstance(found := read(value, name), str | None) and not callable(found):
            return hits_of({name: found} if isinstance(found, list | tuple) else found, strings, most)
    return None


def _message(value: object) -> object:
    """Return the chat message in an answer, which has the usage of the model, or the answer."""
    inner = read(value, *_ANSWERS)
    return inner if has(inner, "usage_metadata") else value


def _use(answer: object, text: str | None) -> Mapping[str, Any]:
    """Return what a model cost and whether it was cut off, as the answer or a chat message of LangChain reports it.

    Raises TargetError if the text is no answer. A text that is None is not checked.
    """
    if isinstance(answer, str):
        return {}
    value = _message(answer)
    usage, metadata = read(value, "usage_metadata") or value, read(value, "response_metadata") or {}
    model = read(value, "model") or read(metadata, "model_name", "model")
    cut = read(value, "truncated")
    ended = None if text is None else _cut(value, text)
    return {
        "input_tokens": whole(read(usage, "input_tokens")),
        "output_tokens": whole(read(usage, "output_tokens")),
        "cost": number(read(value, "cost")),
        "model": model if isinstance(model, str) else "",
        "truncated": cut if isinstance(cut, bool) else ended,
    }


def _cut(value: object, text: str) -> bool | None:
    """Return whether an answer was cut off, None if it does not say. Raises TargetError with the reason why it is no answer."""
    metadata, further = read(value, "response_metadata") or {}, read(value, "additional_kwargs") or {}
    finish = read(value, *FINISHES) or read(metadata, *FINISHES)
    content = read(value, *_ANSWERS)
    fields = {name: found for name in _BESIDE if (found := read(value, name) or read(further, name)) and not callable(found)}
    return check_answer(text, finish if isinstance(finish, str) else None, {**fields, "content": content})
