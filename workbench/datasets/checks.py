"""Report every fault of a draft at once. Only a draft without faults becomes a dataset."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping

from workbench.datasets.draft import DatasetDraft, EvidenceRow
from workbench.errors import DatasetError
from workbench.records import Dataset, Document, Need, Span


def faults(draft: DatasetDraft) -> list[str]:
    """Return the faults of a draft, one line each with its place."""
    documents = {document.doc_id: document for document, _ in draft.documents}
    queries = {query.query_id for query, _ in draft.queries}
    lines = [
        *draft.faults,
        *_duplicates("document", ((document.doc_id, where) for document, where in draft.documents)),
        *_duplicates("query", ((query.query_id, where) for query, where in draft.queries)),
        *_texts(draft),
        *_judgements(draft, documents, queries),
        *(fault for row in draft.evidence for fault in _evidence(row, documents, queries)),
    ]
    return list(dict.fromkeys(lines))


def notes(draft: DatasetDraft) -> list[str]:
    """Return remarks on a draft that are not faults, one line each: unknown fields and ambiguous quotes."""
    unread = [
        f"{file} has {key if key.startswith('(') else repr(key)} in {rows:,} row(s), which is unknown and ignored"
        for (file, key), rows in draft.unread.items()
    ]
    return unread + list(dict.fromkeys(draft.notes))


def dataset_of(draft: DatasetDraft) -> Dataset:
    """Make the dataset, with labels in the order of the queries. Raises DatasetError with all faults of the draft."""
    if lines := faults(draft):
        raise DatasetError(f"dataset {draft.name}", lines)
    needs: dict[tuple[str, str], list[Span]] = {}
    for row in draft.evidence:
        needs.setdefault((row.query_id, row.need), []).append(row.span)
    place = {query.query_id: number for number, (query, _) in enumerate(draft.queries)}
    qrels = dict.fromkeys(qrel for qrel, _ in draft.qrels)
    made = [Need(query_id, tuple(dict.fromkeys(spans))) for (query_id, _), spans in needs.items()]
    return Dataset(
        draft.name,
        tuple(document for document, _ in draft.documents),
        tuple(query for query, _ in draft.queries),
        tuple(sorted(qrels, key=lambda qrel: (place[qrel.query_id], 0 if qrel.relevance > 0 else 1 - qrel.relevance))),
        tuple(sorted(made, key=lambda need: place[need.query_id])),
    )


def _duplicates(what: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for identity, where in rows:
        if not identity:
            yield f"{where} has an empty {what} id"
        elif identity in first:
            yield f"{where} repeats the {what} id {identity!r} of {first[identity]}; ids must be unique"
        first.setdefault(identity, where)


def _texts(draft: DatasetDraft) -> Iterator[str]:
    if not draft.documents:
        yield "the corpus has no documents; it needs at least one"
    if not draft.queries:
        yield "the dataset has no queries; check the file of questions"
    for document, where in draft.documents:
        if not document.text.strip():
            yield f"{where} document {document.doc_id!r} is empty"
        if "\x00" in document.text:
            yield f"{where} document {document.doc_id!r} contains NUL characters, as binary and UTF-16 files do"
    for query, where in draft.queries:
        if not query.text.strip():
            yield f"{where} query {query.query_id!r} is empty"


def _judgements(draft: DatasetDraft, documents: Collection[str], queries: Collection[str]) -> Iterator[str]:
    grades: dict[tuple[str, str], int] = {}
    for qrel, where in draft.qrels:
        if qrel.doc_id not in documents:
            yield f"{where} judges document {qrel.doc_id!r} for query {qrel.query_id!r}, but this document does not exist"
        if qrel.query_id not in queries:
            yield f"{where} judges query {qrel.query_id!r}, but this query does not exist"
        if grades.setdefault((qrel.query_id, qrel.doc_id), qrel.relevance) != qrel.relevance:
            yield f"{where} judges document {qrel.doc_id!r} for query {qrel.query_id!r} a second time, differently"
    relevant = Counter(qrel.query_id for qrel, _ in draft.qrels if qrel.relevance > 0)
    for query, where in draft.queries:
        if query.answerable and not relevant[query.query_id]:
            yield f"{where} query {query.query_id!r} has no relevant document and is not marked unanswerable"
        if not query.answerable and relevant[query.query_id]:
            yield f"{where} query {query.query_id!r} is marked unanswerable but has {relevant[query.query_id]} relevant document(s)"


def _evidence(row: EvidenceRow, documents: Mapping[str, Document], queries: Collection[str]) -> Iterator[str]:
    place = f"{row.where} evidence of query {row.query_id!r}"
    if row.query_id not in queries:
        yield f"{place} belongs to no query"
    doc_id, start, end = row.span.doc_id, row.span.start, row.span.end
    if doc_id not in documents:
        yield f"{place} points to document {doc_id!r}, but this document does not exist"
        return
    text = documents[doc_id].text
    if not 0 <= start < end <= len(text):
        yield f"{place} is [{start}, {end}) in document {doc_id!r} of {len(text)} characters"
    elif row.text is not None and text[start:end] != row.text:
        yield f"{place} says {_short(row.text)}, but document {doc_id!r} has {_short(text[start:end])} at [{start}, {end})"
    elif not text[start:end].strip():
        yield f"{place} is blank: [{start}, {end}) in document {doc_id!r}"


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
