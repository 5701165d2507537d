"""The record in which a notebook leaves its conclusions: the result of its last cell, and the sign that it ran to its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MIME = "application/vnd.workbench.record+json"


@dataclass(frozen=True, eq=False)
class Record:
    """Conclusions under the id of the run of a notebook, empty where it was opened by hand; `told` is what a person reads of them."""

    run_id: str
    values: Mapping[str, Any]
    told: str

    def __repr__(self) -> str:
        return f"{'recorded' if self.run_id else 'not recorded (opened by hand)'}: {self.told}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        return {"text/plain": repr(self), MIME: {"run_id": self.run_id, "values": dict(self.values)}}
