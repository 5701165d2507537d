"""The chunkers that an experiment can name; a new one is its file and its line here."""

from workbench.chunking.base import Chunker
from workbench.chunking.fixed import FixedChunker
from workbench.chunking.hierarchical import HierarchicalChunker
from workbench.chunking.markdown import MarkdownChunker
from workbench.chunking.recursive import RecursiveChunker
from workbench.chunking.sentence import SentenceChunker
from workbench.chunking.whole import WholeChunker

CHUNKERS: dict[str, type[Chunker]] = {
    "whole": WholeChunker,
    "fixed": FixedChunker,
    "recursive": RecursiveChunker,
    "sentence": SentenceChunker,
    "hierarchical": HierarchicalChunker,
    "markdown": MarkdownChunker,
}
