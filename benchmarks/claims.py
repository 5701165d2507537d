"""What a benchmark claims: a figure, what it must reach, and whether it does."""

from typing import Any

Claim = dict[str, Any]


def at_least(what: str, found: float, wanted: float) -> Claim:
    """A claim that holds from `wanted` upwards."""
    return {"claim": what, "found": found, "at least": wanted, "holds": bool(found >= wanted)}


def at_most(what: str, found: float, wanted: float) -> Claim:
    """A claim that holds up to `wanted`."""
    return {"claim": what, "found": found, "at most": wanted, "holds": bool(found <= wanted)}


def failed(found: dict[str, Any]) -> list[Claim]:
    """The claims of a benchmark that do not hold; none where it makes none."""
    return [claim for claim in found.get("claims", []) if not claim["holds"]]
