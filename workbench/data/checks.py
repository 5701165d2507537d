"""Report every fault of a draft at once. Only a draft without faults becomes a dataset."""

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from workbench.core.errors import DatasetError
from workbench.core.fingerprint import fingerprint_of_rows
from workbench.core.records import PRODUCTION, SOURCE, Dataset, Document, Need, Qrel, Query, Span
from workbench.core.text.formatting import listed, plural
from workbench.data.draft import DatasetDraft, EvidenceRow
from workbench.data.fields import doubtful_metadata, probable_label
from workbench.data.filters import BUILT_IN, filter_faults, matches, metadata_fields
from workbench.data.labels import IdLookup
from workbench.data.passages import PassageFinder

# The place of a row: a file and a number.
_PLACE = re.compile(r"(?P<file>.+?(?::| row | question | document ))(?P<number>\d+)(?P<fault> .+)", re.DOTALL)

# The id of a question without one.
_UNNAMED = re.compile("q-[0-9a-f]{8}")


def repeats(queries: Iterable[Query], qrels: Iterable[Qrel], evidence: Iterable[tuple[str, Span]]) -> list[tuple[str, str, bool]]:
    """Find the questions that repeat the text and the filter of an earlier one, ignoring case and blanks.

    Returns the id of each, that of the earlier one, and whether their labels (answerable, judgements, evidence) differ. `evidence` are spans by
    query id.
    """
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
            found.append((query.query_id, earlier.query_id, not same))
    return found


def corpus_fingerprint(documents: Iterable[Document]) -> str:
    """Hash the ids, titles and texts of documents in order."""
    return fingerprint_of_rows((document.doc_id, document.title, document.text) for document in documents)


def faults(draft: DatasetDraft, unlabelled: bool = False) -> list[str]:
    """Return the faults of a draft by file and row, one line each. The same fault of several rows of a file is one line.

    With `unlabelled`, no question and a question without a relevant document are no faults.
    """
    documents = {document.doc_id: document for document, _ in draft.documents}
    lines = [
        *draft.faults,
        *_duplicates("document", ((document.doc_id, where) for document, where in draft.documents)),
        *_duplicates("question", ((query.query_id, where) for query, where in draft.queries)),
        *_texts(draft, unlabelled),
        *_judgements(draft, unlabelled),
        *_evidence(draft, documents),
        *_filters(draft),
    ]
    return sorted(_once(dict.fromkeys(lines)), key=_place)


def _place(line: str) -> tuple[str, int]:
    """Return the file and the row of a fault. A fault of no row comes before those of its file's rows."""
    place = _PLACE.fullmatch(line)
    return (place["file"], int(place["number"])) if place else (line.partition(" ")[0], 0)


