"""The generators that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.components.answering.base import Generator
from workbench.components.answering.chat import ChatGenerator
from workbench.components.answering.extractive import ExtractiveGenerator
from workbench.components.answering.local import LocalGenerator
from workbench.components.answering.recorded import RecordedGenerator
from workbench.core.registry import Registry

_BUILTIN: dict[str, type[Generator]] = {
    "extractive": ExtractiveGenerator,
    "chat": ChatGenerator,
    "local": LocalGenerator,
    "recorded": RecordedGenerator,
}
GENERATORS: Mapping[str, type[Generator]] = Registry(_BUILTIN, "workbench.generators", Generator)
