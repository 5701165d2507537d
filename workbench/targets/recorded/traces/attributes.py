"""Attributes of spans as objects and lists, and the values in them."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from workbench.targets.recorded.cells import structured
from workbench.targets.recorded.exports import value_at

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
