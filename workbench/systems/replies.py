"""Read hits and answers from the JSON of a reply, by JSONPath.

Hits as a list of records:       `{hits: $.results, id: doc_id, text: content, score: score}`; the paths of fields start at each hit.
Hits that are ids alone:         `{hits: $.ids, id: $}`.
Hits as parallel lists (Chroma): `{columns: true, id: $.ids[0], text: $.documents[0], metadata: $.metadatas[0]}`; the paths start at the reply.
An answer:                       `{text: $.answer, sources: {hits: $.sources, id: doc_id}, degraded: [{path: $.method, in: [fallback]}]}`.

`HitPaths.read(reply)` and `AnswerPaths.read(reply)` raise TargetError with one line that names the path and the keys of the reply.
"""

import functools
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from workbench.core.records import Answer, TargetHit
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import listed
from workbench.systems.base import TargetError
from workbench.systems.contents import check_answer, is_content, text_of_parts

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


_LARGEST = sys.float_info.max


class PathSettings(BaseModel):
    """Frozen settings that reject unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class ReplySign(PathSettings):
    """A sign in a reply, such as that it is a failure although it looks like a success. Exactly one of `equals`, `in` and `is_null` is given."""

    path: JsonPath = Field(description="The JSONPath of the value.")
    equals: JsonValue = Field(default=None, description="The value that is the sign.")
    one_of: tuple[JsonValue, ...] = Field(default=(), alias="in", description="Values of which each is the sign.")
    is_null: bool = Field(default=False, description="Whether null or no value is the sign.")

    @model_validator(mode="after")
    def _one_test(self) -> "ReplySign":
        if (self.equals is not None) + bool(self.one_of) + self.is_null != 1:
            raise ValueError("give exactly one of equals (a value), in (a list of values) and is_null: true")
        return self

    def seen(self, reply: JsonValue) -> str:
        """Describe the sign in the reply, or return an empty text."""
        found = find(self.path, reply)
        if self.is_null and all(value is None for value in found):
            return f"{self.path} is {'null' if found else 'missing'}"
        marks = self.one_of or ([self.equals] if self.equals is not None else [])
        return next((f"{self.path} is {described(value)}" for value in found if any(same_json(value, mark) for mark in marks)), "")

    def check(self, reply: JsonValue) -> None:
        """Raise TargetError if the reply has the sign, which is that of a failure."""
        if seen := self.seen(reply):
            raise TargetError(f"the reply is marked as degraded: {seen}")


class HitPaths(PathSettings):
    """The paths of the hits in a reply, and of the fields in a hit. A path that is given must be found in at least one hit.

    Several paths for one field are alternatives: the first that is found and has the right type counts, and none has to.
    """

    hits: Paths = Field(default=("$",), description="The list of hits; by default the reply itself.")
    columns: bool = Field(
        default=False,
        description="Whether the reply has parallel lists, one for each field, instead of a list of hits. Paths start at the reply.",
    )
    id: Paths | None = Field(default=None, description="The id of the document or chunk, a text or a whole number.")
    text: Paths | None = Field(default=None, description="The text of the hit.")
    score: Paths | None = Field(default=None, description="A number. The order of hits is that of the reply.")
    start: Paths | None = Field(default=None, description="The first character of the hit in its document.")
    end: Paths | None = Field(default=None, description="The character after the last.")
    metadata: Paths | None = Field(default=None, description="A mapping, which can name the document.")
    degraded: tuple[ReplySign, ...] = Field(default=(), description="Signs that a reply is a failure.")
    empty: tuple[ReplySign, ...] = Field(
        default=(),
        description="Signs that nothing was found, if the reply has no list of hits then. null, `{}`, `[]` and an empty list need none.",
    )

    @model_validator(mode="after")
    def _something_to_match(self) -> "HitPaths":
        if not (self.id or self.text or self.metadata):
            raise ValueError("give a path for at least one of id, text and metadata")
        if self.columns and self.hits != ("$",):
            raise ValueError("leave out hits with columns: true, where the paths of fields start at the reply")
        return self

    @property
    def gives_text(self) -> bool:
        """True if hits can have text or positions."""
        return self.text is not None or (self.start is not None and self.end is not None)

    def read(self, reply: JsonValue) -> list[TargetHit]:
        """Return the hits of a reply, best first. Raises TargetError if it has a sign of a failure, or not the expected form."""
        return [] if self.nothing_found(reply) else self.found(reply)

    def nothing_found(self, reply: JsonValue) -> bool:
        """Return True if a reply has a sign that nothing was found. Raises TargetError for a sign of a failure."""
        for sign in self.degraded:
            sign.check(reply)
        return any(sign.seen(reply) for sign in self.empty)

    def found(self, reply: JsonValue) -> list[TargetHit]:
        """Return the hits of a reply whose signs were read. Raises MissingError if it does not have the expected form."""
        fields = self._columns(reply) if self.columns else self._rows(reply)
        names = ["doc_id" if name == "id" else name for name in fields]
        rows = (dict(zip(names, row, strict=True)) for row in zip(*fields.values(), strict=True))
        hits = [TargetHit(**{**row, "metadata": row.get("metadata") or {}}) for row in rows]
        for place, hit in enumerate(hits, 1):
            if hit.doc_id is None and hit.text is None and not hit.metadata:
                raise MissingError(f"hit {place} of the reply has no id, text or metadata that could name its document")
        return hits

    def _paths(self) -> dict[str, Paths]:
        return {name: paths for name in _FIELDS if (paths := getattr(self, name))}

    def _rows(self, reply: JsonValue) -> dict[str, list[Any]]:
        """Return the values of each field over the hits, None where a hit has none."""
        # Nobody can ask for more hits, and reading each takes time.
        rows, fields = find_list(self.hits, reply)[:_MOST_HITS], dict[str, list[Any]]()
        for name, paths in self._paths().items():
            found = [find_one(paths, row, _FIELDS[name], f"hit {place}") for place, row in enumerate(rows, 1)]
            if rows and len(paths) == 1 and not any(found):
                raise MissingError(f"no hit of the reply has {paths[0]}; of the first, {shape(rows[0])}")
            fields[name] = [one[0] if one else None for one in found]
        return fields

    def _columns(self, reply: JsonValue) -> dict[str, list[Any]]:
        fields, first = dict[str, list[Any]](), ""
        for name, paths in self._paths().items():
            try:
                column = find_list(paths, reply)
            except MissingError:
                if len(paths) == 1:
                    raise
                continue
            fields[name] = values = list[Any]()
            for place, value in enumerate(column, 1):
                try:
                    values.append(None if value is None else _FIELDS[name](value))
                except TypeError as error:
                    what = f"value {place} of {' or '.join(paths)} of the reply is {described(value)}"
                    raise MissingError(f"{what}, not {error}") from None
            first = first or name
            if len(column) != len(fields[first]):
                raise MissingError(f"the reply has {len(fields[first])} values of {first} but {len(column)} of {name}")
        if not fields:
            raise MissingError(f"the reply has none of the columns; {shape(reply)}")
        return fields


class AnswerPaths(PathSettings):
    """The paths of the answer in a reply, and of the fields that come with it."""

    text: Paths = Field(description="The text of the answer. Several values that one path finds are joined.")
    sources: HitPaths | None = Field(default=None, description="Where the reply has the sources of the answer, best first.")
    refused: Paths | None = Field(default=None, description="Whether the target refused to answer: true or false.")
    confidence: Paths | None = Field(default=None, description="The target's own confidence, a number.")
    model: Paths | None = Field(default=None, description="The name of the model that wrote the answer.")
    input_tokens: Paths | None = Field(default=None, description="The number of tokens that the model read.")
    output_tokens: Paths | None = Field(default=None, description="The number of tokens that the model wrote.")
    finish_reason: Paths | None = Field(
        default=None, description="Why the model stopped, such as `stop`, or `length` for an answer that was cut off at the token limit."
    )
    degraded: tuple[ReplySign, ...] = Field(default=(), description="Signs that a reply is a failure.")

    def read(self, reply: JsonValue) -> Answer:
        """Return the answer in a reply. Raises TargetError if it has a sign of a failure, or not the expected form."""
        for sign in self.degraded:
            sign.check(reply)
        finish = _optional(self.finish_reason, reply, _text)
        text, message = self._read_text(reply, finish)
        return Answer(
            text=text,
            truncated=check_answer(text, finish, message),
            sources=self._sources(reply),
            refused=_optional(self.refused, reply, _boolean),
            confidence=_optional(self.confidence, reply, _number),
            model=_optional(self.model, reply, _text) or "",
            input_tokens=_optional(self.input_tokens, reply, _position),
            output_tokens=_optional(self.output_tokens, reply, _position),
        )

    def _read_text(self, reply: JsonValue, finish: str | None) -> tuple[str, Mapping[str, JsonValue]]:
        """Return the text of the answer, and the message that has it. Raises TargetError if the reply has none."""
        messages = []
        for path in self.text:
            found, message = find(path, reply), holder(path, reply)
            # The content of a chat message can be parts.
            texts = [text_of_parts(value) if isinstance(value, list) and is_content(value) else value for value in found]
            if found and all(isinstance(part, str) for part in texts):
                content = found[0] if len(found) == 1 else message.get("content")
                return "".join(map(str, texts)), {**message, "content": content}
            if all(value is None for value in found):
                messages.append(message)
        for message in messages:
            # What stands in place of a text is the better reason.
            check_answer("", finish, message)
        if len(self.text) == 1 and (found := find(self.text[0], reply)):
            raise MissingError(f"{self.text[0]} of the reply is {described(found[0])}, not a text")
        raise MissingError(f"the reply has no {' or '.join(self.text)}; {shape(reply)}")

    def _sources(self, reply: JsonValue) -> tuple[TargetHit, ...] | None:
        if self.sources is None:
            return None
        if len(self.sources.hits) > 1:
            try:
                find_list(self.sources.hits, reply)
            except MissingError:
                return None
        return tuple(self.sources.read(reply))


def same_json(value: JsonValue, mark: JsonValue) -> bool:
    """Return True if two JSON values are equal. true is not 1."""
    # True equals 1 in Python.
    return value == mark and isinstance(value, bool) == isinstance(mark, bool)


def _optional(paths: Paths | None, reply: JsonValue, convert: Callable[[JsonValue], Any]) -> Any:
    if paths is None:
        return None
    found = find_one(paths, reply, convert)
    if found is None and len(paths) == 1:
        raise MissingError(f"the reply has no {paths[0]}; {shape(reply)}")
    return found[0] if found else None


def _is(kinds: Any, value: JsonValue) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _converter(kind: str, fits: Callable[[Any], bool], convert: Callable[[Any], Any] = lambda value: value) -> Callable[[JsonValue], Any]:
    """Return a function that converts a value of a kind, and raises TypeError with the kind for another."""

    def converted(value: JsonValue) -> Any:
        if not fits(value):
            raise TypeError(kind)
        return convert(value)

    return converted


_text = _converter("a text", lambda value: isinstance(value, str))
# A whole number in JSON can be too large for a float.
_number = _converter("a finite number", lambda value: _is(int | float, value) and -_LARGEST <= value <= _LARGEST, float)
_position = _converter("a whole number from 0", lambda value: _is(int, value) and value >= 0)
_boolean = _converter("true or false", lambda value: isinstance(value, bool))
_MOST_HITS = 1000
_FIELDS: Mapping[str, Callable[[JsonValue], Any]] = {
    "id": _converter("a text or a whole number", lambda value: _is(str | int, value) and value != "", str),
    "text": _text,
    "score": _number,
    "start": _position,
    "end": _position,
    "metadata": _converter("a mapping", lambda value: isinstance(value, dict)),
}
