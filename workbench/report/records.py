"""The record of a notebook's conclusions: the result of its last cell, which also shows that it ran to the end."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MIME = "application/vnd.workbench.record+json"


@dataclass(frozen=True, eq=False)
class Record:
    """Conclusions under the id of a notebook's run, with a readable `summary`. The id is empty if a person opened the notebook."""

    run_id: str
    values: Mapping[str, Any]
    summary: str

    def __repr__(self) -> str:
        return f"{'recorded' if self.run_id else 'not recorded (opened by hand)'}: {self.summary}"

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        # JSON has no NaN.
        values = json.loads(json.dumps(self.values), parse_constant=lambda _: None)
        return {"text/plain": repr(self), MIME: {"run_id": self.run_id, "values": values}}
