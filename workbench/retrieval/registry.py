"""The retrievers that an experiment can name. To add one, write its file and add a line here, or declare an entry point elsewhere."""

from collections.abc import Mapping

from workbench.core.registry import Registry
from workbench.retrieval.base import Retriever
from workbench.retrieval.bm25 import BM25Retriever
from workbench.retrieval.dense import DenseRetriever
from workbench.retrieval.hybrid import HybridRetriever

_BUILTIN: dict[str, type[Retriever]] = {"dense": DenseRetriever, "bm25": BM25Retriever, "hybrid": HybridRetriever}
RETRIEVERS: Mapping[str, type[Retriever]] = Registry(_BUILTIN, "workbench.retrievers", Retriever)
