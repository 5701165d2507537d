"""The components that an experiment can name, except embedders, which judges name too: those are in `embedding/registry.py`.

To add one, write its file and add it here, or declare an entry point elsewhere.
"""

from workbench.components.answering.base import Generator
from workbench.components.answering.extractive import ExtractiveGenerator
from workbench.components.answering.prompted import ChatGenerator, LocalGenerator
from workbench.components.answering.recorded import RecordedGenerator
from workbench.components.chunking.base import Chunker
from workbench.components.chunking.chonkie import ChonkieChunker
from workbench.components.chunking.foreign import CallableChunker
from workbench.components.chunking.langchain import LangChainChunker
from workbench.components.chunking.markdown import MarkdownChunker
from workbench.components.chunking.plain import FixedChunker, SentenceChunker, WholeChunker
from workbench.components.chunking.recursive import HierarchicalChunker, RecursiveChunker
from workbench.components.chunking.semantic import SemanticChunker
from workbench.components.judging.base import ClaimSplitter, Judge
from workbench.components.judging.cascade import CascadeJudge
from workbench.components.judging.chat_splitter import ChatSplitter
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.prompted import ChatJudge, LocalJudge
from workbench.components.judging.sentence_splitter import SentenceSplitter
from workbench.components.reranking.base import Reranker
from workbench.components.reranking.cross_encoder import CrossEncoderReranker
from workbench.components.reranking.endpoint import EndpointReranker
from workbench.components.reranking.late_interaction import LateInteractionReranker
from workbench.components.reranking.mmr import MMRReranker
from workbench.components.retrieval.base import Retriever
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.components.rewriting.base import Rewriter
from workbench.components.rewriting.feedback import RM3Rewriter, RocchioRewriter
from workbench.components.rewriting.recorded import RecordedRewriter
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
RETRIEVERS: Registry[type[Retriever]] = components(Retriever, "workbench.retrievers", DenseRetriever, BM25Retriever, HybridRetriever)
RERANKERS: Registry[type[Reranker]] = components(
    Reranker, "workbench.rerankers", LateInteractionReranker, CrossEncoderReranker, EndpointReranker, MMRReranker
)
REWRITERS: Registry[type[Rewriter]] = components(Rewriter, "workbench.rewriters", RM3Rewriter, RocchioRewriter, RecordedRewriter)
GENERATORS: Registry[type[Generator]] = components(
    Generator, "workbench.generators", ExtractiveGenerator, ChatGenerator, LocalGenerator, RecordedGenerator
)
JUDGES: Registry[type[Judge]] = components(Judge, "workbench.judges", OverlapJudge, ChatJudge, LocalJudge, CascadeJudge)
SPLITTERS: Registry[type[ClaimSplitter]] = components(ClaimSplitter, "workbench.claim_splitters", SentenceSplitter, ChatSplitter)
