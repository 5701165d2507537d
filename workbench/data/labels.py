"""Match labels with documents: ids that were meant, labels of deleted documents, and evidence given as text."""

import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import accumulate, groupby, islice

from workbench.core.errors import DatasetError
from workbench.core.records import Dataset, Document, Need, Qrel, Span
from workbench.core.text.formatting import count, listed, nearest_word, plural, same_letters
from workbench.data.draft import DatasetDraft, EvidenceRow, Quote
from workbench.data.passages import PassageFinder

_SUFFIX = re.compile(r"\.(md|markdown|txt|html?|pdf|docx?|rst|json)$")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)|(?<=\d)\.0$")
_LIKENESS = 0.75
# Bounds on the comparisons of ids that are only similar.
_COMPARED, _SUGGESTED = 1000, 100

# Repeated where the text of a deleted document is not known. Blanks would count as found, since chunks are stripped.
_TEXT = "[not-in-the-corpus]"
# No document is longer, so that a wrong end of evidence does not fill the memory.
_LONGEST = 100_000_000

# No valid document contains this separator, so no text is found across two documents.
_END = "\x00"
# A text in more places says little about where the answer is, and each place costs memory.
MOST_PLACES = 1000
# More, since single digits are evidence in published datasets.
MOST_RECURRENCES = 10_000
# Query and document.
Pair = tuple[str, str]


class IdLookup:
    """Known ids, searched for the one that an unknown id probably means."""

    def __init__(self, ids: Iterable[str]) -> None:
        self._ids = dict.fromkeys(ids)
        self._compared = 0
        self.meant = cache(self._meant)

    def lacks(self, identity: str) -> bool:
        """Return True if an id is unknown. If no id could be read at all, the fault is elsewhere."""
        return bool(self._ids) and identity not in self._ids

    def unknown(self, what: str, wrong: str) -> str:
        """Return the end of a fault that names an unknown id, with the id that was probably meant."""
        return f"but this {what} does not exist{self.meant(wrong)}"

    def _meant(self, wrong: str) -> str:
        """Suggest an id in brackets, or return an empty text.

        An id matches without regard to case, blanks, leading zeros, the folder and the suffix of its file. Similar ids must have the same
        digits, because those of 'MED-12' and 'MED-13' tell documents apart.
        """
        if len(several := [part.strip() for part in wrong.split(",")]) > 1 and all(part in self._ids for part in several):
            return " (separate ids by ';', or write a JSON list)"
        plain = _plain(wrong)
        parts = plain.split("/")
        tails = ["/".join(parts[start:]) for start in range(len(parts))]
        for form, known in [*((tail, self._plain) for tail in tails), (parts[-1], self._last)]:
            if doc_ids := known.get(form):
                return f" (did you mean {doc_ids[0]!r}?)" if len(doc_ids) == 1 else ""
        same = self._by_digits[_digits(wrong)]
        self._compared += 1
        close = nearest_word(wrong, same, _LIKENESS) if len(same) <= _COMPARED and self._compared <= _SUGGESTED else None
        return f" (did you mean {close!r}?)" if close else ""

    @cached_property
    def _plain(self) -> dict[str, list[str]]:
        return _grouped((_plain(known), known) for known in self._ids)

    @cached_property
    def _last(self) -> dict[str, list[str]]:
        return _grouped((_plain(known).rpartition("/")[2], known) for known in self._ids)

    @cached_property
    def _by_digits(self) -> dict[str, list[str]]:
        return _grouped((_digits(known), known) for known in self._ids)


def match_unicode(draft: DatasetDraft) -> None:
    """Give labels the id of the document that they name in another Unicode form, as macOS writes file names, and note it.

    An id that several documents have in other forms is not changed.
    """
    known = {document.doc_id for document, _ in draft.documents}
    rows = [*((qrel.doc_id, where) for qrel, where in draft.qrels), *((row.span.doc_id, row.where) for row in draft.evidence)]
    rows += [(quote.doc_id, quote.where) for quote in draft.quotes if quote.doc_id is not None]
    strange = {doc_id: where for doc_id, where in reversed(rows) if doc_id not in known and not doc_id.isascii()}
    if not strange:
        return
    forms = _grouped((unicodedata.normalize("NFC", doc_id), doc_id) for doc_id in known)
    same = {doc_id: forms[unicodedata.normalize("NFC", doc_id)] for doc_id in strange}
    own = {doc_id: doc_ids[0] for doc_id, doc_ids in same.items() if len(doc_ids) == 1}
    draft.qrels = [(replace(qrel, doc_id=own.get(qrel.doc_id, qrel.doc_id)), where) for qrel, where in draft.qrels]
    draft.evidence = [replace(row, span=replace(row.span, doc_id=own.get(row.span.doc_id, row.span.doc_id))) for row in draft.evidence]
    draft.quotes = [replace(quote, doc_id=own.get(quote.doc_id or "", quote.doc_id)) for quote in draft.quotes]
    draft.notes += [
        f"{strange[doc_id]} writes the id {doc_id!r} in another Unicode form than its document; both are the same" for doc_id in own
    ]


