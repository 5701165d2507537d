"""Resolve the labels, marks of evidence and reviews of several people.

The adjudicator decides, else the majority. Without either, nothing is labelled and the conflict is listed.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from workbench.core.errors import InputError
from workbench.core.records import ACCEPTED_BY, PROVENANCE, Need, Query, Span, same_evidence
from workbench.core.text.display import excerpt
from workbench.core.text.formatting import meant
from workbench.people.labelling.label_file import ActionKind, AnnotatorLabels, LabelAction, Value


@dataclass(frozen=True, slots=True)
class LabelConflict:
    """Something that people label differently without a majority: the question, what it is `about`, and who says what."""

    query_id: str
    about: str
    labels: str

    def __str__(self) -> str:
        return f"question {self.query_id}, {self.about}: {self.labels}"


class Adjudicator:
    """The labels of all people by name, and the one whose labels hold where people disagree, if there is one.

    `conflicts` grows with each call of `resolve` that finds neither an adjudicator's label nor a majority.
    """

    def __init__(self, labels: Mapping[str, AnnotatorLabels], name: str = "") -> None:
        """Raises InputError if the adjudicator labelled nothing."""
        if name and name not in labels:
            fix = f"choose one of {', '.join(labels)}" if labels else "the files contain no label"
            raise InputError(f"the adjudicator {name!r} has labelled nothing{meant(name, labels)}", fix)
        self.labels = labels
        self.name = name
        self.conflicts: list[LabelConflict] = []

    def resolve(self, kind: ActionKind, query_id: str, doc_id: str = "", show: Callable[[Value], str] = str) -> Value:
        """Return the label that holds, or None if nobody labelled it or people disagree. `show` says a label in words."""
        given = {name: own.value(kind, query_id, doc_id) for name, own in self.labels.items()}
        return self.settle(query_id, f"document {doc_id}" if doc_id else kind, given, show)

    def settle(self, query_id: str, about: str, given: Mapping[str, Value], show: Callable[[Value], str] = str) -> Value:
        """Return the value that holds of those that people give, or None if nobody gives one or they disagree, which is listed."""
        votes = {name: value for name, value in given.items() if value is not None}
        if self.name in votes:
            return votes[self.name]
        if not votes:
            return None
        # `1` and `true` are equal and of different kinds, but a kind of label has values of one type.
        value, supporters = Counter(votes.values()).most_common(1)[0]
        if 2 * supporters > len(votes):
            return value
        self.add_conflict(query_id, about, {name: show(value) for name, value in votes.items()})
        return None

    def add_conflict(self, query_id: str, about: str, said: Mapping[str, str]) -> None:
        self.conflicts.append(LabelConflict(query_id, about, "; ".join(f"{name}: {words}" for name, words in said.items())))


# The label of a span of the dataset that a person calls no evidence.
NO_EVIDENCE = 0
Item = TypeVar("Item", bound=Hashable)


def span_of(action: LabelAction) -> Span:
    """Return the span that an action labels."""
    return Span(action.doc_id, action.start, action.end)


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
    for group in groups([mark for mark in marks if mark.piece != NO_EVIDENCE], lambda one, other: same_evidence(one.span, other.span)):
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
    """Decide by more than half of the people. List the conflict if there is no majority."""
    if 2 * len(for_it) > len(people):
        return True
    said = {name: word if name in for_it else opposite for name in people}
    judge.add_conflict(query_id, f"evidence {span.doc_id}:{span.start}-{span.end}", said)
    return False


# Who wrote the text of a question that was drafted, in its provenance.
_REWRITTEN_BY = "rewritten_by"


def drafted_by(query: Query) -> str:
    """Return who drafted a question, in parentheses, or an empty text if its provenance does not say."""
    author = str(_provenance(query).get("model") or "").strip()
    return f" ({excerpt(author)})" if author else ""


def drafted_part(query: Query) -> str:
    """Return which part of a synthetic question is drafted: the `question`, or the `answer` of a question that a person wrote."""
    return "answer" if _provenance(query).get("part") == "answer" else "question"


def reviewed(query: Query, judge: Adjudicator) -> tuple[Query, str]:
    """Return a question as people accept it, with the text that holds, and why it is left out if they refuse it, or an empty text.

    Everybody who rewrites or accepts the question gives a text: the rewrite, or else the dataset's. Where the texts differ, that of the
    adjudicator holds, else that of more than half of them. Without either the question stays as it is, also a draft, and the conflict is listed.
    """
    decisions = {name: own.decision(query.query_id) for name, own in judge.labels.items()}
    accepted = judge.settle(
        query.query_id, "acceptance", decisions if query.synthetic else {}, lambda value: "accepted" if value else "refused"
    )
    if accepted is False:
        return query, f"refused by {', '.join(name for name, decision in decisions.items() if decision is False)}"
    texts: dict[str, Value] = {
        name: own.rewritten(query.query_id) or query.text for name, own in judge.labels.items() if decisions[name] is True
    }
    text = judge.settle(query.query_id, "rewrite", texts, lambda value: repr(excerpt(str(value))))
    supporters = ", ".join(name for name, given in texts.items() if given == text)
    metadata = dict(query.metadata)
    if accepted is True and supporters:
        metadata[ACCEPTED_BY] = supporters
    if isinstance(text, str) and text != query.text:
        metadata[PROVENANCE] = {**_provenance(query), _REWRITTEN_BY: supporters}
        query = replace(query, text=text)
    return replace(query, metadata=metadata), ""


def _provenance(query: Query) -> Mapping[str, Any]:
    found = query.metadata.get(PROVENANCE)
    return found if isinstance(found, Mapping) else {}
