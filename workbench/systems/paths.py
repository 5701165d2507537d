"""Replies in JSON: parsing, and JSONPath expressions (RFC 9535) in settings with the values that they find."""

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from workbench.core.text.display import excerpt
from workbench.core.text.formatting import listed
from workbench.systems.base import TargetError

T = TypeVar("T")
_MOST_KEYS, _LONGEST_KEY = 12, 40


def _checked(path: str) -> str:
    try:
        compiled = compiled_path(path)
    except JSONPathError as error:
        raise ValueError(f"{path!r} is no JSONPath such as $.results[*].id ({str(error).splitlines()[0]})") from None
    if not isinstance(compiled, JSONPath):
        raise ValueError(f"{path!r} combines paths; write a list of paths, of which the first that the reply has counts")
    return path


# `$.id`, or `id` for short.
JsonPath = Annotated[str, Field(min_length=1), AfterValidator(_checked)]
# One path must be found. Of several, the first that is found and has the right type counts, and optional values may be missing.
Paths = Annotated[
    tuple[JsonPath, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value, json_schema_input_type=str | tuple[str, ...]),
    Field(min_length=1),
]


class MissingError(TargetError):
    """A value that a reply must have is missing, or it is of another type."""


@functools.cache
def compiled_path(path: str) -> Any:
    """Compile a path. Raises JSONPathError if it is not valid."""
    return JSONPathEnvironment().compile(path)


def find(path: str, value: JsonValue) -> list[JsonValue]:
    """Return the values that a path finds, in order. Raises TargetError if the value is nested too deeply."""
    compiled = compiled_path(path)
    # The library takes a text for JSON and parses it.
    if not isinstance(value, dict | list):
        return [] if compiled.segments else [value]
    try:
        return list(compiled.findall(value))
    except (JSONPathError, RecursionError):
        raise TargetError(f"{path} cannot be read from the reply, which is nested too deeply") from None


def holder(path: str, value: JsonValue) -> Mapping[str, JsonValue]:
    """Return the first mapping whose value a path names, also if it is missing there, or an empty mapping."""
    segments = compiled_path(path).segments
    if not segments or not isinstance(value, dict | list):
        return {}
    found = JSONPath(env=compiled_path(path).env, segments=segments[:-1]).findall(value)
    return next((each for each in found if isinstance(each, dict)), {})


def find_list(paths: Paths, value: JsonValue, of: str = "the reply") -> list[JsonValue]:
    """Return the list that the first matching path names: the list it points at, or the values that it finds one by one.

    null and an empty reply are an empty list. Raises MissingError with the path and the keys of the value.
    """
    # Go writes null, protobuf leaves out an empty list, and PHP writes an empty object as [].
    if value in (None, {}, []):
        return []
    for path in paths:
        singular, found = compiled_path(path).singular_query(), find(path, value)
        if singular and found:
            if found[0] is None or isinstance(found[0], list):
                return found[0] or []
            if len(paths) == 1:
                raise MissingError(f"{path} of {of} is {described(found[0])}, not a list")
        elif found or _finds_no_item(path, value):
            return found
    raise MissingError(f"{of} has no {' or '.join(paths)}; {shape(value)}")


def _finds_no_item(path: str, value: JsonValue) -> bool:
    """Return True if a path finds nothing because a list is empty or a filter matches no item, not because a key is missing."""
    env, segments = compiled_path(path).env, compiled_path(path).segments
    if not isinstance(value, dict | list):
        return False
    several = [not JSONPath(env=env, segments=[segment]).singular_query() for segment in segments]
    for cut in reversed(range(len(segments))):
        if (not any(several) or several[cut]) and (parents := JSONPath(env=env, segments=segments[:cut]).findall(value)):
            items = JSONPath(env=env, segments=segments[: cut + 1]).findall(value)
            # A parent without the wanted item is empty, or may be without it as one of several.
            return not items and any(isinstance(parent, dict | list | None) if several[cut] else parent in ({}, []) for parent in parents)
    return False


def find_one(paths: Paths, value: JsonValue, convert: Callable[[JsonValue], T], of: str = "the reply") -> tuple[T | None] | None:
    """Return the converted value of the first path that finds one, in a tuple; None if no path finds any, (None,) for null.

    `convert` raises TypeError with the expected type. Raises MissingError for a value of another type at a single path.
    """
    for path in paths:
        found = find(path, value)
        if not found:
            continue
        if found[0] is None:
            return (None,)
        try:
            return (convert(found[0]),)
        except TypeError as error:
            if len(paths) == 1:
                raise MissingError(f"{path} of {of} is {described(found[0])}, not {error}") from None
    return None


def shape(value: JsonValue) -> str:
    """Describe the keys of a mapping, or what a value is instead."""
    if not isinstance(value, dict):
        return f"it is {described(value)}"
    keys: Sequence[str] = [excerpt(key, _LONGEST_KEY) for key in value]
    return f"its keys are {listed(keys, _MOST_KEYS)}" if keys else "it is an empty mapping"


def described(value: JsonValue) -> str:
    """Describe a value by its type, with its first characters."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"the text {excerpt(value, _LONGEST_KEY)!r}" if isinstance(value, str) else excerpt(json.dumps(value), _LONGEST_KEY)


_TITLE = re.compile(r"<title[^>]*>(.{0,500}?)</title>", re.IGNORECASE | re.DOTALL)


def parse_json(content: bytes | str) -> JsonValue:
    """Parse JSON. Raises TargetError for another text, and for one that is not valid UTF-8."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise TargetError("the reply is not valid UTF-8") from None
    if not text.strip():
        raise TargetError("the reply is empty")
    try:
        value: JsonValue = json.loads(text)
    except RecursionError:
        raise TargetError("the reply is nested too deeply") from None
    except ValueError:
        raise TargetError(f"the reply is {not_json(text)}") from None
    # Half of a surrogate pair can be written in JSON, but is no text.
    if "\\ud" in text.lower():
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise TargetError("the reply contains half of a surrogate pair, which is no text") from None
    return value


def not_json(text: str) -> str:
    """Describe a text that is no JSON: HTML by its title, others by their first characters."""
    if text.lstrip("\ufeff \t\r\n").startswith("<"):
        title = _TITLE.search(text)
        return f"HTML ({excerpt(title[1])!r}), not JSON" if title and title[1].strip() else "HTML, not JSON"
    return f"no valid JSON; it begins with {excerpt(text, 40)!r}"