def _plain(identity: str) -> str:
    text = same_letters(identity).strip().replace("\\", "/").strip("/")
    return _ZEROS.sub("", _SUFFIX.sub("", text))


def _digits(identity: str) -> str:
    return "".join(re.findall(r"\d", identity))


def _grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    groups = defaultdict[str, list[str]](list)
    for key, identity in pairs:
        groups[key].append(identity)
    return groups


def keep_missing(draft: DatasetDraft) -> None:
    """Add a document that is never searched for each id that labels name and no document has, and note it.

    Its text has the quoted evidence at its place, so that positions stay as they are, and behind it the relevant chunks that are given as text.
    Without any document the labels stay as they are, since then the corpus was not read.
    """
    known = {document.doc_id for document, _ in draft.documents}
    if not known:
        return
    evidence: dict[str, list[EvidenceRow]] = {qrel.doc_id: [] for qrel, _ in draft.qrels if qrel.doc_id not in known}
    for row in draft.evidence:
        if row.span.doc_id not in known:
            evidence.setdefault(row.span.doc_id, []).append(row)
    quotes: dict[str, list[Quote]] = {}
    for quote in draft.quotes:
        if quote.doc_id is not None and quote.doc_id not in known:
            quotes.setdefault(quote.doc_id, []).append(quote)
            evidence.setdefault(quote.doc_id, [])
    missing = {doc_id: Document(doc_id, _text(rows, quotes.get(doc_id, ())), missing=True) for doc_id, rows in evidence.items()}
    draft.documents += [(document, f"missing document {doc_id}") for doc_id, document in missing.items()]
    draft.evidence = [_placed(row, missing[row.span.doc_id].text) if row.span.doc_id in missing else row for row in draft.evidence]
    if missing:
        ids = IdLookup(known)
        names = [f"{doc_id!r}{ids.meant(doc_id)}" for doc_id in missing]
        draft.notes.append(
            f"labels name {plural(len(names), 'document')} that the corpus does not have, which can never be found: {listed(names, 5)}"
        )


