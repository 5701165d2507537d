"""The targets that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.targets.base import Target
from workbench.targets.callable.target import CallableTarget
from workbench.targets.http.target import HttpTarget
from workbench.targets.mcp.target import McpTarget
from workbench.targets.pipeline import PipelineTarget
from workbench.targets.recorded.target import RecordedTarget

_BUILTIN: dict[str, type[Target]] = {
    "callable": CallableTarget,
    "http": HttpTarget,
    "mcp": McpTarget,
    "pipeline": PipelineTarget,
    "recorded": RecordedTarget,
}
TARGETS: Mapping[str, type[Target]] = Registry(_BUILTIN, "workbench.targets", Target)
