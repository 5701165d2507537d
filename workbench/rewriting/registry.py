"""The rewriters that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.rewriting.base import Rewriter
from workbench.rewriting.recorded import RecordedRewriter
from workbench.rewriting.rm3 import RM3Rewriter
from workbench.rewriting.rocchio import RocchioRewriter

_BUILTIN: dict[str, type[Rewriter]] = {"rm3": RM3Rewriter, "rocchio": RocchioRewriter, "recorded": RecordedRewriter}
REWRITERS: Mapping[str, type[Rewriter]] = Registry(_BUILTIN, "workbench.rewriters", Rewriter)
