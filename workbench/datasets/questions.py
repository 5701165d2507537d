"""Read questions with their labels, as the project's own format and tables write them.

`query` is required. Optional are `query_id`, `relevant_doc_ids` (a list, or {doc_id: grade}), `irrelevant_doc_ids` (hard negatives, grade
-1), `judged_doc_ids` (read and not relevant, grade 0), `evidence` (a list of needs, each a list of spans {doc_id, start, end, text}),
`relevant_chunks` (texts or {doc_id, text}, found by `anchoring`), `where` (a filter of documents, see `filters`), `answer`,
`answer_variants`, `aliases` and `answers` (texts that are as good), `answerable`, `type` and `split`. Others are metadata.
"""

import json
from typing import Any

from workbench.core.display import excerpt
from workbench.core.fingerprint import fingerprint
from workbench.datasets.draft import DatasetDraft, Quote, Rows, check_split
from workbench.datasets.fields import LABEL_FIELDS, VARIANTS, check_fields, doubt_fields, text_field
from workbench.datasets.formats.beir import SPAN, append_evidence, query_of
from workbench.datasets.lines import is_text, json_kind
from workbench.records import Qrel

_LARGEST_GRADE = 1_000_000
REFUSED = {"irrelevant_doc_ids": -1, "judged_doc_ids": 0}
LABELS = ("query", "query_id", *LABEL_FIELDS)
# Null in these fields is the same as no such field.
_OPTIONAL = (*LABELS[1:], "answerable")
FIELDS = (*LABELS, "where", "answer", *VARIANTS, "answerable", "type", "split")


def read_questions(rows: Rows, split: str | None, draft: DatasetDraft) -> None:
    """Read rows of questions into the draft. A split limits them to its own questions and those without a split."""
    rows = list(rows)
    check_split(split, (row.get("split") for row, _ in rows), draft)
    for row, where in rows:
        if split is not None and row.get("split", split) != split:
            continue
        text = text_field(row, ("query",), where, draft)
        if text is None:
            continue
        row = {key: value for key, value in row.items() if value is not None or key not in _OPTIONAL}
        # A plain list has no ids, but the text stays the same when the list is reordered.
        unnamed = row.get("query_id") in (None, "")
        query_id = f"q-{fingerprint(text)[:8]}" if unnamed else text_field(row, ("query_id",), where, draft)
        if query_id is None:
            continue
        if where not in draft.faulty:
            doubt_fields(row, LABEL_FIELDS, "is kept as metadata", where, draft)
        metadata = {key: value for key, value in row.items() if key not in LABELS}
        query = query_of(query_id, text, metadata, where, draft)
        draft.queries.append((query, where))
        if "relevant_doc_ids" not in row and query.answerable:
            # A document with evidence is relevant, unless the question says which documents are.
            row = {"relevant_doc_ids": _evidence_documents(row.get("evidence"))} | row
        _read_labels(row, query_id, where, draft)


def _read_labels(row: dict[str, Any], query_id: str, where: str, draft: DatasetDraft) -> None:
    relevant = row.get("relevant_doc_ids", [])
    grades = dict(relevant) if isinstance(relevant, dict) else dict.fromkeys(_ids(relevant, "relevant_doc_ids", where, draft), 1)
    for key, refused in REFUSED.items():
        for doc_id in _ids(row.get(key, []), key, where, draft):
            if grades.setdefault(doc_id, refused) != refused:
                earlier = "relevant" if grades[doc_id] not in REFUSED.values() else "a hard negative"
                now = "irrelevant" if refused else "judged without being either"
                draft.faults.append(f"{where} question {query_id} calls document {doc_id!r} both {earlier} and {now}")
    for doc_id, grade in grades.items():
        if isinstance(grade, int) and not isinstance(grade, bool) and abs(grade) <= _LARGEST_GRADE:
            draft.qrels.append((Qrel(query_id, doc_id, grade), where))
        else:
            draft.fault(
                where,
                f"question {query_id} grades document {doc_id!r} with {excerpt(repr(grade))}, not a whole number up to {_LARGEST_GRADE:,}",
            )
    for number, need in enumerate(_listed(row.get("evidence", []), "evidence", where, draft)):
        for span in need if isinstance(need, list) else [need]:
            if isinstance(span, dict):
                draft.leave(span, SPAN, where)
                append_evidence(span, query_id, str(number), where, draft)
            else:
                fix = "; give texts in 'relevant_chunks'" if isinstance(span, str) else ""
                draft.fault(where, f"question {query_id} has evidence that is not a list of pieces, each a list of spans{fix}")
    for number, chunk in enumerate(_listed(row.get("relevant_chunks", []), "relevant_chunks", where, draft)):
        _read_chunk(chunk, query_id, f"chunk {number}", where, draft)


def _evidence_documents(evidence: Any) -> list[str]:
    """Return the documents of well-formed evidence. The reader of evidence reports the rest."""
    needs = evidence if isinstance(evidence, list) else []
    spans = [span for need in needs for span in (need if isinstance(need, list) else [need]) if isinstance(span, dict)]
    return [str(span["doc_id"]) for span in spans if isinstance(span.get("doc_id"), str | int)]


def _read_chunk(chunk: Any, query_id: str, need: str, where: str, draft: DatasetDraft) -> None:
    given = chunk if isinstance(chunk, dict) else {"text": chunk}
    text, doc_id = given.get("text"), given.get("doc_id")
    if not check_fields(given, ("text", "doc_id"), where, draft):
        return
    if not is_text(text) or isinstance(doc_id, bool) or not isinstance(doc_id, str | int | None):
        draft.fault(where, f"question {query_id!r} has {chunk!r} in 'relevant_chunks', which is neither a text nor {{doc_id, text}}")
        return
    draft.leave(given, ("text", "doc_id"), where)
    draft.quotes.append(Quote(query_id, need, text, None if doc_id is None else str(doc_id), where))


def _ids(value: Any, key: str, where: str, draft: DatasetDraft) -> list[str]:
    """Return document ids. A number is an id written without quotes."""
    listed = _listed(value, key, where, draft)
    for item in listed:
        if not isinstance(item, str | int) or isinstance(item, bool):
            draft.fault(where, f"has {item!r} in {key!r}, which is not a document id; write ids as texts in quotes")
    return [str(item) for item in listed if isinstance(item, str | int) and not isinstance(item, bool)]


def _listed(value: Any, key: str, where: str, draft: DatasetDraft) -> list[Any]:
    if isinstance(value, list):
        return value
    fix = f"; write [{json.dumps(value, ensure_ascii=False)}]" if isinstance(value, str | dict) else ""
    draft.fault(where, f"has {json_kind(value)} in {key!r}, not a list{fix}")
    return []
