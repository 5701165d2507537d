"""Show a checklist in the terminal."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from workbench.core.formatting import plural
from workbench.gate.checklist.points import Checklist, ChecklistPoint

_WIDTH = 100


def checklist_lines(checklist: Checklist) -> Iterator[str]:
    """Yield a line for each point with its evidence, and below it how to earn it."""
    yield f"{checklist.name}: {checklist.configuration}"
    for point in checklist.points:
        yield ""
        yield f"{point.state}: {point.name}"
        yield f"  {point.evidence}"
        yield from (f"  {line}" for line in _advice(point))
    yield ""
    unseen = checklist.count("cannot be seen")
    counts = f"{checklist.count('met')} of {plural(len(checklist.points), 'point')} met, {checklist.count('not met')} not met, {unseen} cannot be seen"
    yield f"{counts}; {checklist.drafts}" if checklist.drafts else counts


def _advice(point: ChecklistPoint) -> Iterator[str]:
    if point.advice:
        yield f"to earn it: {point.advice}"
    yield from (f"  {line}" for line in settings_lines(point.settings))
    yield from (f"  {line}" for line in point.commands)


def settings_lines(settings: Mapping[str, Any]) -> list[str]:
    """Return keys of an experiment as lines of YAML. Pure."""
    plain = _plain(settings)
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None, width=_WIDTH).splitlines() if plain else []


def _plain(value: object) -> Any:
    """Copy mappings and sequences as dictionaries and lists, which YAML writes without tags."""
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
