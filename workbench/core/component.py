"""The base of components: frozen values whose fields are their whole configuration."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from workbench.core.display import table_html


class Component(BaseModel):
    """A frozen value that rejects unknown fields. In a notebook it shows its settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str

    def settings(self) -> dict[str, Any]:
        """Return the kind and the fields that differ from their defaults, as in an experiment file."""
        return {"kind": self.kind} | self.model_dump(mode="json", exclude_defaults=True)

    def _repr_html_(self) -> str:
        rows = [{"setting": name, "value": str(value)} for name, value in self.model_dump(mode="json").items() if name != "kind"]
        return table_html(type(self).__name__, rows)
