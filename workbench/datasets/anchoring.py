"""Find evidence in the documents: relevant chunks given as text, and other occurrences of the same text."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property
from itertools import accumulate

from workbench.datasets.draft import DatasetDraft, EvidenceRow, Quote
from workbench.datasets.ids import IdLookup
from workbench.datasets.passages import PassageFinder
from workbench.records import Dataset, Document, Need, Qrel, Span

# No valid document contains this separator, so no text is found across two documents.
_END = "\x00"
# Query and document.
Pair = tuple[str, str]


class TextSearch:
    """The documents joined into one text, so that one search covers all of them."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = tuple(documents)
        self._joined = _Joined([document.text for document in self._documents])

    def verbatim(self, text: str) -> list[Span]:
        """Return every occurrence of the text, including overlapping ones, by document and position."""
        return [Span(self._documents[row].doc_id, start, start + len(text)) for row, start in self._joined.find(text)]

    def loosely(self, text: str) -> list[Span]:
        """Return every occurrence of the text's words with any white space between them, as offsets into the document."""
        words = text.split()
        rows = dict.fromkeys(row for row, _ in self._normalised.find(" ".join(words)))
        pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
        documents = [self._documents[row] for row in rows]
        return [Span(document.doc_id, *match.span()) for document in documents for match in pattern.finditer(document.text)]

    @cached_property
    def _normalised(self) -> "_Joined":
        return _Joined([" ".join(document.text.split()) for document in self._documents])


class _Joined:
    def __init__(self, texts: list[str]) -> None:
        self._text = _END.join(texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield (row of the text, position in it) of every occurrence."""
        if not text or _END in text:
            return
        at = self._text.find(text)
        while at >= 0:
            row = bisect_right(self._starts, at) - 1
            yield row, at - self._starts[row]
            at = self._text.find(text, at + 1)


def anchor(draft: DatasetDraft) -> None:
    """Find the draft's quotes verbatim, or else with other white space. A quote that no document contains is a fault.

    Occurrences in relevant documents are preferred. Several occurrences are alternatives of one need; if they are in several
    documents and no judgement decides between these, a note reports it. The document of an occurrence becomes relevant unless judged.
    """
    if not draft.quotes:
        return
    documents = {document.doc_id: document for document, _ in draft.documents}
    search, passages, ids = TextSearch(documents.values()), PassageFinder(tuple(documents.values())), IdLookup(documents)
    grades = {(qrel.query_id, qrel.doc_id): qrel.relevance for qrel, _ in draft.qrels}
    # Use a copy, since a document that one quote makes relevant must not affect the next quote.
    given = dict(grades)
    evidence = {(row.query_id, row.span) for row in draft.evidence}
    for quote in draft.quotes:
        if quote.doc_id is not None and quote.doc_id not in documents:
            _fault(quote, f"points to document {quote.doc_id!r}, {ids.unknown('document', quote.doc_id)}", draft)
        elif spans := _find(quote, search):
            chosen = _choose(quote, spans, given, draft)
            if evidence.isdisjoint((quote.query_id, span) for span in chosen):
                draft.evidence += [EvidenceRow(quote.query_id, quote.need, span, None, quote.where) for span in chosen]
            _judge(quote, [span.doc_id for span in chosen], grades, draft)
        else:
            within = "no document" if quote.doc_id is None else f"no place of document {quote.doc_id!r}"
            near = passages.describe(quote.text, quote.doc_id)
            _fault(quote, f"is in {within}; {near or 'quote the document verbatim'}", draft)


def with_recurrences(dataset: Dataset) -> Dataset:
    """Make every verbatim recurrence of a span, in any document, an alternative of the span's need. Judgements do not change."""
    if not dataset.needs:
        return dataset
    texts = {document.doc_id: document.text for document in dataset.documents}
    # Needs share texts, so search each text once.
    places = cache(TextSearch(dataset.documents).verbatim)
    needs = []
    for need in dataset.needs:
        wanted = dict.fromkeys(texts[span.doc_id][span.start : span.end] for span in need.alternatives)
        recurring = (span for text in wanted for span in places(text))
        needs.append(Need(need.query_id, tuple(dict.fromkeys((*need.alternatives, *recurring)))))
    return replace(dataset, needs=tuple(needs))


def _find(quote: Quote, search: TextSearch) -> list[Span]:
    for places in (search.verbatim, search.loosely):
        if spans := [span for span in places(quote.text) if quote.doc_id in (None, span.doc_id)]:
            return spans
    return []


def _choose(quote: Quote, spans: list[Span], given: Mapping[Pair, int], draft: DatasetDraft) -> list[Span]:
    """Return the spans in relevant documents, else those in unjudged documents, else all of them."""
    if relevant := [span for span in spans if given.get((quote.query_id, span.doc_id), 0) > 0]:
        return relevant
    chosen = [span for span in spans if (quote.query_id, span.doc_id) not in given] or spans
    doc_ids = list(dict.fromkeys(span.doc_id for span in chosen))
    if len(doc_ids) > 1:
        listed = ", ".join(map(repr, doc_ids))
        draft.notes.append(
            f"{_place(quote)} is ambiguous: it is in documents {listed}, all taken; name one as {{doc_id, text}} or in relevant_doc_ids"
        )
    return chosen


def _judge(quote: Quote, doc_ids: list[str], grades: dict[Pair, int], draft: DatasetDraft) -> None:
    """Make unjudged documents relevant. A document judged irrelevant is a fault."""
    for doc_id in dict.fromkeys(doc_ids):
        if (quote.query_id, doc_id) not in grades:
            grades[quote.query_id, doc_id] = 1
            draft.qrels.append((Qrel(quote.query_id, doc_id, 1), quote.where))
        elif grades[quote.query_id, doc_id] <= 0:
            draft.faults.append(f"{_place(quote)} is in document {doc_id!r}, which is judged irrelevant")


def _fault(quote: Quote, what: str, draft: DatasetDraft) -> None:
    draft.faults.append(f"{_place(quote)} {what}")
    draft.faulty.add(quote.where)


def _place(quote: Quote) -> str:
    words = quote.text.split()
    shown = " ".join(words[:8]) + (" ..." if len(words) > 8 else "")
    return f"{quote.where} relevant chunk {shown!r} of question {quote.query_id!r}"
