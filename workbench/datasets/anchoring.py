"""Relevant chunks given as text become evidence: each is found in the documents and is one need."""

from collections import defaultdict

from workbench.datasets.draft import DatasetDraft, EvidenceRow, Quote
from workbench.datasets.text_search import TextSearch
from workbench.records import Qrel, Span


def anchor(draft: DatasetDraft) -> None:
    """Find the draft's quotes: verbatim, else with other white space; what is found nowhere is a fault.

    TextSearch in documents known to be relevant are preferred. Several places are alternatives of one need; where they lie in several
    documents and nothing decides, a note says so. A place's document becomes relevant if it was not judged.
    """
    if not draft.quotes:
        return
    places = TextSearch(document for document, _ in draft.documents)
    documents = {document.doc_id for document, _ in draft.documents}
    labels = _Labels(draft)
    for quote in draft.quotes:
        if quote.doc_id is not None and quote.doc_id not in documents:
            draft.faults.append(f"{_place(quote)} points to document {quote.doc_id!r}, and there is no such document")
            continue
        found = _found(quote, places)
        if found:
            labels.add(quote, found)
        else:
            draft.faults.append(
                f"{_place(quote)} is in {'no document' if quote.doc_id is None else f'no place of document {quote.doc_id!r}'}"
            )


def _found(quote: Quote, places: TextSearch) -> list[Span]:
    for search in (places.verbatim, places.loosely):
        if found := [span for span in search(quote.text) if quote.doc_id in (None, span.doc_id)]:
            return found
    return []


def _place(quote: Quote) -> str:
    words = quote.text.split()
    shown = " ".join(words[:8]) + (" ..." if len(words) > 8 else "")
    return f"{quote.where} relevant chunk {shown!r} of query {quote.query_id!r}"


class _Labels:
    """What is known of each query before quotes are added: its judgements and its evidence."""

    def __init__(self, draft: DatasetDraft) -> None:
        self._draft = draft
        self._judged: defaultdict[str, set[str]] = defaultdict(set)
        self._relevant: defaultdict[str, set[str]] = defaultdict(set)
        self._evidence: defaultdict[str, set[Span]] = defaultdict(set)
        for qrel, _ in draft.qrels:
            self._judge(qrel)
        # As given: what one quote adds must not decide where the next one belongs.
        self._given = {query_id: frozenset(doc_ids) for query_id, doc_ids in self._relevant.items()}
        for row in draft.evidence:
            self._evidence[row.query_id].add(Span(row.doc_id, row.start, row.end))

    def _judge(self, qrel: Qrel) -> None:
        self._judged[qrel.query_id].add(qrel.doc_id)
        if qrel.relevance > 0:
            self._relevant[qrel.query_id].add(qrel.doc_id)

    def add(self, quote: Quote, found: list[Span]) -> None:
        """One need of the places that labels allow; none where evidence says it already."""
        query_id, given = quote.query_id, self._given.get(quote.query_id, frozenset())
        refused = self._judged[query_id] - self._relevant[query_id]
        relevant = [span for span in found if span.doc_id in given]
        kept = relevant or [span for span in found if span.doc_id not in refused] or found
        doc_ids = list(dict.fromkeys(span.doc_id for span in kept))
        if len(doc_ids) > 1 and not relevant:
            listed = ", ".join(repr(doc_id) for doc_id in doc_ids)
            self._draft.notes.append(
                f"{_place(quote)} is ambiguous: it is in documents {listed}, all taken; name one as {{doc_id, text}} or in relevant_doc_ids"
            )
        if not self._evidence[query_id].intersection(kept):
            self._draft.evidence += [
                EvidenceRow(query_id, quote.need, span.doc_id, span.start, span.end, None, quote.where) for span in kept
            ]
        for doc_id in doc_ids:
            self._complete(quote, doc_id)

    def _complete(self, quote: Quote, doc_id: str) -> None:
        query_id = quote.query_id
        if doc_id not in self._judged[query_id]:
            qrel = Qrel(query_id, doc_id, 1)
            self._judge(qrel)
            self._draft.qrels.append((qrel, quote.where))
        elif doc_id not in self._relevant[query_id]:
            self._draft.faults.append(f"{_place(quote)} is in document {doc_id!r}, which is judged irrelevant")
