"""The base of retrievers that compare words."""

from abc import abstractmethod
from collections.abc import Sequence

from workbench.retrieval.base import Retriever


class LexicalRetriever(Retriever):
    """A retriever that compares words, and searches the weighted words `queries.words` in place of the texts if a batch has them."""

    @abstractmethod
    def words(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the words of each text in the form in which they are compared."""
