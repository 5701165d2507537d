"""The targets that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.systems.base import Target
from workbench.systems.callable.target import CallableTarget
from workbench.systems.http.target import HttpTarget
from workbench.systems.mcp.target import McpTarget
from workbench.systems.pipeline import PipelineTarget
from workbench.systems.recorded.target import RecordedTarget

_BUILTIN: dict[str, type[Target]] = {
    "callable": CallableTarget,
    "http": HttpTarget,
    "mcp": McpTarget,
    "pipeline": PipelineTarget,
    "recorded": RecordedTarget,
}
TARGETS: Mapping[str, type[Target]] = Registry(_BUILTIN, "workbench.targets", Target)
