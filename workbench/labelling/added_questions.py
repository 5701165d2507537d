"""Questions that people add while they label. They are in the label file until labels make a dataset."""

from collections.abc import Iterable
from dataclasses import replace

from workbench.core.fingerprint import fingerprint
from workbench.core.formatting import listed
from workbench.labelling.actions import LabelAction, labels_by_annotator
from workbench.records import PROVENANCE, Dataset, Query

_DIGITS = 8
# Who added a question, in its provenance.
_ADDED_BY = "added_by"


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
