"""Resolve what several people say: the adjudicator decides, else the majority. Without either, nothing is labelled and the conflict is listed."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.core.formatting import meant
from workbench.errors import InputError
from workbench.labelling.actions import ActionKind, AnnotatorLabels, Value


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
        """List a conflict."""
        self.conflicts.append(LabelConflict(query_id, about, "; ".join(f"{name}: {words}" for name, words in said.items())))
