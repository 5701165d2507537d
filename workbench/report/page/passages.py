"""The texts of the drill-down, each stored once: the stretches of the documents that anything shown lies in.

JavaScript counts UTF-16 units where we count code points, so every place that leaves Python is counted anew.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from workbench.metrics.coverage import Ints
from workbench.records import Document

Place = tuple[int, int, int]
# Characters that are kept on each side of a piece of evidence, so that a missed one is read in its surroundings.
BESIDE = 160


@dataclass(eq=False)
class Passages:
    """Slices (document, start, end), each under its number, in the order in which they were first asked for."""

    documents: Sequence[Document]
    numbers: dict[Place, int] = field(default_factory=dict)
    _astral: dict[int, Ints] = field(default_factory=dict)

    def number(self, place: Place) -> int:
        """The number of a slice."""
        return self.numbers.setdefault(place, len(self.numbers))

    def units(self, doc: int, position: int) -> int:
        """A position of a document in UTF-16 units."""
        if doc not in self._astral:
            text = self.documents[doc].text
            wide = [] if text.isascii() else [at for at, letter in enumerate(text) if ord(letter) > 0xFFFF]
            self._astral[doc] = np.array(wide, dtype=np.int64)
        return position + int(np.searchsorted(self._astral[doc], position))

    def table(self) -> list[int]:
        """Document, start and end of every slice, one after the other."""
        return [value for doc, start, end in self.numbers for value in (doc, self.units(doc, start), self.units(doc, end))]

    def texts(self, besides: Iterable[Place]) -> dict[int, list[tuple[int, str]]]:
        """By document the stretches, as (start, text), that hold the slices and, with their surroundings, the places besides."""
        spans: dict[int, list[tuple[int, int]]] = {}
        for doc, start, end in self.numbers:
            spans.setdefault(doc, []).append((start, end))
        for doc, start, end in besides:
            spans.setdefault(doc, []).append((max(0, start - BESIDE), min(len(self.documents[doc].text), end + BESIDE)))
        return {
            doc: [(self.units(doc, low), self.documents[doc].text[low:high]) for low, high in _joined(found)]
            for doc, found in spans.items()
        }


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that meet or touch as one."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found
