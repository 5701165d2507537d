"""The findings of a check of a store."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """Damage, something unused, or something stuck that cannot be repaired: `what` it is and the `action` that it needs."""

    state: Literal["damage", "unused", "stuck"]
    what: str
    action: str
