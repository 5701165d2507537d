"""Keep labels of documents that were deleted, as questions that can no longer be answered from the corpus."""

from collections.abc import Sequence
from dataclasses import replace

from workbench.core.formatting import listed, plural
from workbench.datasets.draft import DatasetDraft, EvidenceRow, Quote
from workbench.datasets.labels.ids import IdLookup
from workbench.records import Document

# Repeated where the text of a deleted document is not known. Blanks would count as found, since chunks are stripped.
_TEXT = "[not-in-the-corpus]"
# No document is longer, so that a wrong end of evidence does not fill the memory.
_LONGEST = 100_000_000


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
