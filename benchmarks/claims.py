"""Claims of a benchmark: a figure, the value it must reach, and whether it does."""

from typing import Any

Claim = dict[str, Any]


def at_least(what: str, value: float, wanted: float) -> Claim:
    """Claim that a figure is at least `wanted`."""
    return {"claim": what, "found": value, "at least": wanted, "holds": bool(value >= wanted)}


def at_most(what: str, value: float, wanted: float) -> Claim:
    """Claim that a figure is at most `wanted`."""
    return {"claim": what, "found": value, "at most": wanted, "holds": bool(value <= wanted)}


def failed(figures: dict[str, Any]) -> list[Claim]:
    """The claims of a benchmark that do not hold."""
    return [claim for claim in figures.get("claims", []) if not claim["holds"]]
