"""The retrievers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.core.registry import Registry, components
from workbench.retrieval.base import Retriever
from workbench.retrieval.bm25 import BM25Retriever
from workbench.retrieval.dense import DenseRetriever
from workbench.retrieval.hybrid import HybridRetriever

RETRIEVERS: Registry[type[Retriever]] = components(Retriever, "workbench.retrievers", DenseRetriever, BM25Retriever, HybridRetriever)
