"""The targets that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.targets.base import Target
from workbench.targets.mcp.target import McpTarget

_BUILTIN: dict[str, type[Target]] = {"mcp": McpTarget}
TARGETS: Mapping[str, type[Target]] = Registry(_BUILTIN, "workbench.targets", Target)