def _once(lines: Iterable[str]) -> list[str]:
    """Merge lines that differ only in the number of their row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        place = _PLACE.fullmatch(line)
        rows.setdefault((place["file"], place["fault"]) if place else (line, ""), []).append(place["number"] if place else "")
    return [_merged(*place, numbers) for place, numbers in rows.items()]


def _merged(file: str, fault: str, numbers: Sequence[str]) -> str:
    also = f" (also in {'row' if len(numbers) == 2 else 'rows'} {listed(numbers[1:], 9)})" if numbers[1:] else ""
    return f"{file}{numbers[0]}{fault}{also}"


def notes(draft: DatasetDraft) -> list[str]:
    """Return remarks on a draft that are not faults, one line each: unknown and doubtful fields, ambiguous quotes, repeated questions."""
    unread = [
        f"{file} has {key if key.startswith('(') else repr(key)} in {rows:,} row(s), which is unknown and ignored"
        for (file, key), rows in draft.unread.items()
    ]
    doubtful = [f"{file} has {remark} in {rows:,} row(s)" for (file, remark), rows in draft.doubtful.items()]
    metadata = _once(doubtful_metadata(draft.queries))
    return (
        unread
        + doubtful
        + metadata
        + list(dict.fromkeys(draft.notes))
        + _synthetic(draft)
        + _unexpected(draft)
        + _excluded(draft)
        + _repeats(draft)
    )


def _synthetic(draft: DatasetDraft) -> list[str]:
    """Return a line if headings are in place of some questions, and one if a model wrote some, with the number that no person has accepted."""
    lines, of = list[str](), plural(len(draft.queries), "question")
    if placeholders := sum(query.is_placeholder for query, _ in draft.queries):
        lines.append(
            f"{placeholders:,} of {of} are placeholders, headings in place of questions; write them (workbench lab EXPERIMENT --notebook label)"
        )
    written = [query for query, _ in draft.queries if query.synthetic and not query.is_placeholder]
    if not written:
        return lines
    waiting = sum(query.is_draft for query in written)
    accepted = (
        f"{waiting:,} of them are accepted by nobody; review them (workbench lab EXPERIMENT --notebook label, or workbench dataset accept)"
        if waiting
        else "all are accepted"
    )
    return [*lines, f"{len(written):,} of {of} are synthetic (drafted by a model, or with such answers), and {accepted}"]


def _unexpected(draft: DatasetDraft) -> list[str]:
    """Return a line if some, but not all answerable questions have an expected answer."""
    asked = [query for query, _ in draft.queries if query.answerable]
    without = [query.query_id for query in asked if not query.answer and not query.answer_variants]
    if not 0 < len(without) < len(asked):
        return []
    return [
        f"{len(without):,} of {len(asked):,} answerable questions have no expected answer (answer), with which metrics compare answers; "
        f"the first is {without[0]!r}"
    ]


def _excluded(draft: DatasetDraft) -> list[str]:
    """Return a line for each relevant document that the filter of its question excludes."""
    documents = {document.doc_id: document for document, _ in draft.documents}
    fields = metadata_fields(documents.values())
    # A wrong filter is a fault, and excludes nothing.
    queries = {query.query_id: query for query, _ in draft.queries if query.where and not any(filter_faults(query.where, fields))}
    return [
        f"{where} the filter of question {qrel.query_id!r} excludes its relevant document {qrel.doc_id!r}, which cannot be found"
        for qrel, where in draft.qrels
        if qrel.relevance > 0
        and qrel.query_id in queries
        and qrel.doc_id in documents
        and not matches(queries[qrel.query_id].where, documents[qrel.doc_id])
    ]


def _repeats(draft: DatasetDraft) -> list[str]:
    """Return a line for each question that repeats the text of another, those with other labels first."""
    places = {query.query_id: where for query, where in reversed(draft.queries)}
    evidence = ((row.query_id, row.span) for row in draft.evidence)
    found = repeats((query for query, _ in draft.queries), (qrel for qrel, _ in draft.qrels), evidence)
    lines = []
    for query_id, first, relabelled in sorted(found, key=lambda repeat: not repeat[2]):
        how = "other labels; make the question specific, or give both all labels" if relabelled else "the same labels; remove one of them"
        lines.append(f"{places[query_id]} question {query_id!r} repeats the text of question {first!r} ({places[first]}) with {how}")
    return lines


def draft_counts(draft: DatasetDraft) -> str:
    """Count the rows of a draft."""
    return counts_text(draft, len({(row.query_id, row.need) for row in draft.evidence}), len(draft.evidence))


def counts_text(read: DatasetDraft | Dataset, pieces: int, spans: int) -> str:
    """Count the documents, questions, judgements, and pieces of evidence with their spans."""
    documents = [row[0] if isinstance(row, tuple) else row for row in read.documents]
    sizes = [
        plural(sum(not document.missing for document in documents), "document"),
        plural(len(read.queries), "question"),
        plural(len(read.qrels), "judgement"),
    ]
    evidence = plural(pieces, "piece of evidence", "pieces of evidence")
    # Spans outnumber the pieces if some have alternatives.
    return ", ".join([*sizes, evidence if spans == pieces else f"{evidence} with {plural(spans, 'evidence span')}"])


def checked(dataset: Dataset) -> Dataset:
    """Return a dataset made in Python if it is consistent; it may have no questions. Raises DatasetError with every fault."""
    where = f"dataset {dataset.name}"
    draft = DatasetDraft(dataset.name)
    draft.documents = [(document, where) for document in dataset.documents]
    draft.queries = [(query, where) for query in dataset.queries]
    draft.qrels = [(qrel, where) for qrel in dataset.qrels]
    needs = [(str(number), need, span) for number, need in enumerate(dataset.needs) for span in need.alternatives]
    draft.evidence = [EvidenceRow(need.query_id, number, span, None, where) for number, need, span in needs]
    lines = [*_duplicates("document", ((document.doc_id, where) for document in dataset.documents))]
    if lines := faults(draft) if dataset.queries else lines:
        raise DatasetError(where, [line.removeprefix(f"{where} ") for line in lines])
    return dataset


def dataset_of(draft: DatasetDraft, unlabelled: bool = False) -> Dataset:
    """Make the dataset, with labels in the order of the queries. Raises DatasetError with all faults of the draft.

    With `unlabelled`, questions may lack a relevant document.
    """
    if lines := faults(draft, unlabelled):
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
            unnamed = what == "question" and _UNNAMED.fullmatch(identity)
            fix = "a question without query_id must be unique" if unnamed else "ids must be unique"
            yield f"{where} repeats the {'text' if unnamed else f'{what} id {identity!r}'} of {first[identity]}; {fix}"
        first.setdefault(identity, where)


def _texts(draft: DatasetDraft, unlabelled: bool) -> Iterator[str]:
    if not draft.documents and not draft.faults:
        yield "the corpus has no documents; it needs at least one"
    if not draft.queries and not draft.faults and not unlabelled:
        yield "the dataset has no questions; check the file of questions"
    for document, where in draft.documents:
        if not document.text.strip() and where not in draft.faulty:
            yield f"{where} document {document.doc_id!r} is empty; write its text, or delete it"
        if "\x00" in document.text:
            yield f"{where} document {document.doc_id!r} contains NUL characters, as binary files do; save it as text"
    for query, where in draft.queries:
        if not query.text.strip():
            yield f"{where} question {query.query_id!r} is empty; write its text, or delete it"


def _judgements(draft: DatasetDraft, unlabelled: bool) -> Iterator[str]:
    """Yield the faults of judgements, without those that follow from files that could not be read."""
    documents, queries = (
        IdLookup(document.doc_id for document, _ in draft.documents),
        IdLookup(query.query_id for query, _ in draft.queries),
    )
    grades: dict[tuple[str, str], int] = {}
    for qrel, where in draft.qrels:
        if documents.lacks(qrel.doc_id):
            yield f"{where} judges document {qrel.doc_id!r}, {documents.unknown('document', qrel.doc_id)}"
        if queries.lacks(qrel.query_id):
            yield f"{where} judges question {qrel.query_id!r}, {queries.unknown('question', qrel.query_id)}"
        if grades.setdefault((qrel.query_id, qrel.doc_id), qrel.relevance) != qrel.relevance:
            yield f"{where} judges document {qrel.doc_id!r} for question {qrel.query_id!r} a second time, differently"
    relevant = Counter(qrel.query_id for qrel, _ in draft.qrels if qrel.relevance > 0)
    own = {_file(where) for _, where in draft.queries}
    unread = not draft.qrels and any(_file(where) not in own for where in draft.faulty)
    for query, where in draft.queries:
        if query.answerable and not relevant[query.query_id] and where not in draft.faulty and not unread and not unlabelled:
            # A question of a log says where it is from, and has no label yet.
            named = tuple(name for name, value in query.metadata.items() if (name, value) != (SOURCE, PRODUCTION))
            hint = probable_label(named) or "; label one, or set answerable: false"
            yield f"{where} question {query.query_id!r} has no relevant document and is not marked unanswerable{hint}"
        if not query.answerable and relevant[query.query_id]:
            yield f"{where} question {query.query_id!r} is marked unanswerable but has {relevant[query.query_id]} relevant document(s)"


def _evidence(draft: DatasetDraft, documents: Mapping[str, Document]) -> Iterator[str]:
    ids, queries = IdLookup(documents), IdLookup(query.query_id for query, _ in draft.queries)
    passages = PassageFinder(tuple(documents.values()))
    marked = {document.doc_id for document, where in draft.documents if where in draft.marked}
    for row in draft.evidence:
        place = f"{row.where} evidence of question {row.query_id!r}"
        if queries.lacks(row.query_id):
            yield f"{place} belongs to no question{queries.meant(row.query_id)}"
        doc_id = row.span.doc_id
        if doc_id not in documents:
            if ids.lacks(doc_id):
                yield f"{place} points to document {doc_id!r}, {ids.unknown('document', doc_id)}"
        elif fault := _span(row, documents[doc_id].text, passages):
            yield f"{place} {fault}"
        elif row.text is None and doc_id in marked:
            yield f"{place} has no 'text', and document {doc_id!r} begins with a byte order mark, which may shift positions; give the text"


def _filters(draft: DatasetDraft) -> Iterator[str]:
    documents = [document for document, _ in draft.documents]
    fields = metadata_fields(documents)
    for document, where in draft.documents:
        if taken := [field for field in document.metadata if field in BUILT_IN]:
            yield f"{where} document {document.doc_id!r} has the metadata {taken[0]!r}, a field that every document has; rename it"
    for query, where in draft.queries:
        if not query.where:
            continue
        wrong = list(filter_faults(query.where, fields))
        yield from (f"{where} question {query.query_id!r} filters by {fault}" for fault in wrong)
        if not wrong and not any(matches(query.where, document) for document in documents):
            yield f"{where} question {query.query_id!r} filters by {json.dumps(query.where)}, which no document matches"


def _span(row: EvidenceRow, text: str, passages: PassageFinder) -> str:
    """Return the fault of a span in the text of its document, or an empty text."""
    doc_id, start, end = row.span.doc_id, row.span.start, row.span.end
    inside = 0 <= start < end <= len(text)
    if inside and row.text in (None, text[start:end]):
        return "" if text[start:end].strip() else f"is blank: [{start}, {end}) in document {doc_id!r}"
    passage = f"; {near}" if row.text and (near := passages.describe(row.text, doc_id)) else ""
    if not inside:
        return f"is [{start}, {end}) in document {doc_id!r} of {plural(len(text), 'character')}{passage}"
    return f"says {_short(row.text or '')}, but document {doc_id!r} has {_short(text[start:end])} at [{start}, {end}){passage}"


def _file(where: str) -> str:
    return where.rpartition(":")[0]


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:37]}...")
