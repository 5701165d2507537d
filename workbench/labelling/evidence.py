"""Compare and join the evidence that several people mark: equal spans, alternatives of one piece, and pieces."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from workbench.labelling.actions import LabelAction
from workbench.labelling.adjudication import Adjudicator
from workbench.records import Need, Span

# The label of a span of the dataset that a person calls no evidence.
NO_EVIDENCE = 0
Item = TypeVar("Item", bound=Hashable)


def span_of(action: LabelAction) -> Span:
    """Return the span that an action labels."""
    return Span(action.doc_id, action.start, action.end)


def overlap(first: Span, second: Span) -> int:
    """Return how many characters two spans share."""
    return max(0, min(first.end, second.end) - max(first.start, second.start)) if first.doc_id == second.doc_id else 0


def alike(first: Span, second: Span) -> bool:
    """Return whether two spans mark the same passage: they share at least half of the shorter one, as evidence and chunks must."""
    return 2 * overlap(first, second) >= min(first.end - first.start, second.end - second.start) and overlap(first, second) > 0


def groups(items: Sequence[Item], linked: Callable[[Item, Item], bool]) -> list[list[Item]]:
    """Group items that are linked directly or by way of others, in order."""
    found: list[list[Item]] = []
    for item in items:
        joined = [group for group in found if any(linked(item, other) for other in group)]
        found = [group for group in found if group not in joined]
        found.append([*(other for group in joined for other in group), item])
    return found


@dataclass(frozen=True, slots=True)
class _Mark:
    """A span that a person marked, as the piece of evidence with this number."""

    by: str
    span: Span
    piece: int


# A piece of the dataset's evidence has no person, so that people who add to it mean the same.
_Piece = tuple[str, int]


def joined_needs(query_id: str, existing: Sequence[Need], judge: Adjudicator) -> list[Need]:
    """Return a question's evidence with the marks that hold added, and the spans removed that people call no evidence.

    Marks that share at least half of the shorter one are the same. Marked by the adjudicator, or by more than half of the people who marked
    evidence of the question, they hold, and the longest span is taken.
    """
    marks = [
        _Mark(name, span_of(action), int(action.value or NO_EVIDENCE))
        for name, own in judge.labels.items()
        for action in own.of("span", query_id)
        if judge.name in (name, "") or not judge.labels[judge.name].of("span", query_id)
    ]
    people = list(dict.fromkeys(mark.by for mark in marks))
    removed = _removed(query_id, [mark for mark in marks if mark.piece == NO_EVIDENCE], people, judge)
    alternatives: dict[Span, list[_Piece]] = {
        span: [("", number)] for number, need in enumerate(existing, 1) for span in need.alternatives if span not in removed
    }
    for group in groups([mark for mark in marks if mark.piece != NO_EVIDENCE], lambda one, other: alike(one.span, other.span)):
        longest = max((mark.span for mark in group), key=lambda span: (span.end - span.start, -span.start))
        if _holds(query_id, longest, {mark.by for mark in group}, people, judge):
            pieces = [("" if mark.piece <= len(existing) else mark.by, mark.piece) for mark in group]
            alternatives.setdefault(longest, []).extend(pieces)
    joined = groups(list(alternatives), lambda one, other: not set(alternatives[one]).isdisjoint(alternatives[other]))
    return [Need(query_id, tuple(spans)) for spans in _in_order(joined, list(alternatives))]


def _in_order(joined: Iterable[list[Span]], order: Sequence[Span]) -> list[list[Span]]:
    return sorted((sorted(spans, key=order.index) for spans in joined), key=lambda spans: order.index(spans[0]))


def _removed(query_id: str, marks: Sequence[_Mark], people: Sequence[str], judge: Adjudicator) -> set[Span]:
    """Return the spans of the dataset that are no evidence."""
    by_span: dict[Span, set[str]] = {}
    for mark in marks:
        by_span.setdefault(mark.span, set()).add(mark.by)
    return {span for span, against in by_span.items() if _holds(query_id, span, against, people, judge, "no evidence", "evidence")}


def _holds(
    query_id: str,
    span: Span,
    for_it: set[str],
    people: Sequence[str],
    judge: Adjudicator,
    word: str = "marked",
    opposite: str = "not marked",
) -> bool:
    """Return whether more than half of the people say so. List the conflict if they do not."""
    if 2 * len(for_it) > len(people):
        return True
    said = {name: word if name in for_it else opposite for name in people}
    judge.add_conflict(query_id, f"evidence {span.doc_id}:{span.start}-{span.end}", said)
    return False
