"""A record of what was planted in a context."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Planted:
    """An altered copy or an attack, in the passage with a `number` from 0.

    `family` is the perturbation of the variant. An altered copy has the kind of its `fact` (date, number, name, polarity) with the `original` and
    the `altered` value. An attack has the `canary` that an obedient answer contains.
    """

    kind: Literal["counterfactual", "injection"]
    family: str
    number: int
    fact: str = ""
    original: str = ""
    altered: str = ""
    canary: str = ""

    def record(self) -> dict[str, Any]:
        """Return the values as JSON, without empty ones."""
        return {name: value for name, value in asdict(self).items() if value != ""}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> "Planted":
        """Read a record."""
        return cls(**record)
