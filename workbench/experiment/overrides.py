"""Change an experiment's settings by `path.to.key=value`."""

from collections.abc import Sequence
from typing import Any

import yaml

from workbench.core.formatting import listed, plural
from workbench.errors import InputError
from workbench.experiment.components import Settings, is_mapping
from workbench.experiment.expand import as_list
from workbench.experiment.yaml_file import plain_value

# More steps than any setting has.
_DEEPEST = 16


def apply_overrides(settings: Settings, overrides: Sequence[str]) -> list[str]:
    """Change settings in place and return a fault for each override without effect. Raises InputError if one cannot be applied."""
    paths = [_apply(settings, override) for override in overrides]
    return [fault for override, path in zip(overrides, paths, strict=True) if (fault := _shadowed(settings, path, override))]


def _apply(settings: Settings, override: str) -> list[str]:
    dotted, equals, text = override.partition("=")
    path = dotted.strip().split(".")
    if not equals or not all(path) or len(path) > _DEEPEST:
        raise InputError(f"--set {override!r} is not path.to.key=value", "write for example --set dataset.path=data/mine")
    try:
        value = plain_value(text)
    except yaml.YAMLError:
        raise InputError(f"--set {override!r} has a value that is not YAML", "put it in quotes, and close its brackets") from None
    _set(settings, path, value, f"--set {override!r}")
    return path


def _set(settings: Settings, path: Sequence[str], value: Any, owner: str) -> None:
    """Set the value at a path, creating missing mappings. Raises InputError if another value blocks the path."""
    place: Any = settings
    for depth, step in enumerate(path):
        above = ".".join(path[:depth])
        key: Any = step
        if isinstance(place, list):
            if not step.isdecimal() or len(step) > 6 or int(step) >= len(place):
                example = ".".join([*path[:depth], "0", *([] if step.isdecimal() else [step]), *path[depth + 1 :]])
                fix = f"address an item by its number from 0, as in --set {example}=…"
                raise InputError(f"{owner} has {step!r}, but {above} is a list of {plural(len(place), 'item')}", fix)
            key = int(step)
        elif not isinstance(place, dict):
            raise InputError(f"{owner} sets a key of {above}, which is {place!r}", f"set {above} to a mapping, or leave out the last keys")
        if depth == len(path) - 1:
            place[key] = value
        else:
            place = place[key] if isinstance(place, list) else place.setdefault(key, {})


def _shadowed(settings: Settings, path: Sequence[str], override: str) -> str:
    """Return the fault of an override of `pipeline` that no configuration uses, or an empty text if it has an effect."""
    if path[0] != "pipeline":
        return ""
    pipeline = settings["pipeline"]
    stages = path[1:2] or (list(pipeline) if is_mapping(pipeline) else [])
    reasons = [_winner(settings, stage, path[2:]) for stage in stages]
    return f"--set {override} changes nothing: {reasons[0]}" if reasons and all(reasons) else ""


def _winner(settings: Settings, stage: str, below: Sequence[str]) -> str:
    """Return what sets a stage's field, or all its fields, in every configuration, or an empty text."""
    swept: Any = settings.get("sweep")
    single: Any = settings.get("configurations")
    parts: list[tuple[str, list[Any], list[str]]] = []
    if swept is not None or single is None:
        axis = swept.get(stage, []) if is_mapping(swept) else []
        items = as_list(axis)
        places = [f"sweep.{stage}.{number}" if below and isinstance(axis, list) else f"sweep.{stage}" for number in range(len(items))]
        parts.append((f"sweep.{stage}", items, places))
    if isinstance(single, list):
        items = [item.get(stage) if is_mapping(item) else None for item in single]
        parts.append(("configurations", items, [f"configurations.{number}.{stage}" for number in range(len(items))]))
    value = settings["pipeline"][stage]
    fields = [*below[:1]] or (list(value) if is_mapping(value) else [])
    reasons = [_replaced(stage, owner, items, places, fields, below) for owner, items, places in parts]
    return reasons[0] if all(reasons) else ""


def _replaced(stage: str, owner: str, items: Sequence[Any], places: Sequence[str], fields: Sequence[str], below: Sequence[str]) -> str:
    """Return why no item of a part of the experiment takes the fields from `pipeline`, or an empty text if one does."""
    if not items or not fields or not all(is_mapping(item) for item in items):
        return ""
    if not all("kind" in item or field in item for item in items for field in fields):
        return ""
    giving = [number for number, item in enumerate(items) if set(fields) & item.keys()]
    why = f"{owner} gives {listed(fields)} for every configuration"
    if not giving:
        why = f"every item of {owner} names its kind and takes nothing from pipeline.{stage}"
    targets = dict.fromkeys(".".join([places[number], *below]) for number in giving or range(len(items)))
    return f"{why}; set {listed([*targets])}"
