"""The retrievers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from workbench.components.retrieval.base import Retriever
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.components.retrieval.dense import DenseRetriever
from workbench.components.retrieval.hybrid import HybridRetriever
from workbench.core.registry import Registry, components

RETRIEVERS: Registry[type[Retriever]] = components(Retriever, "workbench.retrievers", DenseRetriever, BM25Retriever, HybridRetriever)
