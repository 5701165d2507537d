"""The words of passages and how rare they are, by which passages are chosen and proposed. No retriever that an experiment compares is involved."""

from collections import defaultdict
from collections.abc import Sequence
from math import log

from workbench.core.text.words import terms


class RareWords:
    """The words of passages, each weighted by the logarithm of all passages per passage that contains it (Spärck Jones 1972)."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._number = len(passages)
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, text in enumerate(passages):
            for word in set(terms(text)):
                self._places[word].append(place)

    def weights(self, text: str) -> dict[str, float]:
        """Return the weight of each word of a text that any passage contains, in the order of the text."""
        return {word: log((1 + self._number) / len(self._places[word])) for word in dict.fromkeys(terms(text)) if word in self._places}

    def ranked(self, text: str) -> list[int]:
        """Return the numbers of the passages that share words with a text, by the sum of the weights of these words."""
        scores: dict[int, float] = defaultdict(float)
        for word, weight in self.weights(text).items():
            for place in self._places[word]:
                scores[place] += weight
        return sorted(scores, key=lambda place: (-scores[place], place))
