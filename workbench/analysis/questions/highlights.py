"""Evidence in its text: the stretches that were delivered or missed, and the rest shortened around them.

Pieces are plain strings with their roles; templates escape them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.analysis.questions.passages import Passage

Role = Literal["plain", "delivered", "missed"]
Stretch = tuple[int, int, Role]

# Characters of plain text that are kept beside a mark, and in a text without marks.
BESIDE = 120
ALONE = 260


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text as it is shown."""

    text: str
    role: Role = "plain"


def marked(
    text: str | Passage, start: int, end: int, stretches: Sequence[Stretch], beside: int = BESIDE, alone: int = ALONE
) -> list[Piece]:
    """The slice [start, end) of a text with its stretches marked and long plain parts cut to `beside` characters next to a mark."""
    pieces, position = [], start
    inside = [(max(low, start), min(high, end), role) for low, high, role in disjoint(stretches) if low < end and high > start]
    for low, high, role in inside:
        pieces.append(Piece(_between(text[position:low], left=position > start, right=True, most=beside)))
        pieces.append(Piece(text[low:high], role))
        position = high
    most = beside if inside else alone
    pieces.append(Piece(_between(text[position:end], left=True, right=False, most=most)))
    return [piece for piece in pieces if piece.text]


def against_delivered(text: str | Passage, start: int, end: int, delivered: Sequence[tuple[int, int]]) -> list[Stretch]:
    """The span [start, end) as stretches that were delivered or missed; blanks between two stretches belong to the first."""
    found: list[Stretch] = []
    position = start
    for low, high in sorted(delivered):
        low, high = max(low, position), min(high, end)
        if low >= high:
            continue
        if text[position:low].strip():
            found.append((position, low, "missed"))
            position = low
        if found and found[-1][2] == "delivered":
            position = found.pop()[0]
        found.append((position, high, "delivered"))
        position = high
    if text[position:end].strip():
        found.append((position, end, "missed"))
    return found


def disjoint(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Stretches by their start, each without the text of the earlier ones."""
    found: list[Stretch] = []
    reach = 0
    for low, high, role in sorted(stretches):
        low = max(low, reach)
        if low < high:
            found.append((low, high, role))
            reach = high
    return found


def _between(text: str, *, left: bool, right: bool, most: int) -> str:
    """Plain text with its far parts replaced by an ellipsis; `left` and `right` are the sides with a mark."""
    if left and right:
        return text if len(text) <= 2 * most + 20 else f"{_head(text, most)} … {_tail(text, most)}"
    if right:
        return text if len(text) <= most else f"… {_tail(text, most)}"
    return text if len(text) <= most else f"{_head(text, most)} …"


def _head(text: str, most: int) -> str:
    # Whole words, unless the last one begins too far back.
    kept = text[:most]
    return kept.rsplit(None, 1)[0] if " " in kept[-30:] else kept


def _tail(text: str, most: int) -> str:
    kept = text[-most:]
    return kept.split(None, 1)[1] if " " in kept[:30] else kept
