"""Align the parts of a text with the text, for splitters that return texts without offsets."""

import itertools
import operator
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Optional

from workbench.chunking.text.packing import Slice

# The most places of a part, and of alignments of the parts before it, to search. Only texts such as "xxxx" have more.
_WIDEST = 16
_SOLID = re.compile(r"\S")


def align(text: str, parts: Sequence[str]) -> list[Slice]:
    """Return a slice equal to each part, with starts in order, so that the least text is left out.

    Ties go to the most even overlaps. Parts that follow each other with only blanks between them can be placed in one way only.
    Parts must not be blank. Raises ValueError, with the first part that has no place, if the parts cannot be aligned.
    """
    return _end_to_end(text, parts) or _Aligner(text, parts).slices()


class _Alignment(NamedTuple):
    """An alignment of the first parts: characters left out, unevenness of overlaps, last start, furthest end."""

    gap: int
    unevenness: float
    start: int
    furthest: int
    end: int
    before: Optional["_Alignment"]


_rank = operator.attrgetter("gap", "unevenness", "start")


def _end_to_end(text: str, parts: Sequence[str]) -> list[Slice] | None:
    """Return the slices of parts separated only by blanks, which is the only way without a gap, or None if other text separates them."""
    slices: list[Slice] = []
    end = 0
    for part in parts:
        start = _solid(text, end) - _solid(part, 0)
        if start < end or not text.startswith(part, start):
            return None
        end = start + len(part)
        slices.append((start, end))
    return None if text[end:].strip() else slices


class _Aligner:
    """A search over all alignments, part by part, in characters that are not blank."""

    def __init__(self, text: str, parts: Sequence[str]) -> None:
        self._text = text
        self._parts = parts
        self._before = [0, *itertools.accumulate(not character.isspace() for character in text)]
        surplus = sum(len("".join(part.split())) for part in parts) - self._before[-1]
        # Without a gap, all overlaps have the same sum, so the most even alignment is the one nearest to their mean.
        self._overlap = max(0.0, surplus / max(1, len(parts) - 1))

    def slices(self) -> list[Slice]:
        alignment = self._best(gaps=False)
        if alignment is None or alignment.gap:
            alignment = self._best(gaps=True)
        slices: list[Slice] = []
        while alignment is not None and alignment.before is not None:
            slices.append((alignment.start, alignment.end))
            alignment = alignment.before
        return slices[::-1]

    def _best(self, gaps: bool) -> _Alignment | None:
        alignments = [_Alignment(0, 0.0, 0, 0, 0, None)]
        for part in self._parts:
            alignments = self._followed(alignments, part, gaps)
            if not alignments and gaps:
                raise ValueError(part)
        complete = [alignment._replace(gap=alignment.gap + self._before[-1] - self._before[alignment.furthest]) for alignment in alignments]
        return min(complete, key=_rank, default=None)

    def _followed(self, alignments: Sequence[_Alignment], part: str, gaps: bool) -> list[_Alignment]:
        """Return the alignments extended by one part."""
        best: dict[tuple[int, int], _Alignment] = {}
        for alignment in alignments:
            for start in self._starts(alignment, part, gaps):
                extended = self._placed(alignment, start, start + len(part))
                key = extended.start, extended.furthest
                if key not in best or _rank(extended) < _rank(best[key]):
                    best[key] = extended
        ordered = sorted(best.values(), key=_rank)
        # The earliest alignment leaves the most places to later parts, so keeping it finds a solution if one exists.
        return ordered[:_WIDEST] + (sorted(ordered[_WIDEST:], key=operator.attrgetter("start"))[:1] if gaps else [])

    def _starts(self, alignment: _Alignment, part: str, gaps: bool) -> list[int]:
        """Return places of a part without a gap, nearest to the mean overlap first, and with `gaps` the next place beyond them too."""
        limit = _solid(self._text, alignment.furthest)
        starts = list(_places(self._text, part, alignment.start, limit))
        if len(starts) > _WIDEST:
            target = self._before[alignment.furthest] - self._overlap
            starts = [starts[0], *sorted(starts[1:], key=lambda start: abs(self._before[start] - target))[: _WIDEST - 1]]
        beyond = self._text.find(part, limit + 1) if gaps else -1
        return [*starts, beyond] if beyond >= 0 else starts

    def _placed(self, alignment: _Alignment, start: int, end: int) -> _Alignment:
        gap = self._before[start] - self._before[alignment.furthest]
        uneven = (-gap - self._overlap) ** 2 if alignment.before else 0.0
        return _Alignment(alignment.gap + max(0, gap), alignment.unevenness + uneven, start, max(alignment.furthest, end), end, alignment)


def _places(text: str, part: str, start: int, last: int) -> Iterable[int]:
    place = text.find(part, start, last + len(part))
    while place >= 0:
        yield place
        place = text.find(part, place + 1, last + len(part))


def _solid(text: str, position: int) -> int:
    """Return the first character from a position on that is not blank, or the text's end."""
    match = _SOLID.search(text, position)
    return match.start() if match else len(text)
