"""Read the keys of an experiment that concern its answers: conditions, repeats and limits; and the crossed slices."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.context.conditions import RETRIEVED, conditions_fault, variants_of
from workbench.core.component import field_fault
from workbench.experiment.validate import Settings, is_mapping
from workbench.llm.session import CallLimits
from workbench.records import Variant

MOST_REPEATS = 100
MOST_CROSSED = 4


def variants_in(settings: Settings, faults: list[str]) -> tuple[Variant, ...]:
    """Return the variants of an experiment, or add its faults and return the usual one."""
    conditions, repeats = settings.get("conditions", [RETRIEVED]), settings.get("repeats", 1)
    if isinstance(conditions, str):
        conditions = [conditions]
    if not isinstance(conditions, list) or not all(isinstance(condition, str) for condition in conditions):
        faults.append(f"conditions is {conditions!r}, not a list of names; write for example conditions: [none, gold, retrieved]")
    elif fault := conditions_fault(conditions):
        faults.append(f"conditions: {fault}")
    elif RETRIEVED not in conditions:
        faults.append(f"conditions lacks {RETRIEVED}, in which configurations are compared; add it")
    elif isinstance(repeats, bool) or not isinstance(repeats, int) or not 1 <= repeats <= MOST_REPEATS:
        faults.append(f"repeats is {repeats!r}, not a whole number from 1 to {MOST_REPEATS}")
    else:
        return variants_of(conditions, repeats)
    return (Variant(),)


class LimitKeys(BaseModel):
    """The limits as an experiment file gives them."""

    model_config = ConfigDict(extra="forbid", strict=True)

    calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1)
    usd: float | None = Field(default=None, gt=0)


def limits_in(settings: Settings, faults: list[str]) -> CallLimits:
    """Return the limits of calls, tokens and money, or add their faults and return no limits."""
    limits = settings.get("limits", {})
    if not is_mapping(limits):
        faults.append(f"limits is {limits!r}, not a mapping; write for example limits: {{calls: 1000, usd: 5}}")
        return CallLimits()
    try:
        return CallLimits(**LimitKeys.model_validate(limits).model_dump())
    except ValidationError as error:
        faults += [field_fault("limits", dict(detail), LimitKeys.model_fields) for detail in error.errors()]
        return CallLimits()


def crossed_in(settings: Settings, faults: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return the crossed slices, each the names of some fields, or add their fault and return none."""
    slices: Any = settings.get("slices", [])
    if not (isinstance(slices, list) and all(map(_is_crossed, slices))):
        faults.append(
            f"slices is {slices!r}, not a list of lists of two to {MOST_CROSSED} fields; write for example slices: [[type, domain]]"
        )
        return ()
    return tuple(dict.fromkeys(map(tuple, slices)))


def _is_crossed(fields: Sequence[Any]) -> bool:
    named = isinstance(fields, list) and all(isinstance(name, str) and name for name in fields)
    return named and 2 <= len(fields) <= MOST_CROSSED and len(set(fields)) == len(fields)
