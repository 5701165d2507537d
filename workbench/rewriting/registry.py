"""The rewriters that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.core.registry import Registry, components
from workbench.rewriting.base import Rewriter
from workbench.rewriting.recorded import RecordedRewriter
from workbench.rewriting.rm3 import RM3Rewriter
from workbench.rewriting.rocchio import RocchioRewriter

REWRITERS: Registry[type[Rewriter]] = components(Rewriter, "workbench.rewriters", RM3Rewriter, RocchioRewriter, RecordedRewriter)
