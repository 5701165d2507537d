"""The retrievers that an experiment can name; a new one is its file and its line here."""

from workbench.retrieval.base import Retriever
from workbench.retrieval.bm25 import Bm25Retriever
from workbench.retrieval.dense import DenseRetriever

RETRIEVERS: dict[str, type[Retriever]] = {"dense": DenseRetriever, "bm25": Bm25Retriever}
