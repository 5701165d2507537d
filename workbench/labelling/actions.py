"""Actions of people on labels, one for each line of a label file, and the labels that follow from them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from workbench.core.fingerprint import fingerprint
from workbench.core.formatting import listed, meant
from workbench.errors import InputError
from workbench.records import PROVENANCE, Dataset, Query

ActionKind = Literal["question", "relevance", "span", "answer", "answerable", "rewrite", "acceptance", "undo"]
Value = int | str | bool | None
# The label that an action sets: its kind, the question, and for a document or a span of it also these.
LabelKey = tuple[str, str, str, int, int]
_KINDS: tuple[ActionKind, ...] = get_args(ActionKind)
_VALUES: Mapping[str, type] = {
    "question": str,
    "relevance": int,
    "span": int,
    "answer": str,
    "answerable": bool,
    "rewrite": str,
    "acceptance": bool,
}
# Of the id of an added question, and who added it, in its provenance.
_DIGITS = 8
_ADDED_BY = "added_by"
_MEANT: Mapping[type, str] = {int: "a whole number", str: "a text", bool: "true or false"}
_TEXTS = ("query_id", "question", "doc_id", "document", "text", "source")
_NUMBERS = ("start", "end", "undoes")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelAction:
    """An action of a person: a label that is set, or removed if `value` is None, or the undoing of an earlier action.

    `value` is the text of a question that the person adds (`question`), a grade (`relevance`), the number of the piece of evidence that the span belongs to, from 1 (`span`), the expected answer
    (`answer`), the question in the person's words (`rewrite`), or true or false (`answerable`, `acceptance`). `question` is the digest of the
    question in the dataset or as it was added, also after a rewrite, and `document` that of the document; `text` is that of a span, and `source` the configuration
    whose answer was accepted. `number` counts the actions of a person in a file, from 1, and `undoes` is the number of the action that an `undo`
    takes back. `line` is the place in the file.
    """

    kind: ActionKind
    by: str
    query_id: str = ""
    question: str = ""
    doc_id: str = ""
    document: str = ""
    start: int = 0
    end: int = 0
    text: str = ""
    value: Value = None
    source: str = ""
    undoes: int = 0
    number: int = 0
    at: str = ""
    line: int = field(default=0, compare=False)

    @property
    def key(self) -> LabelKey:
        """Identify the label. A later action with the same key replaces it."""
        return self.kind, self.query_id, self.doc_id, self.start, self.end

    def as_json(self) -> str:
        """Return the action as a line of the file, without fields that it does not use."""
        row: dict[str, Any] = {"n": self.number, "at": self.at, "by": self.by, "kind": self.kind}
        row |= {name: getattr(self, name) for name in _TEXTS if getattr(self, name)}
        if self.kind == "span":
            row |= {"start": self.start, "end": self.end}
        return json.dumps(row | ({"undoes": self.undoes} if self.kind == "undo" else {"value": self.value}), ensure_ascii=False)


def parse_action(text: str, line: int) -> LabelAction:
    """Read a line of a label file. Raises InputError that says what is wrong with it."""
    try:
        row = json.loads(text)
        # Half of a surrogate pair is JSON, and no text that can be written.
        json.dumps(row, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise InputError("is not a complete JSON object") from None
    if not isinstance(row, dict):
        raise InputError("is not a JSON object")
    kind: ActionKind | None = next((known for known in _KINDS if known == row.get("kind")), None)
    if kind is None:
        raise InputError(f"has the kind {row.get('kind')!r}{meant(str(row.get('kind')), _KINDS)}", f"it is one of {listed(_KINDS)}")
    wrong = [name for name in _TEXTS if not isinstance(row.get(name, ""), str)]
    wrong += [name for name in _NUMBERS if not is_number(row.get(name, 0))]
    wrong += [name for name in ("by", "at") if not isinstance(row.get(name), str) or not row[name].strip()]
    wrong += [] if is_number(row.get("n")) and row["n"] > 0 else ["n"]
    if wrong:
        raise InputError(f"has a wrong or no {listed(wrong)}")
    value = row.get("value")
    if kind != "undo" and value is not None and type(value) is not _VALUES[kind]:
        raise InputError(f"has the value {value!r}", f"{kind} takes {_MEANT[_VALUES[kind]]} or null")
    if kind in ("rewrite", "question") and value is not None and not value.strip():
        raise InputError(f"{'rewrites the' if kind == 'rewrite' else 'adds a'} question without a text")
    texts = {name: row.get(name, "") for name in _TEXTS}
    numbers = {name: row.get(name, 0) for name in _NUMBERS}
    return LabelAction(kind=kind, by=row["by"], at=row["at"], number=row["n"], value=value, line=line, **texts, **numbers)


def is_number(value: object) -> bool:
    """Test for a whole number of JSON."""
    return isinstance(value, int) and not isinstance(value, bool)


def standing_actions(actions: Iterable[LabelAction]) -> list[LabelAction]:
    """Return the actions that are neither undone nor an undoing, in order. A person undoes only actions of their own."""
    every = list(actions)
    undone = {(action.by, action.undoes) for action in every if action.kind == "undo"}
    return [action for action in every if action.kind != "undo" and (action.by, action.number) not in undone]


@dataclass(frozen=True)
class AnnotatorLabels:
    """The labels of one person that are not undone: the latest action for each key, unless it removed the label."""

    annotator: str
    actions: Mapping[LabelKey, LabelAction]

    def of(self, kind: ActionKind, query_id: str) -> list[LabelAction]:
        """Return the labels of a kind for a question, oldest first."""
        return [action for action in self.actions.values() if action.kind == kind and action.query_id == query_id]

    def value(self, kind: ActionKind, query_id: str, doc_id: str = "") -> Value:
        """Return the value of a label, or None without one."""
        action = self.actions.get((kind, query_id, doc_id, 0, 0))
        return action.value if action else None

    def rewritten(self, query_id: str) -> str:
        """Return a question in this person's words, or an empty text."""
        return str(self.value("rewrite", query_id) or "")

    def decision(self, query_id: str) -> bool | None:
        """Return True for a question that the person accepts, False for one refused, None without a decision. A rewrite accepts it; the latest of both holds."""
        keys: tuple[LabelKey, ...] = (("acceptance", query_id, "", 0, 0), ("rewrite", query_id, "", 0, 0))
        # In the order of the actions, since a clock can go back.
        given = [action for key, action in self.actions.items() if key in keys]
        return (given[-1].kind == "rewrite" or given[-1].value is True) if given else None


