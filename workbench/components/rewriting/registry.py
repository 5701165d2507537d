"""The rewriters that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.components.rewriting.base import Rewriter
from workbench.components.rewriting.recorded import RecordedRewriter
from workbench.components.rewriting.rm3 import RM3Rewriter
from workbench.components.rewriting.rocchio import RocchioRewriter
from workbench.core.registry import Registry, components

REWRITERS: Registry[type[Rewriter]] = components(Rewriter, "workbench.rewriters", RM3Rewriter, RocchioRewriter, RecordedRewriter)
