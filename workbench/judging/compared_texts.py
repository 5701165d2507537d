"""What passages contain of a text: its words, its numbers, and the sentence that is closest to it."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.answering.quotations import quotable
from workbench.chunking.text.packing import Slice
from workbench.core.fingerprint import fingerprint
from workbench.core.words import search_terms
from workbench.embedding.base import Embedder
from workbench.embedding.embed import embed
from workbench.perturb.values import numbers_in
from workbench.storage.vector_cache import VectorCache, Vectors

Words = frozenset[str]
Floats = NDArray[np.float64]

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
# Batches of other shapes change the seventh decimal, which must not change a score.
_DECIMALS = 5
# Consecutive sentences that are read together.
_WINDOW = 3
# 60 MB of vectors from all-MiniLM-L6-v2.
_MOST_SENTENCES = 40_000


@dataclass(frozen=True)
class Evidence:
    """What passages contain of a text, from 0 to 1, and the sentence that is closest to it.

    `overlap` is the largest share of the text's words times the share of its numbers in a few consecutive sentences, `cosine` the largest of a
    sentence. The closest sentence is [start, end) of the passage with this number, and its text; -1 and empty if no sentence shares anything.
    """

    overlap: float = 0.0
    cosine: float = 0.0
    passage: int = -1
    start: int = -1
    end: int = -1
    text: str = ""

    @property
    def support(self) -> float:
        """Return the mean of overlap and cosine."""
        return round(0.5 * self.overlap + 0.5 * self.cosine, _DECIMALS)


@dataclass(frozen=True)
class _Passage:
    """The sentences of a passage: slices, vectors (n, dimension), words; and the words and numbers of each with the sentences after it."""

    slices: Sequence[Slice]
    vectors: Vectors
    words: Sequence[Words]
    window_words: Sequence[Words]
    window_numbers: Sequence[Words]


_MEMORY: dict[tuple[str, str], _Passage] = {}


class ComparedTexts:
    """Some texts, and the passages that they are compared with. Passages are remembered, since configurations share many."""

    def __init__(self, texts: Iterable[str], passages: Iterable[str], embedder: Embedder, cache: VectorCache) -> None:
        distinct = list(dict.fromkeys(texts))
        self._vectors = dict(zip(distinct, _vectors(distinct, embedder, cache), strict=True))
        self._words = dict(zip(distinct, _words(distinct), strict=True))
        self._passages = _remembered(dict.fromkeys(passages), embedder, cache)

    def evidence(self, text: str, passages: Sequence[str]) -> Evidence:
        """Return what passages contain of a text. A text without numbers has them all; of a text without words, nothing is contained."""
        cosines = self._cosines(text, passages)
        if not len(cosines):
            return Evidence()
        words, numbers = self._words[text], numbers_of(text)
        parts = [self._passages[passage] for passage in passages]
        overlaps = _shares(words, (window for part in parts for window in part.window_words))
        if numbers:
            overlaps *= _shares(numbers, (window for part in parts for window in part.window_numbers))
        closeness = cosines + _shares(words, (sentence for part in parts for sentence in part.words))
        best = int(np.argmax(closeness))
        found = Evidence(float(overlaps.max()), float(cosines.max()))
        if not closeness[best]:
            return found
        number, (start, end) = next(itertools.islice(_places(parts), best, None))
        return replace(found, passage=number, start=start, end=end, text=passages[number][start:end])

    def cosine(self, text: str, passages: Sequence[str]) -> float:
        """Return the largest cosine of a sentence of the passages with a text, 0 without a sentence."""
        return float(self._cosines(text, passages).max(initial=0.0))

    def _cosines(self, text: str, passages: Sequence[str]) -> Floats:
        cosines = [self._passages[passage].vectors @ self._vectors[text] for passage in passages if self._passages[passage].slices]
        found: Floats = np.round(np.clip(np.concatenate([np.zeros(0), *cosines]), 0, 1), _DECIMALS)
        return found


def numbers_of(text: str) -> Words:
    """Return the numbers of a text in digits, without separators of thousands. Numbers in words are included."""
    written = {number.replace(",", "") for number in _NUMBER.findall(text)}
    return frozenset(written | {f"{number.value.normalize():f}" for number in numbers_in(text)})


def _places(parts: Sequence[_Passage]) -> Iterable[tuple[int, Slice]]:
    return ((number, piece) for number, part in enumerate(parts) for piece in part.slices)


def _shares(wanted: Words, found: Iterable[Words]) -> Floats:
    return np.array([len(wanted & some) for some in found], dtype=np.float64) / max(1, len(wanted))


def _windows(sets: Sequence[Words]) -> list[Words]:
    """Return the union of each set with those after it."""
    return [frozenset().union(*sets[place : place + _WINDOW]) for place in range(len(sets))]


def _vectors(texts: Sequence[str], embedder: Embedder, cache: VectorCache) -> Vectors:
    return embed(texts, embedder, "document", cache, "judged texts").vectors if texts else np.zeros((0, 1), dtype=np.float32)


def _words(texts: Sequence[str]) -> list[Words]:
    return list(map(frozenset, search_terms(texts, "english", "english")))


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
    vectors, words, numbers = _vectors(distinct, embedder, cache), _words(distinct), list(map(numbers_of, distinct))

    def passage(text: str) -> _Passage:
        rows = [places[unit] for unit in units[text]]
        own = [words[row] for row in rows]
        return _Passage(slices[text], vectors[rows], own, _windows(own), _windows([numbers[row] for row in rows]))

    return {text: passage(text) for text in texts}
