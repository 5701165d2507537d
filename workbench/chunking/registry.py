"""The chunkers that an experiment can name; a new one is its file and its line here, or an entry point of another package."""

from collections.abc import Mapping

from workbench.chunking.base import Chunker
from workbench.chunking.fixed import FixedChunker
from workbench.chunking.foreign.callable import CallableChunker
from workbench.chunking.foreign.chonkie import ChonkieChunker
from workbench.chunking.foreign.langchain import LangChainChunker
from workbench.chunking.hierarchical import HierarchicalChunker
from workbench.chunking.markdown import MarkdownChunker
from workbench.chunking.recursive import RecursiveChunker
from workbench.chunking.semantic import SemanticChunker
from workbench.chunking.sentence import SentenceChunker
from workbench.chunking.whole import WholeChunker
from workbench.core.registry import Registry

_BUILTIN: dict[str, type[Chunker]] = {
    "whole": WholeChunker,
    "fixed": FixedChunker,
    "recursive": RecursiveChunker,
    "sentence": SentenceChunker,
    "semantic": SemanticChunker,
    "hierarchical": HierarchicalChunker,
    "markdown": MarkdownChunker,
    "langchain": LangChainChunker,
    "chonkie": ChonkieChunker,
    "callable": CallableChunker,
}
CHUNKERS: Mapping[str, type[Chunker]] = Registry(_BUILTIN, "workbench.chunkers", Chunker)
