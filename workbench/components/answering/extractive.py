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
from workbench.components.embedding.embed import ReadText, read_texts
from workbench.components.embedding.sentence_transformers import SentenceTransformerEmbedder
from workbench.core.environment import require_installed
from workbench.core.records import Answer, Passage
from workbench.core.storage.vector_cache import VectorCache
from workbench.core.text.words import VERSION
from workbench.llm.models.files import MINILM

Floats = NDArray[np.float64]

REFUSAL = "The passages do not contain the answer."
# Requests whose sentences are in memory together: about 80 sentences of 1.5 kB each.
_BLOCK = 256
_DECIMALS = 5


class ExtractiveGenerator(Generator):
    """The sentences of the context that are closest to the question, by embeddings and words. No language model is needed.

    The score of a sentence is 0.5 cosine + 0.5 recall of the question's words. The cosine is that of all-MiniLM-L6-v2; words are stemmed,
    without stop words. The answer is a refusal if no sentence reaches the cosine `threshold`. Of a sentence that the border of a passage cuts, the
    part in the passage is compared and quoted like a sentence.
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
        require_installed("answering 'extractive'", "bm25s", "Stemmer")
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
        passage_of = _quotable(request.passages)
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
    """The cosines of some questions with the sentences of their contexts, as one matrix product, and the words of both."""

    def __init__(self, requests: Sequence[AnswerRequest], embedder: Embedder, cache: VectorCache) -> None:
        passages = dict.fromkeys(passage.text for request in requests for passage in request.passages)
        sentences = dict.fromkeys(itertools.chain.from_iterable(map(quotations, passages)))
        self._questions = read_texts(dict.fromkeys(request.query.text for request in requests), embedder, "query", cache)
        self._sentences = read_texts(sentences, embedder, "document", cache)
        self._row, self._column = ({text: place for place, text in enumerate(texts)} for texts in (self._questions, self._sentences))
        # In double precision, because batches of other shapes change the seventh decimal of a single one.
        self._cosines = _matrix(self._questions) @ _matrix(self._sentences).T if sentences else np.zeros((len(self._questions), 0))

    def cosines(self, question: str, texts: Sequence[str]) -> Floats:
        """Return the cosine of each sentence with a question, 0 where it is negative."""
        cosines = self._cosines[self._row[question], [self._column[text] for text in texts]]
        return np.asarray(np.round(np.clip(cosines, 0, 1), _DECIMALS), dtype=np.float64)

    def recalls(self, question: str, texts: Sequence[str]) -> Floats:
        """Return the share of a question's words that each sentence contains, 0 for a question without words."""
        words = self._questions[question].words
        return np.array([len(words & self._sentences[text].words) / max(1, len(words)) for text in texts])


def _matrix(texts: Mapping[str, ReadText]) -> Floats:
    return np.stack([text.vector for text in texts.values()], dtype=np.float64)


def _quotable(passages: Sequence[Passage]) -> dict[str, int]:
    """Return the sentences of a context, each with the number of the first passage that has it, from 0."""
    first: dict[str, int] = {}
    for number, passage in enumerate(passages):
        for text in quotations(passage.text):
            first.setdefault(text, number)
    return first
