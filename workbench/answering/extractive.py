"""Answers that quote the sentences of a context."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workbench.answering.base import AnswerRequest, AnswerResources, GeneratedAnswer, Generator
from workbench.chunking.text.packing import trimmed
from workbench.chunking.text.sentences import sentences
from workbench.embedding.base import Embedder
from workbench.embedding.embed import embed
from workbench.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.models.files import MINILM
from workbench.retrieval.bm25 import BM25Retriever
from workbench.storage.vector_cache import VectorCache, Vectors

Floats = NDArray[np.float64]

REFUSAL = "The passages do not contain the answer."
# Batches of other shapes change the seventh decimal, which must not change an answer.
_DECIMALS = 5
# A row of a table or an item of a list is a unit by itself.
_UNIT = re.compile(r"^[^\S\n]*(?:\||[-*+•][^\S\n]|\d+[.)][^\S\n]|#)", re.MULTILINE)
_HEADING = re.compile(r"#+\s")
_WORD = re.compile(r"\w")


class Quotation(NamedTuple):
    """A sentence of a context: the number of its passage, from 0, and its text."""

    passage: int
    text: str


class ExtractiveGenerator(Generator):
    """The sentences of the context that are closest to the question, by embeddings and words. Needs no language model.

    A sentence's score is 0.5 cosine + 0.5 recall of the question's words, where the cosine is that of all-MiniLM-L6-v2 and words are
    stemmed, without stop words. The answer is refused if neither a passage nor a sentence has a cosine of `threshold`.
    """

    verbatim: ClassVar[bool] = True

    kind: Literal["extractive"] = "extractive"
    sentences: int = Field(default=2, ge=1, le=20, description="The number of sentences in an answer.")
    threshold: float = Field(
        default=0.5, ge=0, le=1, description="The smallest cosine of the closest passage or sentence with the question for which to answer."
    )

    @property
    def compared_by(self) -> Embedder:
        """Return the embedder that compares sentences with questions: all-MiniLM-L6-v2 for every experiment."""
        return SentenceTransformerEmbedder(model=MINILM)

    def check(self) -> None:
        """Raise ModelError if the files of the model are missing."""
        self.compared_by.check()

    def identity(self) -> dict[str, Any]:
        """Return the settings and everything that determines a vector."""
        return {"version": self.version, **self.model_dump(mode="json"), "embedding": self.compared_by.identity("document")}

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, GeneratedAnswer]]:
        """Yield the answers in the order of the requests. `confidence` is the cosine that is compared with `threshold`."""
        raise NotImplementedError
