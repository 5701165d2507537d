"""Texts with their sentences, words, numbers and vectors, each computed once."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.answering.quotations import quotable
from workbench.chunking.text.packing import Slice
from workbench.embedding.base import Embedder
from workbench.embedding.embed import embed
from workbench.retrieval.bm25 import BM25Retriever
from workbench.storage.vector_cache import VectorCache, Vectors

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# Batches of other shapes change the seventh decimal, which must not change a score.
_DECIMALS = 5


@dataclass(frozen=True)
class Evidence:
    """What passages contain of a text: `words`, `numbers` (shares from 0 to 1), the largest `cosine` with a sentence, and the best sentence.

    The best sentence is [start, end) of a passage, with its text; -1 and empty if the passages share nothing with the text.
    """

    words: float
    numbers: float
    cosine: float
    passage: int = -1
    start: int = -1
    end: int = -1
    text: str = ""

    @property
    def support(self) -> float:
        """Return the mean of words times numbers, and cosine."""
        return 0.5 * self.words * self.numbers + 0.5 * self.cosine

    @property
    def relevance(self) -> float:
        """Return the mean of words and cosine."""
        return 0.5 * self.words + 0.5 * self.cosine


@dataclass(frozen=True)
class _Passage:
    """The sentences of a text with their vectors, and the words and numbers of each."""

    slices: Sequence[Slice]
    vectors: Vectors
    words: Sequence[frozenset[str]]
    numbers: frozenset[str]


class ComparedTexts:
    """Texts to compare, with the sentences of each. Equal texts and sentences are read and embedded once."""

    def __init__(self, texts: Iterable[str], embedder: Embedder, cache: VectorCache) -> None:
        self._slices = {text: quotable(text) for text in dict.fromkeys(texts)}
        units = dict.fromkeys(text[start:end] for text, slices in self._slices.items() for start, end in slices)
        every = list(dict.fromkeys([*self._slices, *units]))
        vectors = embed(every, embedder, "document", cache, "judged texts").vectors if every else ()
        self._vectors: dict[str, NDArray[np.float32]] = dict(zip(every, vectors, strict=True))
        self._words = dict(zip(every, map(frozenset, BM25Retriever().words(every)), strict=True)) if every else {}
        self._passages: dict[str, _Passage] = {}

    def evidence(self, text: str, passages: Sequence[str]) -> Evidence:
        """Return what the passages contain of a text. A text without words or numbers is contained."""
        parts = [self._passage(passage) for passage in passages]
        words, numbers = self._words[text], numbers_of(text)
        found = frozenset().union(*(unit for part in parts for unit in part.words)) if parts else frozenset()
        listed = frozenset().union(*(part.numbers for part in parts)) if parts else frozenset()
        shares = _share(words, found), _share(numbers, listed)
        best, cosine = None, 0.0
        highest = 0.0
        for place, part in enumerate(parts):
            if not part.slices:
                continue
            cosines = np.round(np.clip(part.vectors @ self._vectors[text], 0, 1).astype(np.float64), _DECIMALS)
            recalls = np.array([len(words & unit) for unit in part.words]) / max(1, len(words))
            scores = cosines + recalls
            cosine = max(cosine, float(cosines.max()))
            row = int(scores.argmax())
            if scores[row] > highest:
                highest, best = float(scores[row]), (place, row)
        if best is None:
            return Evidence(*shares, cosine)
        place, row = best
        start, end = parts[place].slices[row]
        return Evidence(*shares, cosine, place, start, end, passages[place][start:end])

    def _passage(self, text: str) -> _Passage:
        if text not in self._passages:
            slices = self._slices[text]
            units = [text[start:end] for start, end in slices]
            vectors = np.stack([self._vectors[unit] for unit in units]) if units else np.zeros((0, 1), dtype=np.float32)
            self._passages[text] = _Passage(slices, vectors, [self._words[unit] for unit in units], numbers_of(text))
        return self._passages[text]


def numbers_of(text: str) -> frozenset[str]:
    """Return the numbers of a text in digits, without separators of thousands."""
    return frozenset(number.replace(",", "") for number in _NUMBER.findall(text))


def _share(wanted: frozenset[str], found: frozenset[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else 1.0
