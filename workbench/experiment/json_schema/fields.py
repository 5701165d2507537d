"""JSON Schemas of the fields of pydantic models, in draft-07 and no stricter than pydantic is with the values that YAML has."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, Strict

JsonSchema = dict[str, Any]

DEFINITIONS = "#/definitions/"
_LEFT_OUT = ("title", "discriminator", "$defs")
# Pydantic reads numbers and flags in quotes too: what the texts look like, and what an editor says of another.
_TEXTS = {
    "integer": (r"^\s*[+-]?[0-9][0-9_]*(\.0*)?\s*$", "not a whole number"),
    "number": (r"^\s*[+-]?([0-9._]+([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?|[nN][aA][nN])\s*$", "not a number"),
    "boolean": (
        "^([tT][rR][uU][eE]|[fF][aA][lL][sS][eE]|[yY][eE][sS]|[nN][oO]|[oO][nN]|[oO][fF][fF]|[tTfFyYnN01])$",
        "neither true nor false",
    ),
}


def model_schema(model: type[BaseModel]) -> JsonSchema:
    """Return the schema of a model, with the models inside it under `definitions`."""
    schema = model.model_json_schema(ref_template=f"{DEFINITIONS}{{model}}")
    # A strict model takes no text as a number.
    strict = bool(model.model_config.get("strict"))
    # So does a strict field.
    exact = {name for name, field in model.model_fields.items() if any(isinstance(rule, Strict) and rule.strict for rule in field.metadata)}
    inside = {name: _converted(part, strict) for name, part in schema.get("$defs", {}).items()}
    converted = _converted(schema, strict)
    converted["properties"] |= {name: _converted(schema["properties"][name], True) for name in exact & schema["properties"].keys()}
    return {**converted, "definitions": inside}


def any_of(alternatives: list[JsonSchema], **also: Any) -> JsonSchema:
    """Return the schema of a value that fits one of the alternatives, each of them once."""
    distinct = [each for place, each in enumerate(alternatives) if each not in alternatives[:place]]
    return {**also, **distinct[0]} if len(distinct) == 1 else {**also, "anyOf": distinct}


def reference(name: str, **also: Any) -> JsonSchema:
    """Return a reference to a definition. In draft-07 a reference has no other keys beside it."""
    target = {"$ref": f"{DEFINITIONS}{name}"}
    return {**also, "allOf": [target]} if also else target


def mapping_of(properties: Mapping[str, JsonSchema], **also: Any) -> JsonSchema:
    """Return the schema of a mapping that has no other keys."""
    return {"type": "object", **also, "properties": dict(properties), "additionalProperties": False}


def _converted(schema: Any, strict: bool) -> Any:
    """Return a schema of pydantic in draft-07, without titles."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in _LEFT_OUT and not (key == "default" and not _is_plain(value))}
    for key in ("$ref", "$definition"):
        if key in kept:
            return reference(kept.pop(key).removeprefix(DEFINITIONS), **kept)
    if "properties" in kept:
        kept["properties"] = {name: _converted(part, strict) for name, part in kept["properties"].items()}
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = _converted(kept[key], strict)
    for key in ("anyOf", "oneOf"):
        if key in kept:
            return _alternatives([_converted(part, strict) for part in kept.pop(key)], kept)
    if "prefixItems" in kept:
        kept["items"] = [_converted(part, strict) for part in kept.pop("prefixItems")]
    if not strict and kept.get("type") in _TEXTS:
        return _with_texts(kept)
    return _with_mapping(kept)


def _is_plain(default: Any) -> bool:
    return isinstance(default, str | int | float | bool)


def _alternatives(parts: list[JsonSchema], also: JsonSchema) -> JsonSchema:
    """Return one schema with a list of types for an optional value, else the alternatives."""
    parts = [inner for part in parts for inner in (part["anyOf"] if set(part) == {"anyOf"} else [part])]
    others = [part for part in parts if part != {"type": "null"}]
    if len(others) == 1 and len(parts) == 2 and "type" in others[0] and not {"enum", "const"} & others[0].keys():
        types = others[0]["type"]
        return {**others[0], **also, "type": [*(types if isinstance(types, list) else [types]), "null"]}
    return any_of(parts, **also)


def _with_texts(schema: JsonSchema) -> JsonSchema:
    """Let a number or a flag be written in quotes, and a flag as 0 or 1, as pydantic does."""
    kind = schema["type"]
    pattern, message = _TEXTS[kind]
    bounds = {"minimum": 0, "maximum": 1, "multipleOf": 1} if kind == "boolean" else {}
    types = ["boolean", "number", "string"] if kind == "boolean" else [kind, "string"]
    return {**schema, **bounds, "type": types, "pattern": pattern, "patternErrorMessage": message}


def _with_mapping(schema: JsonSchema) -> JsonSchema:
    """Let pairs be written as a mapping: pydantic has pairs where a value is by name, since a mapping cannot be the key of a cache."""
    pair = schema.get("items", {}).get("items") if isinstance(schema.get("items"), dict) else None
    if not (isinstance(pair, list) and len(pair) == 2):
        return schema
    also: JsonSchema = {key: schema.pop(key) for key in ("description", "default") if key in schema}
    return {**also, "anyOf": [{"type": "object", "additionalProperties": pair[1]}, schema]}