def _text(rows: Sequence[EvidenceRow], quotes: Sequence[Quote]) -> str:
    """Return the known text of a deleted document: its evidence."""
    length = max([1, *(row.span.end for row in rows if row.span.end <= _LONGEST)])
    text = (_TEXT * (length // len(_TEXT) + 1))[:length]
    for row in rows:
        if row.text is not None and 0 <= row.span.start <= length and row.span.end - row.span.start == len(row.text):
            text = text[: row.span.start] + row.text + text[row.span.end :]
    return "\n".join([text, *dict.fromkeys(quote.text for quote in quotes)])


def _placed(row: EvidenceRow, text: str) -> EvidenceRow:
    """Return a row whose quote is checked only if the text has it."""
    return row if row.text == text[row.span.start : row.span.end] else replace(row, text=None)


class TextSearch:
    """The documents joined into one text, so that one search covers all of them."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self._documents = tuple(documents)
        self._rows = {document.doc_id: row for row, document in enumerate(self._documents)}
        self._joined = _Joined([document.text for document in self._documents])

    def verbatim(self, text: str, doc_ids: Iterable[str] | None = None) -> Iterator[Span]:
        """Yield every occurrence of the text, including overlapping ones, by document and position, in all or in the given documents."""
        for row, start in self._joined.find(text, self._rows_of(doc_ids)):
            yield Span(self._documents[row].doc_id, start, start + len(text))

    def loosely(self, text: str, doc_ids: Iterable[str] | None = None) -> Iterator[Span]:
        """Yield every occurrence of the text's words with any white space between them, as offsets into the document."""
        words = text.split()
        pattern = re.compile(r"\s+".join(re.escape(word) for word in words))
        for row, _ in groupby(row for row, _ in self._normalised.find(" ".join(words), self._rows_of(doc_ids))):
            document = self._documents[row]
            yield from (Span(document.doc_id, *match.span()) for match in pattern.finditer(document.text))

    def text(self, span: Span) -> str:
        return self._documents[self._rows[span.doc_id]].text[span.start : span.end]

    def _rows_of(self, doc_ids: Iterable[str] | None) -> list[int] | None:
        return None if doc_ids is None else sorted({self._rows[doc_id] for doc_id in doc_ids if doc_id in self._rows})

    @cached_property
    def _normalised(self) -> "_Joined":
        return _Joined([" ".join(document.text.split()) for document in self._documents])


class _Joined:
    def __init__(self, texts: list[str]) -> None:
        self._text = _END.join(texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))

    def find(self, text: str, rows: list[int] | None) -> Iterator[tuple[int, int]]:
        """Yield (row of the text, position in it) of every occurrence, in all texts or in those of the given rows."""
        if not text or _END in text:
            return
        whole = [(0, len(self._text))]
        for first, end in whole if rows is None else [(self._starts[row], self._starts[row + 1] - 1) for row in rows]:
            at = self._text.find(text, first, end)
            while at >= 0:
                row = bisect_right(self._starts, at) - 1
                yield row, at - self._starts[row]
                at = self._text.find(text, at + 1, end)


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
    relevant: dict[str, list[str]] = {}
    for query_id, doc_id in (pair for pair, grade in given.items() if grade > 0):
        relevant.setdefault(query_id, []).append(doc_id)
    evidence = {(row.query_id, row.span) for row in draft.evidence}
    for quote in draft.quotes:
        if quote.doc_id is not None and quote.doc_id not in documents:
            _fault(quote, f"points to document {quote.doc_id!r}, {ids.unknown('document', quote.doc_id)}", draft)
        elif len(spans := _find(quote, search, relevant.get(quote.query_id, ()))) > MOST_PLACES:
            _fault(
                quote, f"is in more than {count(MOST_PLACES)} places; quote more of the document, or give evidence as start and end", draft
            )
        elif spans:
            chosen = _choose(quote, spans, given, draft)
            if evidence.isdisjoint((quote.query_id, span) for span in chosen):
                draft.evidence += [EvidenceRow(quote.query_id, quote.need, span, None, quote.where) for span in chosen]
            _judge(quote, [span.doc_id for span in chosen], grades, draft)
        else:
            within = "no document" if quote.doc_id is None else f"no place of document {quote.doc_id!r}"
            near = passages.describe(quote.text, quote.doc_id)
            _fault(quote, f"is in {within}; {near or 'quote the document verbatim'}", draft)


def with_recurrences(dataset: Dataset) -> Dataset:
    """Make every verbatim recurrence of a span, in any document, an alternative of the span's need. Judgements do not change.

    Raises DatasetError for a span whose text is in more than MOST_RECURRENCES places.
    """
    if not dataset.needs:
        return dataset
    texts = {document.doc_id: document.text for document in dataset.documents}
    search = TextSearch(dataset.corpus)
    # Needs share texts, so search each text once.
    places = cache(lambda text: list(islice(search.verbatim(text), MOST_RECURRENCES + 1)))
    needs, faults = [], []
    for need in dataset.needs:
        wanted = dict.fromkeys(texts[span.doc_id][span.start : span.end] for span in need.alternatives)
        faults += [
            f"evidence {_shown(text)!r} of question {need.query_id!r} is in more than {count(MOST_RECURRENCES)} places; "
            "give longer evidence, or leave recurrences out"
            for text in wanted
            if len(places(text)) > MOST_RECURRENCES
        ]
        if not faults:
            recurring = (span for text in wanted for span in places(text))
            needs.append(Need(need.query_id, tuple(dict.fromkeys((*need.alternatives, *recurring)))))
    if faults:
        raise DatasetError(dataset.name, faults)
    return replace(dataset, needs=tuple(needs))


def _find(quote: Quote, search: TextSearch, relevant: Collection[str]) -> list[Span]:
    """Return up to one place more than MOST_PLACES. Other documents are searched only if no relevant one has the text."""
    for places in (search.verbatim, search.loosely):
        for doc_ids in (relevant, None) if quote.doc_id is None else ([quote.doc_id],):
            if spans := list(islice(places(quote.text, doc_ids), MOST_PLACES + 1)):
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
    return f"{quote.where} relevant chunk {_shown(quote.text)!r} of question {quote.query_id!r}"


def _shown(text: str) -> str:
    words = text.split()
    return " ".join(words[:8]) + (" ..." if len(words) > 8 else "")
