"""What passages contain of a text: its words, its numbers, and the sentence that is closest to it."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.answering.quotations import quotable
from workbench.chunking.text.packing import Slice
from workbench.core.fingerprint import fingerprint
from workbench.embedding.base import Embedder
from workbench.embedding.embed import embed
from workbench.retrieval.bm25 import BM25Retriever
from workbench.storage.vector_cache import VectorCache, Vectors

Words = frozenset[str]

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# Batches of other shapes change the seventh decimal, which must not change a score.
_DECIMALS = 5
# 60 MB of vectors from all-MiniLM-L6-v2.
_MOST_SENTENCES = 40_000


@dataclass(frozen=True)
class Evidence:
    """What passages contain of a text: shares of its `words` and `numbers`, the largest `cosine` of a sentence, and the closest sentence.

    The closest sentence is [start, end) of the passage with this number, and its text; -1 and empty if no sentence shares anything.
    """

    words: float = 0.0
    numbers: float = 0.0
    cosine: float = 0.0
    passage: int = -1
    start: int = -1
    end: int = -1
    text: str = ""

    @property
    def support(self) -> float:
        """Return the mean of words times numbers, and cosine."""
        return round(0.5 * self.words * self.numbers + 0.5 * self.cosine, _DECIMALS)


@dataclass(frozen=True)
class _Passage:
    """The sentences of a passage: slices, vectors (n, dimension) and words, and the words and numbers of all."""

    slices: Sequence[Slice]
    vectors: Vectors
    sentence_words: Sequence[Words]
    words: Words
    numbers: Words


_MEMORY: dict[tuple[str, str], _Passage] = {}


class ComparedTexts:
    """Some texts, and the passages that they are compared with. Passages are remembered, since configurations share many."""

    def __init__(self, texts: Iterable[str], passages: Iterable[str], embedder: Embedder, cache: VectorCache) -> None:
        distinct = list(dict.fromkeys(texts))
        self._vectors = dict(zip(distinct, _vectors(distinct, embedder, cache), strict=True))
        self._words = dict(zip(distinct, _words(distinct), strict=True))
        self._passages = _remembered(dict.fromkeys(passages), embedder, cache)

    def evidence(self, text: str, passages: Sequence[str]) -> Evidence:
        """Return what passages contain of a text. All numbers of a text without numbers are contained, and none of no words."""
        words, numbers = self._words[text], numbers_of(text)
        parts = [self._passages[passage] for passage in passages]
        if not any(part.slices for part in parts):
            return Evidence()
        cosines = np.concatenate([part.vectors @ self._vectors[text] for part in parts if part.slices])
        cosines = np.round(np.clip(cosines, 0, 1).astype(np.float64), _DECIMALS)
        shared = np.array([len(words & sentence) for part in parts for sentence in part.sentence_words])
        best = int(np.argmax(cosines + shared / max(1, len(words))))
        contained = _share(words, [part.words for part in parts]) if words else 0.0
        found = Evidence(contained, _share(numbers, [part.numbers for part in parts]), float(cosines.max()))
        if not cosines[best] and not shared[best]:
            return found
        number, (start, end) = next(itertools.islice(_places(parts), best, None))
        return Evidence(found.words, found.numbers, found.cosine, number, start, end, passages[number][start:end])


def numbers_of(text: str) -> Words:
    """Return the numbers of a text in digits, without separators of thousands."""
    return frozenset(number.replace(",", "") for number in _NUMBER.findall(text))


def _places(parts: Sequence[_Passage]) -> Iterable[tuple[int, Slice]]:
    return ((number, piece) for number, part in enumerate(parts) for piece in part.slices)


def _share(wanted: Words, found: Sequence[Words]) -> float:
    return len(frozenset().union(*(wanted & some for some in found))) / len(wanted) if wanted else 1.0


def _vectors(texts: Sequence[str], embedder: Embedder, cache: VectorCache) -> Vectors:
    return embed(texts, embedder, "document", cache, "judged texts").vectors if texts else np.zeros((0, 1), dtype=np.float32)


def _words(texts: Sequence[str]) -> list[Words]:
    return list(map(frozenset, BM25Retriever().words(texts))) if texts else []


def _remembered(texts: Iterable[str], embedder: Embedder, cache: VectorCache) -> Mapping[str, _Passage]:
    """Return the passages, reading those that this process does not remember."""
    identity = fingerprint(embedder.identity("document"))
    known = {text: _MEMORY[identity, text] for text in texts if (identity, text) in _MEMORY}
    known |= _read([text for text in texts if text not in known], embedder, cache)
    _MEMORY.update({(identity, text): passage for text, passage in known.items()})
    if sum(len(passage.slices) for passage in _MEMORY.values()) > _MOST_SENTENCES:
        _MEMORY.clear()
    return known


def _read(texts: Sequence[str], embedder: Embedder, cache: VectorCache) -> dict[str, _Passage]:
    slices = {text: quotable(text) for text in texts}
    units = {text: [text[start:end] for start, end in pieces] for text, pieces in slices.items()}
    distinct = list(dict.fromkeys(itertools.chain.from_iterable(units.values())))
    places = {unit: place for place, unit in enumerate(distinct)}
    vectors, words = _vectors(distinct, embedder, cache), _words(distinct)

    def passage(text: str) -> _Passage:
        rows = [places[unit] for unit in units[text]]
        sentence_words = [words[row] for row in rows]
        return _Passage(slices[text], vectors[rows], sentence_words, frozenset().union(*sentence_words), numbers_of(text))

    return {text: passage(text) for text in texts}
