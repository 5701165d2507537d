"""The generators that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.answering.base import Generator
from workbench.answering.chat import ChatGenerator
from workbench.answering.extractive import ExtractiveGenerator
from workbench.answering.local import LocalGenerator
from workbench.answering.recorded import RecordedGenerator
from workbench.core.registry import Registry

_BUILTIN: dict[str, type[Generator]] = {
    "extractive": ExtractiveGenerator,
    "chat": ChatGenerator,
    "local": LocalGenerator,
    "recorded": RecordedGenerator,
}
GENERATORS: Mapping[str, type[Generator]] = Registry(_BUILTIN, "workbench.generators", Generator)
