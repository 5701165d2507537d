"""The chunkers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.components.chunking.base import Chunker
from workbench.components.chunking.fixed import FixedChunker
from workbench.components.chunking.foreign.callable import CallableChunker
from workbench.components.chunking.foreign.chonkie import ChonkieChunker
from workbench.components.chunking.foreign.langchain import LangChainChunker
from workbench.components.chunking.hierarchical import HierarchicalChunker
from workbench.components.chunking.markdown import MarkdownChunker
from workbench.components.chunking.recursive import RecursiveChunker
from workbench.components.chunking.semantic import SemanticChunker
from workbench.components.chunking.sentence import SentenceChunker
from workbench.components.chunking.whole import WholeChunker
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
