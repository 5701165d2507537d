"""Find code in a text: blocks between fences, also in lists, and code within a line."""

import bisect
import re
from collections.abc import Sequence
from typing import NamedTuple

_FENCE = re.compile(r"^[^\S\n]*(?:(?:[-*+>]|\d+[.)])[^\S\n]+)*(?:(`{3,})([^`\n]*)|(~{3,})([^\n]*))$", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)(`+)(?=[^\s`])[^`\n]*(?<=[^\s`])\1(?!`)")


class _Fence(NamedTuple):
    start: int
    end: int
    mark: str
    info: bool


class TextCode:
    """The code in a text: blocks and inline."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._fences = [
            _Fence(found.start(), found.end(), found[1] or found[3], bool((found[2] or found[4] or "").strip()))
            for found in _FENCE.finditer(text)
        ]
        blocks, self._flaws = _blocks(self._fences)
        starts = [start for start, _ in blocks]
        inline = (found.span() for found in _INLINE.finditer(text))
        outside = (span for span in inline if not (place := bisect.bisect_right(starts, span[0])) or blocks[place - 1][1] <= span[0])
        self._spans = sorted([*blocks, *outside])
        self._starts = [start for start, _ in self._spans]

    def around(self, mark: re.Match[str]) -> tuple[int, int] | None:
        """Return the code that a mark is in."""
        place = bisect.bisect_right(self._starts, mark.start())
        return self._spans[place - 1] if place and self._spans[place - 1][1] > mark.start() else None

    def hides(self, end: re.Match[str]) -> bool:
        """Return True if the end of a thought is in code, and not behind code of the thought that was never closed.

        It is behind such code if the marks of code before it and those after it pair no worse apart than together.
        """
        span = self.around(end)
        if span is None:
            return False
        if self._text[span[0] : span[0] + 1] == "`" and "\n" not in self._text[slice(*span)]:
            line = self._text.rfind("\n", 0, span[0]) + 1, self._text.find("\n", span[1])
            parts = self._text[line[0] : end.start()], self._text[end.end() : line[1] if line[1] >= 0 else None]
            before, after = (len(re.findall("`+", part)) for part in parts)
            return before % 2 + after % 2 > (before + after) % 2
        place = bisect.bisect_left(self._fences, end.start(), key=lambda fence: fence.start)
        return sum(_blocks(part)[1] for part in (self._fences[:place], self._fences[place:])) > self._flaws


def _blocks(fences: Sequence[_Fence]) -> tuple[list[tuple[int, int]], int]:
    """Return the blocks between fences, and the number of fences that do not pair: open ones, and those that open a block within a block."""
    opened: _Fence | None = None
    blocks, flaws = list[tuple[int, int]](), 0
    for fence in fences:
        if opened is None:
            opened = fence
        elif fence.mark.startswith(opened.mark):
            flaws += fence.info
            if not fence.info:
                blocks.append((opened.start, fence.end))
                opened = None
    return blocks, flaws + (opened is not None)
