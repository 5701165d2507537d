"""The targets that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.targets.base import Target
from workbench.targets.http.target import HttpTarget

_BUILTIN: dict[str, type[Target]] = {
    "http": HttpTarget,
}
TARGETS: Mapping[str, type[Target]] = Registry(_BUILTIN, "workbench.targets", Target)
