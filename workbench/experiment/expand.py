"""What a `sweep:` stands for: axes multiply, a list in a field is a grid."""

import itertools
from collections.abc import Mapping
from typing import Any

Settings = dict[str, Any]


def alternatives(swept: Any, default: Settings) -> list[Settings]:
    """The settings of one stage, one for each of its alternatives, in the order they are written.

    `swept` is one mapping or a list of them; a field that holds a list takes each of its values. A mapping that names no
    `kind` is the default with these fields changed.
    """
    found = []
    for item in swept if isinstance(swept, list) else [swept]:
        settings = dict(item) if "kind" in item else default | item
        fields = [[(key, value) for value in (values if isinstance(values, list) else [values])] for key, values in settings.items()]
        found += [dict(choice) for choice in itertools.product(*fields)]
    return found


def set_value(settings: Settings, dotted: str, value: Any) -> None:
    """Change the value at `path.to.key`, making the mappings on the way; ValueError where the way is barred by something else."""
    *way, last = dotted.split(".")
    place: Any = settings
    for step in way:
        place = place.setdefault(step, {}) if isinstance(place, dict) else None
    if not isinstance(place, dict) or not last:
        raise ValueError(dotted)
    place[last] = value


def is_mapping(value: Any) -> bool:
    """Whether a value is a mapping with text keys."""
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)
