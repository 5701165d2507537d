"""The chunkers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

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
from workbench.core.registry import Registry, components

CHUNKERS: Registry[type[Chunker]] = components(
    Chunker,
    "workbench.chunkers",
    WholeChunker,
    FixedChunker,
    RecursiveChunker,
    SentenceChunker,
    SemanticChunker,
    HierarchicalChunker,
    MarkdownChunker,
    LangChainChunker,
    ChonkieChunker,
    CallableChunker,
)
