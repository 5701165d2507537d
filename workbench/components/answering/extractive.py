"""Answers that quote the sentences of a context."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from workbench.components.answering.base import AnswerRequest, AnswerResources, Generator
from workbench.components.chunking.sentences import quotations
from workbench.components.embedding.base import Embedder
from workbench.components.embedding.embed import embed
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.records import Answer, Passage
from workbench.core.storage.vector_cache import VectorCache, Vectors
from workbench.core.text.words import VERSION, search_terms
from workbench.llm.models.files import MINILM

Floats = NDArray[np.float64]

REFUSAL = "The passages do not contain the answer."
# Requests whose sentences are in memory together: about 80 sentences of 1.5 kB each.
_BLOCK = 256
# Batches of other shapes change the seventh decimal, which must not change an answer.
_DECIMALS = 5


class ExtractiveGenerator(Generator):
    """The sentences of the context that are closest to the question, by embeddings and words. No language model is needed.

    The score of a sentence is 0.5 cosine + 0.5 recall of the question's words. The cosine is that of all-MiniLM-L6-v2; words are stemmed,
    without stop words. The answer is a refusal if no sentence reaches the cosine `threshold`.
    """

    verbatim: ClassVar[bool] = True

    kind: Literal["extractive"] = "extractive"
    sentences: int = Field(default=2, ge=1, le=20, description="The number of sentences in an answer.")
    threshold: float = Field(default=0.5, ge=0, le=1, description="The cosine with the question that a sentence must reach for an answer.")

    @property
    def compared_by(self) -> Embedder:
        """Return the embedder that compares sentences with questions: all-MiniLM-L6-v2 in every experiment."""
        return SentenceTransformerEmbedder(model=MINILM)

    def check(self) -> None:
        self.compared_by.check()

    def identity(self) -> dict[str, Any]:
        """Return the settings, the version of words, and everything that determines a vector."""
        embedder = self.compared_by
        vectors = [embedder.identity("query"), embedder.identity("document")]
        return {"version": self.version, **self.model_dump(mode="json"), "words": VERSION, "embedding": vectors}

    def answer(self, requests: Sequence[AnswerRequest], resources: AnswerResources) -> Iterator[tuple[int, Answer]]:
        """Yield the answers in the order of the requests. `confidence` is the largest cosine, which is compared with `threshold`."""
        for start in range(0, len(requests), _BLOCK):
            block = requests[start : start + _BLOCK]
            comparison = _Comparison(block, self.compared_by, resources.vectors)
            for place, request in enumerate(block, start):
                yield place, self._answer(request, comparison)

    def _answer(self, request: AnswerRequest, comparison: "_Comparison") -> Answer:
        passage_of = _quotable(request.passages, comparison.quotations)
        quotable = list(passage_of)
        cosines = comparison.cosines(request.query.text, quotable)
        confidence = float(cosines.max(initial=0.0))
        if not quotable or confidence < self.threshold:
            return Answer(REFUSAL, confidence=confidence, refused=True, truncated=False)
        scores = 0.5 * cosines + 0.5 * comparison.recalls(request.query.text, quotable)
        best = sorted(np.argsort(-np.round(scores, _DECIMALS), kind="stable")[: self.sentences].tolist())
        chosen = [quotable[place] for place in best]
        cited = dict.fromkeys(passage_of[text] for text in chosen)
        return Answer(" ".join(chosen), tuple(cited), confidence, refused=False, truncated=False)


class _Comparison:
    """The vectors and words of some questions and of the sentences of their contexts."""

    def __init__(self, requests: Sequence[AnswerRequest], embedder: Embedder, cache: VectorCache) -> None:
        questions = list(dict.fromkeys(request.query.text for request in requests))
        passages = dict.fromkeys(passage.text for request in requests for passage in request.passages)
        self.quotations = {text: quotations(text) for text in passages}
        sentences = list(dict.fromkeys(itertools.chain.from_iterable(self.quotations.values())))
        self._questions = _vectors(questions, embedder, "query", cache)
        self._sentences = _vectors(sentences, embedder, "document", cache)
        every = list(dict.fromkeys([*questions, *sentences]))
        self._words = dict(zip(every, map(frozenset, search_terms(every, "english", "english")), strict=True))

    def cosines(self, question: str, texts: Sequence[str]) -> Floats:
        """Return the cosine of each sentence with a question, 0 where it is negative."""
        if not texts:
            return np.zeros(0)
        cosines = np.stack([self._sentences[text] for text in texts]) @ self._questions[question]
        return np.asarray(np.round(np.clip(cosines, 0, 1).astype(np.float64), _DECIMALS), dtype=np.float64)

    def recalls(self, question: str, texts: Sequence[str]) -> Floats:
        """Return the share of a question's words that each sentence contains, 0 for a question without words."""
        words = self._words[question]
        return np.array([len(words & self._words[text]) / max(1, len(words)) for text in texts])


def _vectors(texts: Sequence[str], embedder: Embedder, role: Literal["query", "document"], cache: VectorCache) -> Mapping[str, Vectors]:
    return dict(zip(texts, embed(texts, embedder, role, cache, "answers").vectors, strict=True)) if texts else {}


def _quotable(passages: Sequence[Passage], quotations: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return the sentences of a context, each with the number of the first passage that has it, from 0."""
    first: dict[str, int] = {}
    for number, passage in enumerate(passages):
        for text in quotations[passage.text]:
            first.setdefault(text, number)
    return first
