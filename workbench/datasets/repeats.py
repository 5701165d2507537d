"""Questions with the same text, which any search answers in the same way."""

import json
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from workbench.records import Qrel, Query, Span


class Repeat(NamedTuple):
    """A question whose text `first` has already, and whether their labels (answerable, judgements, evidence) differ."""

    query_id: str
    first: str
    relabelled: bool


def repeats(queries: Iterable[Query], qrels: Iterable[Qrel], evidence: Iterable[tuple[str, Span]]) -> list[Repeat]:
    """Find the questions that repeat the text and the filter of an earlier one, ignoring case and blanks. `evidence` are spans by query id."""
    labels: dict[str, set[Hashable]] = {}
    for qrel in qrels:
        labels.setdefault(qrel.query_id, set()).add((qrel.doc_id, qrel.relevance))
    for query_id, span in evidence:
        labels.setdefault(query_id, set()).add(span)
    first: dict[tuple[str, str], Query] = {}
    found = []
    for query in queries:
        # A search with another filter is another search.
        asked = " ".join(query.text.casefold().split()), json.dumps(query.where, sort_keys=True)
        earlier = first.setdefault(asked, query)
        if earlier is not query and earlier.query_id != query.query_id:
            same = query.answerable == earlier.answerable and labels.get(query.query_id) == labels.get(earlier.query_id)
            found.append(Repeat(query.query_id, earlier.query_id, not same))
    return found
