"""Claims of a benchmark: a figure, the value it must reach, and whether it does."""

from typing import Any

Claim = dict[str, Any]


def at_least(what: str, found: float, wanted: float) -> Claim:
    """Claim that a figure is at least `wanted`."""
    return {"claim": what, "found": found, "at least": wanted, "holds": bool(found >= wanted)}


def at_most(what: str, found: float, wanted: float) -> Claim:
    """Claim that a figure is at most `wanted`."""
    return {"claim": what, "found": found, "at most": wanted, "holds": bool(found <= wanted)}


def failed(found: dict[str, Any]) -> list[Claim]:
    """The claims of a benchmark that do not hold."""
    return [claim for claim in found.get("claims", []) if not claim["holds"]]