def labels_by_annotator(actions: Iterable[LabelAction]) -> dict[str, AnnotatorLabels]:
    """Return the labels of each person that are not undone, by name in the order of their first action."""
    every = list(actions)
    found: dict[str, dict[LabelKey, LabelAction]] = {action.by: {} for action in every}
    for action in standing_actions(every):
        # Removed first, so that the order is that of the latest actions.
        found[action.by].pop(action.key, None)
        if action.value is not None:
            found[action.by][action.key] = action
    return {name: AnnotatorLabels(name, labels) for name, labels in found.items()}


def numbered(action: LabelAction, number: int, at: str) -> LabelAction:
    """Return an action with its number and time."""
    return replace(action, number=number, at=at)


def added_id(text: str, known: Iterable[str]) -> str:
    """Return the id of a question that a person adds: from its text, so that two people who add the same question mean the same."""
    query_id = f"a-{fingerprint(text)[:_DIGITS]}"
    return added_id(f"{text} {query_id}", known) if query_id in known else query_id


def with_added_questions(dataset: Dataset, actions: Iterable[LabelAction]) -> Dataset:
    """Return the dataset with the questions that people added and did not remove, oldest first, after its own."""
    known = {query.query_id for query in dataset.queries}
    every = [action for own in labels_by_annotator(actions).values() for action in own.actions.values() if action.kind == "question"]
    authors: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for action in sorted(every, key=lambda action: action.at):
        if action.query_id not in known:
            texts.setdefault(action.query_id, str(action.value))
            authors.setdefault(action.query_id, []).append(action.by)
    added = [Query(query_id, text, metadata={PROVENANCE: {_ADDED_BY: listed(authors[query_id])}}) for query_id, text in texts.items()]
    return replace(dataset, queries=(*dataset.queries, *added)) if added else dataset
