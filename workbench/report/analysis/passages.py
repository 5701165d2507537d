"""The passages of a run, with evidence, planted text and the words that decide about claims marked."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from workbench.core.errors import InputError
from workbench.core.memo import memoised
from workbench.report.results.run_tables import RunTables

Role = Literal["plain", "delivered", "missed", "cut", "planted", "supported", "contradicted", "absent", "scored", "unjudged", "deciding"]
Stretch = tuple[int, int, Role]
# Characters of plain text to keep beside a mark, and in a text without marks.
BESIDE = 120
ALONE = 260


class Mark(NamedTuple):
    """A stretch with its role. `label` names it, `anchor` is its own identifier on a page, and `target` that of what it refers to."""

    start: int
    end: int
    role: Role
    label: str = ""
    anchor: str = ""
    target: str = ""


@dataclass(frozen=True)
class Excerpt:
    """A stretch of a document that begins at `start`. `passage[low:high]` slices it by document positions."""

    start: int
    text: str

    @property
    def end(self) -> int:
        """The position after the last character."""
        return self.start + len(self.text)

    def __getitem__(self, part: slice) -> str:
        return self.text[part.start - self.start : part.stop - self.start]


def passage_of(run: RunTables, doc_id: str, start: int, end: int) -> Excerpt:
    """The passage that contains [start, end) of a document. Raises InputError if the run has none."""
    passages = _by_document(run).get(doc_id, [])
    index = bisect_right(passages, start, key=lambda passage: passage.start) - 1
    if index < 0 or end > passages[index].end:
        raise InputError(f"the run has no text for {doc_id}:{start}-{end}", "make the outputs again with workbench sweep")
    return passages[index]


def text_of(run: RunTables, doc_id: str, start: int, end: int) -> str:
    """The text of [start, end) of a document."""
    return passage_of(run, doc_id, start, end)[start:end]


@memoised(1)
def _by_document(run: RunTables) -> Mapping[str, list[Excerpt]]:
    passages: dict[str, list[Excerpt]] = {}
    for doc_id, start, text in run.passages.sort_values(["doc_id", "start"])[["doc_id", "start", "text"]].itertuples(index=False):
        passages.setdefault(doc_id, []).append(Excerpt(int(start), text))
    return passages


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of plain text with its role. Templates escape the text. The other fields are those of its `Mark`."""

    text: str
    role: Role = "plain"
    label: str = ""
    anchor: str = ""
    target: str = ""


def marked(
    text: str | Excerpt, start: int, end: int, stretches: Sequence[Stretch], beside: int = BESIDE, alone: int = ALONE
) -> list[Piece]:
    """Mark the stretches in the slice [start, end) of a text, and cut long plain parts to `beside` characters next to a mark."""
    return with_marks(text, start, end, [Mark(*stretch) for stretch in disjoint(stretches)], beside, alone)


def with_marks(text: str | Excerpt, start: int, end: int, marks: Sequence[Mark], beside: int = BESIDE, alone: int = ALONE) -> list[Piece]:
    """Cut the slice [start, end) of a text at marks, which are sorted and disjoint, and shorten the plain parts between them."""
    pieces, position = [], start
    inside = [mark for mark in marks if mark.start < end and mark.end > start]
    for mark in inside:
        low, high = max(mark.start, start), min(mark.end, end)
        pieces.append(Piece(_between(text[position:low], left=position > start, right=True, most=beside)))
        pieces.append(Piece(text[low:high], *mark[2:]))
        position = high
    most = beside if inside else alone
    pieces.append(Piece(_between(text[position:end], left=True, right=False, most=most)))
    return [piece for piece in pieces if piece.text]


def against_delivered(text: str | Excerpt, start: int, end: int, delivered: Sequence[tuple[int, int]]) -> list[Stretch]:
    """Split the span [start, end) into delivered and missed stretches. Blanks between two stretches belong to the first."""
    stretches: list[Stretch] = []
    position = start
    for low, high in sorted(delivered):
        low, high = max(low, position), min(high, end)
        if low >= high:
            continue
        if text[position:low].strip():
            stretches.append((position, low, "missed"))
            position = low
        if stretches and stretches[-1][2] == "delivered":
            position = stretches.pop()[0]
        stretches.append((position, high, "delivered"))
        position = high
    if text[position:end].strip():
        stretches.append((position, end, "missed"))
    return stretches


def disjoint(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Sort stretches by start and remove their overlaps with earlier ones."""
    parts: list[Stretch] = []
    end = 0
    for low, high, role in sorted(stretches):
        low = max(low, end)
        if low < high:
            parts.append((low, high, role))
            end = high
    return parts


def _between(text: str, *, left: bool, right: bool, most: int) -> str:
    """Shorten plain text with an ellipsis far from a mark. `left` and `right` are the sides with a mark."""
    if left and right:
        return text if len(text) <= 2 * most + 20 else f"{_head(text, most)} … {_tail(text, most)}"
    if right:
        return text if len(text) <= most else f"… {_tail(text, most)}"
    return text if len(text) <= most else f"{_head(text, most)} …"


def _head(text: str, most: int) -> str:
    # Cut at a word boundary unless the last word begins too far back.
    head = text[:most]
    return head.rsplit(None, 1)[0] if " " in head[-30:] else head


def _tail(text: str, most: int) -> str:
    tail = text[-most:]
    return tail.split(None, 1)[1] if " " in tail[:30] else tail
