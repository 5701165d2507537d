"""Components that load models."""

from typing import Any

from workbench.core.component import Component
from workbench.llm.models.files import model_fingerprint


class ModelComponent(Component):
    """A component that may load models, whose files are part of its identity."""

    def models(self) -> tuple[str, ...]:
        """Return the models that the component loads, as named in `locate`."""
        return ()

    def identity(self) -> dict[str, Any]:
        """Return everything in the component that determines its results, as canonical JSON: settings, version and model files."""
        identity = self.model_dump(mode="json") | {"version": self.version}
        return identity | ({"models": [model_fingerprint(model) for model in self.models()]} if self.models() else {})
